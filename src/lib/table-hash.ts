/** What tables of our own have in common, whose keys clients choose: FNV-1a, from a seed that they do not know. */
import { random } from './ids.js';

/** Where a table's hashes begin. Clients who knew it could choose keys of one bucket. */
export function hashSeed(): number {
  return Math.floor(random() * 2 ** 32) | 0;
}

/** @returns the hash of what `hash` stands for and the unit behind it. */
export function hashWith(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 16_777_619);
}

/** @param buckets how many there are: a power of two. */
export function bucketOf(hash: number, buckets: number): number {
  return (hash ^ (hash >>> 15)) & (buckets - 1);
}
