/**
 * Removes the rows of deleted users: requests, executions, idempotency records, signalIds and sources. The
 * deletion itself only writes a marker under `purgeKeyOf(userId)`: a user may have millions of rows, too many
 * for one transaction.
 */
import { collectionsWith, purgePrefix } from '../store/key-layout.js';
import { type Pass, removeAll, type Slice } from './pass.js';

const purged = collectionsWith('purged');

/** How long the marker stays: writes in flight at the deletion may create rows after it. */
const graceMs = 3_600_000;

export function* deletedUsers(slice: Slice, now: number): Pass {
  // `;` follows `:`, so this is the end of the keys with the prefix.
  const range = { start: purgePrefix, end: `${purgePrefix.slice(0, -1)};` };
  for (const key of slice.keys('meta', range)) {
    const userId = key.slice(purgePrefix.length);
    if (slice.get('users', userId) !== undefined) continue;
    for (const collection of purged) yield* removeAll(slice, collection, userId);
    const deletedAt = Number(slice.get('meta', key));
    if (now - deletedAt >= graceMs) slice.remove('meta', key);
    yield;
  }
}
