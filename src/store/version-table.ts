/**
 * The versions of keys as rows of numbers in one array; a look-up compares the key's bytes with those in the
 * frames. An object and a map's entry for each version would live just long enough for the garbage collector
 * to copy them, at a seventh of the cost of an accepted signal (native-notes/profile.md). Owns the rows from
 * `add` to `remove`.
 */
import { bucketOf, hashSeed, hashWith } from '../lib/table-hash.js';
import type { Version, WriteGroup } from './write-group.js';

/** Stands for no row. */
export const noRow = -1;
/** The `nextAt` of a row that is not its key's newest version. */
const replaced = -2;

// The columns of a row, which together fill half a cache line.
const width = 8;
const hashAt = 0;
/** The next row of the same bucket; in a free row, the next free row. */
const nextAt = 1;
/** The row of the key's version before this one. */
const olderAt = 2;
const groupAt = 3;
const collectionAt = 4;
/** Offset in the frame, as are the next two. */
const keyStartAt = 5;
const keyEndAt = 6;
const endAt = 7;

const firstRows = 1_024;

/** Judges a key by its bytes in place. */
export type KeyTest = (bytes: Uint8Array, start: number, end: number) => boolean;

export class VersionTable {
  readonly #seed = hashSeed();
  #rows = new Int32Array(firstRows * width);
  /** The newest versions, by the hash of their keys. */
  #buckets = new Int32Array(firstRows).fill(noRow);
  #free = noRow;
  /** Rows that were ever in use. */
  #used = 0;
  /** Indexed by the `groupAt` of rows. */
  readonly #groups: (WriteGroup | undefined)[] = [];
  readonly #freeGroups: number[] = [];
  /** Rows in use. */
  size = 0;

  /** @returns the number by which rows name the group, until `release`. */
  enlist(group: WriteGroup): number {
    const number = this.#freeGroups.pop() ?? this.#groups.length;
    this.#groups[number] = group;
    return number;
  }

  /** Call it when no row names the group any more. */
  release(number: number): void {
    this.#groups[number] = undefined;
    this.#freeGroups.push(number);
  }

  /** Adds the newest version of a key, in front of its older ones. The last three are offsets in the frame. */
  add(
    group: WriteGroup,
    collection: number,
    keyStart: number,
    keyEnd: number,
    end: number,
  ): number {
    const { block, start } = group.span;
    const { bytes } = block;
    const hash = this.#hashOf(collection, bytes, start + keyStart, start + keyEnd);
    const older = this.#find(hash, collection, bytes, start + keyStart, start + keyEnd);
    const row = this.#take();
    const rows = this.#rows;
    const at = row * width;
    rows[at + hashAt] = hash;
    rows[at + olderAt] = older;
    rows[at + groupAt] = group.number;
    rows[at + collectionAt] = collection;
    rows[at + keyStartAt] = keyStart;
    rows[at + keyEndAt] = keyEnd;
    rows[at + endAt] = end;
    if (older === noRow) {
      const bucket = this.#bucketOf(hash);
      rows[at + nextAt] = this.#buckets[bucket] as number;
      this.#buckets[bucket] = row;
    } else {
      rows[at + nextAt] = rows[older * width + nextAt] as number;
      rows[older * width + nextAt] = replaced;
      this.#link(hash, older, row);
    }
    return row;
  }

  /** @returns the row of the key's newest version, or `noRow`. */
  find(collection: number, bytes: Uint8Array, start: number, end: number): number {
    return this.#find(this.#hashOf(collection, bytes, start, end), collection, bytes, start, end);
  }

  /** @returns the newest version of each wanted key of a collection. Goes through the versions of all keys. */
  newest(collection: number, isWanted: KeyTest): number[] {
    const found: number[] = [];
    for (const group of this.#groups) {
      if (group === undefined) continue;
      const { block, start } = group.span;
      for (const row of group.versions) {
        const at = row * width;
        const rows = this.#rows;
        if (rows[at + collectionAt] !== collection || rows[at + nextAt] === replaced) continue;
        const keyStart = start + (rows[at + keyStartAt] as number);
        const keyEnd = start + (rows[at + keyEndAt] as number);
        if (isWanted(block.bytes, keyStart, keyEnd)) found.push(row);
      }
    }
    return found;
  }

  older(row: number): number {
    return this.#get(row, olderAt);
  }

  /** Call it when no reader sees the key's older versions any more. */
  forgetOlder(row: number): void {
    this.#rows[row * width + olderAt] = noRow;
  }

  groupOf(row: number): WriteGroup {
    return this.#groups[this.#get(row, groupAt)] as WriteGroup;
  }

  version(row: number): Version {
    return {
      group: this.groupOf(row),
      keyStart: this.#get(row, keyStartAt),
      keyEnd: this.#get(row, keyEndAt),
      end: this.#get(row, endAt),
      order: undefined,
    };
  }

  /** Removes a version; the next older one takes its place. */
  remove(row: number): void {
    this.#unlink(row);
    this.#rows[row * width + nextAt] = this.#free;
    this.#free = row;
    this.size--;
  }

  #get(row: number, column: number): number {
    return this.#rows[row * width + column] as number;
  }

  #unlink(row: number): void {
    const hash = this.#get(row, hashAt);
    const older = this.#get(row, olderAt);
    const first = this.#buckets[this.#bucketOf(hash)] as number;
    for (let newest = first; newest !== noRow; newest = this.#get(newest, nextAt)) {
      if (newest === row) {
        const next = this.#get(row, nextAt);
        if (older !== noRow) this.#rows[older * width + nextAt] = next;
        this.#link(hash, row, older === noRow ? next : older);
        return;
      }
      for (let newer = newest; newer !== noRow; newer = this.#get(newer, olderAt)) {
        if (this.#get(newer, olderAt) === row) {
          this.#rows[newer * width + olderAt] = older;
          return;
        }
      }
    }
  }

  /** Redirects the link to the row `from` of a bucket to the row `to`. */
  #link(hash: number, from: number, to: number): void {
    const bucket = this.#bucketOf(hash);
    let row = this.#buckets[bucket] as number;
    if (row === from) {
      this.#buckets[bucket] = to;
      return;
    }
    while (this.#get(row, nextAt) !== from) row = this.#get(row, nextAt);
    this.#rows[row * width + nextAt] = to;
  }

  #find(hash: number, collection: number, bytes: Uint8Array, start: number, end: number): number {
    let row = this.#buckets[this.#bucketOf(hash)] as number;
    while (row !== noRow && !this.#isOf(row, hash, collection, bytes, start, end)) {
      row = this.#get(row, nextAt);
    }
    return row;
  }

  #isOf(
    row: number,
    hash: number,
    collection: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const rows = this.#rows;
    const at = row * width;
    if (rows[at + hashAt] !== hash || rows[at + collectionAt] !== collection) return false;
    const keyStart = rows[at + keyStartAt] as number;
    if ((rows[at + keyEndAt] as number) - keyStart !== end - start) return false;
    const { span } = this.groupOf(row);
    const from = span.start + keyStart;
    for (let i = end - start - 1; i >= 0; i--) {
      if (span.block.bytes[from + i] !== bytes[start + i]) return false;
    }
    return true;
  }

  #hashOf(collection: number, bytes: Uint8Array, start: number, end: number): number {
    let hash = this.#seed ^ collection;
    for (let at = start; at < end; at++) hash = hashWith(hash, bytes[at] as number);
    return hash;
  }

  #bucketOf(hash: number): number {
    return bucketOf(hash, this.#buckets.length);
  }

  #take(): number {
    this.size++;
    const free = this.#free;
    if (free !== noRow) {
      this.#free = this.#get(free, nextAt);
      return free;
    }
    if (this.#used === this.#buckets.length) this.#grow();
    return this.#used++;
  }

  /** Doubles the rows and the buckets, of which there are equally many. */
  #grow(): void {
    const old = this.#buckets;
    const rows = new Int32Array(2 * this.#rows.length);
    rows.set(this.#rows);
    this.#rows = rows;
    this.#buckets = new Int32Array(2 * old.length).fill(noRow);
    for (const first of old) {
      for (let row = first; row !== noRow;) {
        const next = this.#get(row, nextAt);
        const bucket = this.#bucketOf(this.#get(row, hashAt));
        rows[row * width + nextAt] = this.#buckets[bucket] as number;
        this.#buckets[bucket] = row;
        row = next;
      }
    }
  }
}
