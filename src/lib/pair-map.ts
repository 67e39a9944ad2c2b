/**
 * A map by two texts: an owner, and a name that the owner chose. For entries that come and go all the time: a Map
 * leaves outgrown tables behind, and a table that has reached V8's old space keeps the next one, and so on, with
 * all their keys, until a full collection (native-notes/profile.md).
 */
import { bucketOf, hashSeed, hashWith } from './table-hash.js';

interface Entry<V> {
  readonly owner: string;
  readonly name: string;
  readonly hash: number;
  value: V | undefined;
  next: Entry<V> | undefined;
}

const firstBuckets = 64;

export class PairMap<V> {
  readonly #seed = hashSeed();
  /** At least as many as entries. */
  #buckets = emptyBuckets<V>(firstBuckets);
  #size = 0;
  /** Name and hash of the last look-up. */
  #name = '';
  #hash = this.#seed;

  get(owner: string, name: string): V | undefined {
    return this.#find(owner, name)?.value;
  }

  set(owner: string, name: string, value: V): void {
    const found = this.#find(owner, name);
    if (found !== undefined) {
      found.value = value;
      return;
    }
    if (this.#size === this.#buckets.length) this.#grow();
    this.#size++;
    this.#link({ owner, name, hash: this.#hashOf(name), value, next: undefined });
  }

  delete(owner: string, name: string): void {
    const bucket = this.#bucketOf(this.#hashOf(name));
    let before: Entry<V> | undefined;
    let entry = this.#buckets[bucket];
    while (entry !== undefined && !isOf(entry, owner, name)) {
      before = entry;
      entry = entry.next;
    }
    if (entry === undefined) return;
    if (before === undefined) this.#buckets[bucket] = entry.next;
    else before.next = entry.next;
    this.#size--;
    // The entry may be in the old space, where it would keep its value and the next entry until a full collection.
    entry.value = entry.next = undefined;
  }

  *values(): Generator<V> {
    for (const first of this.#buckets) {
      for (let entry = first; entry !== undefined; entry = entry.next) yield entry.value as V;
    }
  }

  #find(owner: string, name: string): Entry<V> | undefined {
    let entry = this.#buckets[this.#bucketOf(this.#hashOf(name))];
    while (entry !== undefined && !isOf(entry, owner, name)) entry = entry.next;
    return entry;
  }

  #link(entry: Entry<V>): void {
    const bucket = this.#bucketOf(entry.hash);
    entry.next = this.#buckets[bucket];
    this.#buckets[bucket] = entry;
  }

  #grow(): void {
    const old = this.#buckets;
    this.#buckets = emptyBuckets(2 * old.length);
    for (let entry of old) {
      while (entry !== undefined) {
        const { next } = entry;
        this.#link(entry);
        entry = next;
      }
    }
  }

  #hashOf(name: string): number {
    if (name === this.#name) return this.#hash;
    let hash = this.#seed;
    for (let i = 0; i < name.length; i++) hash = hashWith(hash, name.charCodeAt(i));
    this.#name = name;
    this.#hash = hash;
    return hash;
  }

  #bucketOf(hash: number): number {
    return bucketOf(hash, this.#buckets.length);
  }
}

function isOf<V>(entry: Entry<V>, owner: string, name: string): boolean {
  return entry.name === name && entry.owner === owner;
}

function emptyBuckets<V>(count: number): (Entry<V> | undefined)[] {
  return new Array<Entry<V> | undefined>(count).fill(undefined);
}
