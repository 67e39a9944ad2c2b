/**
 * Removes the rows of deleted users: requests, executions, idempotency records, signalIds and sources. The
 * deletion itself only writes a marker under `purgeKeyOf(userId)`: a user may have millions of rows, too many
 * for one transaction.
 */
import { hourMs } from '../lib/durations.js';
import {
  collectionsWith,
  type CollectionsWith,
  metaRange,
  purgePrefix,
} from '../store/key-layout.js';
import { idsPerStep, type Pass, type Slice } from './pass.js';

const purged = collectionsWith('purged');

/** How long the marker stays: writes in flight at the deletion may create rows after it. */
const graceMs = hourMs;

export function* deletedUsers(slice: Slice, now: number): Pass {
  for (const key of slice.keys('meta', metaRange(purgePrefix))) {
    for (const collection of purged) yield* removeRows(slice, collection, key);
    if (isGone(slice, key) && now - Number(slice.get('meta', key)) >= graceMs) {
      slice.remove('meta', key);
    }
    yield;
  }
}

function* removeRows(slice: Slice, collection: CollectionsWith<'purged'>, key: string): Pass {
  while (isGone(slice, key)) {
    const prefix = [userIdOf(key)];
    const rows = slice.keys(collection, { prefix, limit: idsPerStep });
    for (const row of rows) slice.remove(collection, row);
    yield;
    if (rows.length === 0) return;
  }
}

/** Whether the user is still deleted: an import between two steps may bring the rows back. */
function isGone(slice: Slice, key: string): boolean {
  return slice.get('meta', key) !== undefined && slice.get('users', userIdOf(key)) === undefined;
}

function userIdOf(key: string): string {
  return key.slice(purgePrefix.length);
}
