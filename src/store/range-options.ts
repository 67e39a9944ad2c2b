/** Converts a range of the port to lmdb's options. */
import type { Key, RangeOptions } from 'lmdb';
import { encodeKey, prefixBounds } from './key-encoding.js';
import type { Collection } from './key-layout.js';
import type { Range } from './store.js';

/** The narrower of the prefix's bounds and of `start` and `end`. */
export function rangeOptions<C extends Collection>(wanted: Range<C>): RangeOptions {
  const reverse = wanted.reverse ?? false;
  const options: RangeOptions & { inclusiveEnd?: boolean } = { reverse };
  if (wanted.limit !== undefined) options.limit = wanted.limit;
  if (wanted.start !== undefined) options.start = encodeKey(wanted.start);
  if (wanted.end !== undefined) options.end = encodeKey(wanted.end);
  if (wanted.prefix === undefined) return options;

  const { first, past } = prefixBounds(wanted.prefix);
  const [start, end] = reverse ? [past, first] : [first, past];
  const narrower = (given: Key | undefined, bound: Uint8Array, sign: 1 | -1): boolean =>
    given === undefined || Buffer.compare(given as Uint8Array, bound) * sign < 0;
  if (narrower(options.start, start, reverse ? -1 : 1)) options.start = start;
  if (narrower(options.end, end, reverse ? 1 : -1)) {
    options.end = end;
    // Going down, the prefix itself may be a key, and is then the last one.
    options.inclusiveEnd = reverse;
  }
  return options;
}
