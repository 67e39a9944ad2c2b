/**
 * Users put into a store directly, whether or not a gateway runs on it: the command would do the same
 * in a process of its own for each of them, while the test's own event loop stands still.
 */
import { addUser } from '../../src/auth/accounts.js';
import { systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import { prepareDataDirectory } from '../../src/store/data-directory.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { hash } from '../../src/workers/hash-worker.js';
import { password } from './gateway-process.js';

let passwordHash: string | undefined;

/** Adds confirmed users with the password `correct horse`. */
export async function addUsers(
  dataDir: string,
  emails: readonly string[],
  plan = 'business',
): Promise<void> {
  passwordHash ??= hash(password);
  prepareDataDirectory(dataDir);
  const store = openStore(dataDir);
  const ids = createIdSource(systemClock);
  for (const email of emails) {
    const now = systemClock.now();
    await addUser(store, ids, { email, plan, passwordHash, confirmed: true, now });
  }
  await store.close();
}
