/** Hashes for our own tables, whose keys clients choose: FNV-1a, from a seed that clients do not know. */
import { random } from './ids.js';

/** The start of a table's hashes. Clients who knew it could choose keys that fall into one bucket. */
export function hashSeed(): number {
  return Math.floor(random() * 2 ** 32) | 0;
}

/** @returns the hash of the text with the hash `hash` and one more unit. */
export function hashWith(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 16_777_619);
}

/** @param buckets how many there are: a power of two. */
export function bucketOf(hash: number, buckets: number): number {
  return (hash ^ (hash >>> 15)) & (buckets - 1);
}
