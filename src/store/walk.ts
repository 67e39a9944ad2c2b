/**
 * Goes through a stretch of a collection in its order, a few rows at a time, with nothing held in
 * between: rows may come and go while the walk rests.
 */
import type { Collection, KeyOf } from './key-layout.js';
import type { Entry, Range, Reader } from './store.js';

/** A record may hold a payload of 96 KiB: reading eight of them takes about two milliseconds. */
const payloadsPerRead = 8;

/** The collections whose keys end with a text. */
export type Walkable = {
  [C in Collection]: KeyOf<C> extends string | [...unknown[], string] ? C : never;
}[Collection];

/**
 * @param rowsPerRead more for small records: each read goes through all that the index does not hold yet, which
 * takes milliseconds while it is far behind.
 */
export function* walk<C extends Walkable>(
  reader: Reader,
  collection: C,
  stretch: Pick<Range<C>, 'prefix' | 'start' | 'end'> = {},
  rowsPerRead = payloadsPerRead,
): Generator<Entry<C>, void, void> {
  let rest: Range<C> = { ...stretch, limit: rowsPerRead };
  for (;;) {
    const rows = reader.range(collection, rest);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerRead) return;
    rest = { ...rest, start: keyAfter(last.key) };
  }
}

/** The smallest key greater than this one. */
export function keyAfter<K>(key: K): K {
  if (Array.isArray(key))
    return [...(key as unknown[]).slice(0, -1), `${String(key.at(-1))}\0`] as K;
  return `${String(key)}\0` as K;
}
