/**
 * Users put into a store without a process for each: by the gateway if one runs on the directory, else
 * directly, all under one lock.
 */
import { perform } from '../../src/admin/client.js';
import { addUser } from '../../src/auth/accounts.js';
import { systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import { shippedPlans } from '../../src/plans.js';
import { prepareDataDirectory } from '../../src/store/data-directory.js';
import { gatewayOn, lockDirectory } from '../../src/store/directory-lock.js';
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
  const requests = emails.map((email) => ({
    email,
    plan,
    confirmed: true,
    passwordHash: passwordHash as string,
  }));
  if (gatewayOn(dataDir) !== undefined) {
    for (const request of requests) {
      const result = await perform({ dataDir, plans: shippedPlans }, 'user.add', request);
      if ('refused' in result) throw new Error(JSON.stringify(result));
    }
    return;
  }
  const lock = await lockDirectory(dataDir, 'command');
  const store = openStore(dataDir);
  const ids = createIdSource(systemClock);
  for (const request of requests) {
    await addUser(store, ids, { ...request, now: systemClock.now() });
  }
  await store.close();
  lock.release();
}
