/**
 * What the index does not hold yet: for each key the versions that were written since, newest first.
 * Readers see the newest one that is on disk, transactions the newest of all. Owns the versions from the write
 * until the index has them, or until the write has failed.
 */
import { keyBytesMax, writeKey } from './key-encoding.js';
import { type Collection, collectionTraits, type KeyOf } from './key-layout.js';
import { type KeyTest, noRow, VersionTable } from './version-table.js';
import type { Version, WriteGroup } from './write-group.js';

/** Which versions count: those that are on disk, or all. */
export type Seen = 'flushed' | 'written';

/** Longer keys are never stored; their bytes beyond its end are dropped without harm. */
const sought = new Uint8Array(keyBytesMax + 1);

export class Overlay {
  readonly #table = new VersionTable();

  /** How many versions it holds. */
  get size(): number {
    return this.#table.size;
  }

  get<C extends Collection>(collection: C, key: KeyOf<C>, seen: Seen): Version | undefined {
    if (this.#table.size === 0) return undefined;
    const length = writeKey(key, sought, 0);
    if (length > keyBytesMax) return undefined;
    const { number } = collectionTraits[collection];
    return this.#versionOf(this.#table.find(number, sought, 0, length), seen);
  }

  /** The version that `seen` selects of each wanted key, in no order. */
  all(collection: Collection, seen: Seen, isWanted: KeyTest): Version[] {
    const versions: Version[] = [];
    if (this.#table.size === 0) return versions;
    for (const row of this.#table.newest(collectionTraits[collection].number, isWanted)) {
      const version = this.#versionOf(row, seen);
      if (version !== undefined) versions.push(version);
    }
    return versions;
  }

  #versionOf(newest: number, seen: Seen): Version | undefined {
    const table = this.#table;
    let row = newest;
    if (seen === 'flushed')
      while (row !== noRow && !table.groupOf(row).isFlushed) row = table.older(row);
    return row === noRow ? undefined : table.version(row);
  }

  /** @param keyStart offset in the group's frame, as are the next two. */
  add(
    group: WriteGroup,
    collection: Collection,
    keyStart: number,
    keyEnd: number,
    end: number,
  ): void {
    if (group.versions.length === 0) group.number = this.#table.enlist(group);
    const { number } = collectionTraits[collection];
    group.versions.push(this.#table.add(group, number, keyStart, keyEnd, end));
  }

  /** Takes back the group's versions from the given one on. Later groups must have none left. */
  revert({ versions, number }: WriteGroup, from = 0): void {
    if (versions.length === from) return;
    while (versions.length > from) this.#table.remove(versions.pop() as number);
    if (from === 0) this.#table.release(number);
  }

  /** The group is on disk: no reader sees the versions that it has replaced any more. */
  flushed(group: WriteGroup): void {
    group.isFlushed = true;
    for (const row of group.versions) this.#table.forgetOlder(row);
  }

  /** The index holds the group, and readers look there. */
  drop(group: WriteGroup): void {
    if (group.versions.length === 0) return;
    for (const row of group.versions) this.#table.remove(row);
    group.versions.length = 0;
    this.#table.release(group.number);
  }
}
