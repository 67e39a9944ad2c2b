/**
 * Removes the rows of deleted users: requests, executions, idempotency records, signalIds and sources. The
 * deletion itself only writes a marker under `purgeKeyOf(userId)`: a user may have millions of rows, too many
 * for one transaction.
 */
import { collectionsWith, purgePrefix } from '../store/key-layout.js';
import type { Reader } from '../store/store.js';
import type { Pass } from './pass.js';
import { walk } from '../store/walk.js';

const purged = collectionsWith('purged');

/** How long the marker stays: writes in flight at the deletion may create rows after it. */
const graceMs = 3_600_000;

export function* deletedUsers(reader: Reader, now: number): Pass {
  // `;` follows `:`, so this is the end of the keys with the prefix.
  const range = { start: purgePrefix, end: `${purgePrefix.slice(0, -1)};` };
  for (const { key, record: deletedAt } of walk(reader, 'meta', range)) {
    const userId = key.slice(purgePrefix.length);
    if (reader.get('users', userId) !== undefined) continue;
    for (const collection of purged) {
      for (const row of walk(reader, collection, { prefix: [userId] })) {
        yield (transaction) => {
          transaction.remove(collection, row.key);
        };
      }
    }
    yield now - Number(deletedAt) < graceMs
      ? undefined
      : (transaction) => {
          const isEmpty = purged.every(
            (collection) =>
              transaction.range(collection, { prefix: [userId], limit: 1 }).length === 0,
          );
          if (isEmpty) transaction.remove('meta', key);
        };
  }
}
