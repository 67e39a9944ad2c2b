/**
 * Defines the passes of the retention sweep. A pass goes through the store in steps: each searches a few
 * rows, removes what is due among them, and ends with a yield. A step uses nothing that an earlier step has
 * read: there may be other writes between steps.
 */
import type { Entry, Range, Reader, Writer } from '../store/store.js';
import type { SweepOrder } from '../store/sweeper.js';
import { keyAfter, type Walkable } from '../store/walk.js';

/** What a step works on: reads see every write before it and its own. */
export interface Slice extends Reader, Writer {
  /** Whether the step has to end, since others wait. */
  isUsedUp(): boolean;
}

export type Pass = Generator<void, void, void>;
export type RetentionLimits = SweepOrder['limits'];

/** Records that a step reads at once. */
export const rowsPerStep = 32;
export const idsPerStep = 64;

/** Gives every row of the stretch to `handle`, which may remove it. */
export function* eachRow<C extends Walkable>(
  slice: Slice,
  collection: C,
  stretch: Pick<Range<C>, 'prefix' | 'start' | 'end'>,
  handle: (row: Entry<C>) => void,
): Pass {
  let rest: Range<C> = stretch;
  for (;;) {
    const rows = slice.range(collection, { ...rest, limit: rowsPerStep });
    for (const row of rows) {
      handle(row);
      rest = { ...rest, start: keyAfter(row.key) };
      if (slice.isUsedUp()) break;
    }
    yield;
    if (rows.length === 0) return;
  }
}

/** Runs one pass for each user, one after the other. */
export function* eachUser(slice: Slice, passOf: (userId: string) => Pass): Pass {
  for (let start = ''; ;) {
    const userIds = slice.keys('users', { start, limit: idsPerStep });
    for (const userId of userIds) yield* passOf(userId);
    const last = userIds.at(-1);
    if (last === undefined) return;
    start = keyAfter(last);
  }
}
