/**
 * Adds users to a store directly, before a gateway opens it: the command would cost a process and a
 * slow hash for each user. A stored hash names its own cost, so a login with this one is fast as well.
 */
import { addUser } from '../../src/auth/accounts.js';
import { systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import { prepareDataDirectory } from '../../src/store/data-directory.js';
import { lockDirectory } from '../../src/store/directory-lock.js';
import { openStore } from '../../src/store/lmdb-store.js';
import type { Store } from '../../src/store/store.js';

/** Argon2id of `password`, which is `correct horse`, with 8 KiB and one pass. */
const passwordHash =
  '$argon2id$v=19$m=8,t=1,p=1$c2FsdCBvZiB0aGUgdGVzdHM$T6mHDTDugQHLiQq/N1lFlMGLLgml/HrMgvJLWgLI8N8';

export interface NewUser {
  readonly email: string;
  readonly plan: string;
}

/**
 * Adds confirmed users with the tests' password, then does what else the store is wanted for. No gateway may
 * run. @param users where only an email is given, the plan is `business`.
 */
export async function addUsers(
  dataDir: string,
  users: readonly (NewUser | string)[],
  prepare?: (store: Store) => Promise<void>,
): Promise<void> {
  prepareDataDirectory(dataDir);
  const lock = await lockDirectory(dataDir, 'command');
  const store = openStore(dataDir);
  const ids = createIdSource(systemClock);
  const now = systemClock.now();
  await Promise.all(
    users.map((user) => {
      const { email, plan } = typeof user === 'string' ? { email: user, plan: 'business' } : user;
      return addUser(store, ids, { email, plan, passwordHash, confirmed: true, now });
    }),
  );
  await prepare?.(store);
  await store.close();
  lock.release();
}
