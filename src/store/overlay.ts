/**
 * What the index does not hold yet: for each key the versions that were written since, newest first.
 * Readers see the newest one that is on disk, transactions the newest one at all. Owns the versions
 * from the write until the index has them, or until the write has failed.
 */
import { type Collection, collections, type KeyOf } from './key-layout.js';
import type { MapKey, Version, WriteGroup } from './write-group.js';

/** Which version at a key counts, beginning with its newest one. */
export type Choice = (newest: Version | undefined) => Version | undefined;

export const newestOfAll: Choice = (newest) => newest;

export const newestFlushed: Choice = (newest) => {
  let version = newest;
  while (version !== undefined && !version.group.isFlushed) version = version.older;
  // Behind one that is not flushed lies also what the index has meanwhile: its memory is gone.
  return version?.group.isApplied === true ? undefined : version;
};

/** The lengths of all parts but the last make two different keys two different texts. */
export function mapKeyOf(key: KeyOf<Collection>): MapKey {
  if (typeof key !== 'object') return key;
  if (key.length === 2) return `${key[0].length} ${key[0]}${key[1]}`;
  return `${key.map((part) => part.length).join(' ')} ${key.join('')}`;
}

export class Overlay {
  readonly #newest = Object.fromEntries(
    collections.map((collection) => [collection, new Map<MapKey, Version>()]),
  ) as Record<Collection, Map<MapKey, Version>>;

  newest(collection: Collection, mapKey: MapKey): Version | undefined {
    return this.#newest[collection].get(mapKey);
  }

  /** The newest version of each key that has any. */
  all(collection: Collection): ReadonlyMap<MapKey, Version> {
    return this.#newest[collection];
  }

  add(version: Version): void {
    this.#newest[version.collection].set(version.mapKey, version);
  }

  /** Takes back the group's versions from the given one on. Groups behind it have none left. */
  revert({ versions }: WriteGroup, from = 0): void {
    while (versions.length > from) {
      const { collection, mapKey, older } = versions.pop() as Version;
      if (older === undefined || older.group.isApplied) this.#newest[collection].delete(mapKey);
      else this.#newest[collection].set(mapKey, older);
    }
  }

  /** The group is on disk: what it has replaced is seen by nobody any more. */
  flushed(group: WriteGroup): void {
    group.isFlushed = true;
    for (const version of group.versions) version.older = undefined;
  }

  /** The index holds the group, and readers look there. */
  drop(group: WriteGroup): void {
    group.isApplied = true;
    for (const version of group.versions) {
      const map = this.#newest[version.collection];
      if (map.get(version.mapKey) === version) map.delete(version.mapKey);
    }
  }
}
