/**
 * Program: writes a population by the store code of the tree named as its argument. One Argon2id hash
 * serves all users, who share a password; notices to a running gateway are taken out again, since
 * none runs yet.
 */
import type * as accounts from '../../src/auth/accounts.js';
import type * as apiKey from '../../src/auth/api-key.js';
import { scopes } from '../../src/model/scopes.js';
import type * as sessionToken from '../../src/auth/session-token.js';
import type * as clock from '../../src/lib/clock.js';
import type * as ids from '../../src/lib/ids.js';
import type * as dataDirectory from '../../src/store/data-directory.js';
import type * as lmdbStore from '../../src/store/lmdb-store.js';
import type * as hashWorker from '../../src/workers/hash-worker.js';
import { answerOnce } from '../load/commands.js';
import { loadModule } from '../measure/product.js';
import type { PopulationUser } from './population.js';

interface Order {
  readonly dataDir: string;
  readonly users: number;
  readonly keysPerUser: number;
  readonly password: string;
}

/** Users that are written together: each wave is a few commits. */
const waveSize = 500;

const root = process.argv[2] as string;
await answerOnce(async (order: Order) => ({ users: await write(order) }));

async function write({ dataDir, users, keysPerUser, password }: Order): Promise<PopulationUser[]> {
  const { addUser } = await loadModule<typeof accounts>(root, 'auth/accounts.js');
  const { createApiKey } = await loadModule<typeof apiKey>(root, 'auth/api-key.js');
  const { createSession, sessionLifetimeMs } = await loadModule<typeof sessionToken>(
    root,
    'auth/session-token.js',
  );
  const { systemClock } = await loadModule<typeof clock>(root, 'lib/clock.js');
  const { createIdSource } = await loadModule<typeof ids>(root, 'lib/ids.js');
  const { prepareDataDirectory } = await loadModule<typeof dataDirectory>(
    root,
    'store/data-directory.js',
  );
  const { openStore } = await loadModule<typeof lmdbStore>(root, 'store/lmdb-store.js');
  const { hash } = await loadModule<typeof hashWorker>(root, 'workers/hash-worker.js');

  const passwordHash = hash(password);
  prepareDataDirectory(dataDir);
  const store = openStore(dataDir);
  const idSource = createIdSource(systemClock);
  const now = systemClock.now();

  async function one(index: number): Promise<PopulationUser> {
    const email = `user-${index}@example.com`;
    const fields = { email, plan: 'business', passwordHash, confirmed: true, now };
    const user = await addUser(store, idSource, fields);
    if (typeof user === 'string') throw new Error(`user ${email}: ${user}`);
    const made = await Promise.all(
      Array.from({ length: keysPerUser }, (_, key) =>
        createApiKey(store, {
          user,
          name: `bot ${key + 1}`,
          scopes: [...scopes],
          expiresAt: null,
          activeMax: keysPerUser,
          now,
        }),
      ),
    );
    const keys = made.map((key) => {
      if (typeof key === 'string') throw new Error(`key of ${email}: ${key}`);
      return key.secret;
    });
    const session = await createSession(store, user, now, sessionLifetimeMs);
    return { userId: user.userId, email, sessionToken: session, keys };
  }

  const list: PopulationUser[] = [];
  while (list.length < users) {
    const size = Math.min(waveSize, users - list.length);
    const first = list.length;
    list.push(...(await Promise.all(Array.from({ length: size }, (_, i) => one(first + i)))));
  }
  await store.close();
  return list;
}
