/**
 * What deleted users left behind: requests, executions, idempotency records, signalIds and sources.
 * The deletion itself only notes the user under `purgeKeyOf(userId)`: a user may have millions of
 * rows, which no single transaction should remove.
 */
import { collectionsWith, purgePrefix } from '../store/key-layout.js';
import type { Reader } from '../store/store.js';
import type { Pass } from './pass.js';
import { walk } from '../store/walk.js';

const purged = collectionsWith('purged');

/** How long the note stays: what was under way when the user was deleted may still be written. */
const graceMs = 3_600_000;

export function* deletedUsers(reader: Reader, now: number): Pass {
  // The character after the colon ends the stretch of keys that begin with the prefix.
  const stretch = { start: purgePrefix, end: `${purgePrefix.slice(0, -1)};` };
  for (const { key, record: deletedAt } of walk(reader, 'meta', stretch)) {
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
