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

/** The same bounds, as a test of a key's bytes in place. */
export interface Bounds {
  readonly reverse: boolean;
  readonly contains: (bytes: Uint8Array, start: number, end: number) => boolean;
}

export function boundsOf({ start, end, reverse = false, inclusiveEnd = false }: KeyBounds): Bounds {
  const [low, high] = (reverse ? [end, start] : [start, end]) as (Uint8Array | undefined)[];
  // A range contains the key at which it begins.
  const [withLow, withHigh] = reverse ? [inclusiveEnd, true] : [true, inclusiveEnd];
  return {
    reverse,
    contains(bytes, from, to) {
      const fromLow = low === undefined ? 1 : compare(bytes, from, to, low);
      if (fromLow < 0 || (fromLow === 0 && !withLow)) return false;
      const fromHigh = high === undefined ? -1 : compare(bytes, from, to, high);
      return fromHigh < 0 || (fromHigh === 0 && withHigh);
    },
  };
}

/** As `Buffer.compare`, without a view of the bytes. */
function compare(bytes: Uint8Array, start: number, end: number, other: Uint8Array): number {
  const length = Math.min(end - start, other.length);
  for (let i = 0; i < length; i++) {
    const difference = (bytes[start + i] as number) - (other[i] as number);
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}

/** Texts of one character a byte sort as their bytes do. */
export function orderText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
