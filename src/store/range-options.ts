/** Converts a range of the port to lmdb's options, and to bounds for the keys of the overlay. */
import type { Key, RangeOptions } from 'lmdb';
import { encodeKey, prefixBounds } from './key-encoding.js';
import type { Collection } from './key-layout.js';
import type { Range } from './store.js';

export type KeyBounds = RangeOptions & { inclusiveEnd?: boolean };

/** The narrower of the prefix's bounds and of `start` and `end`. */
export function rangeOptions<C extends Collection>(wanted: Range<C>): KeyBounds {
  const reverse = wanted.reverse ?? false;
  const options: KeyBounds = { reverse };
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

/** The same bounds for keys as texts of their bytes, whose order is that of the keys. */
export interface Bounds {
  readonly reverse: boolean;
  contains(order: string): boolean;
}

export function boundsOf({ start, end, reverse = false, inclusiveEnd = false }: KeyBounds): Bounds {
  const [from, to] = [start, end].map((bound) => bound && orderText(bound as Uint8Array));
  return {
    reverse,
    contains(order) {
      if (from !== undefined && (reverse ? order > from : order < from)) return false;
      if (to === undefined || (inclusiveEnd && order === to)) return true;
      return reverse ? order > to : order < to;
    },
  };
}

/** Texts of one character a byte sort as their bytes do. */
export function orderText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
