/**
 * Holds records in memory that are read far more often than they change: those of the gate, and those that a
 * bot polls. A layer over the store, through which every change comes: the records that a write touched are
 * dropped at its flush, before its promise settles. Callers share the records, which are frozen; an unchanged
 * record stays the same object, so that results can be cached by it. Owns a bounded number of bytes.
 */
import { heldCollections } from './held-collections.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';
import { Shelf, type ShelfKey } from './shelf.js';
import type { Store } from './store.js';
import { TouchedRecords } from './touched-records.js';

/** Estimated size in V8's heap. */
const bytesMax = 64 * 1024 * 1024;
/** Estimate for an entry, and for each member of its record beside its text. */
const bytesPerValue = 32;

export function holdRecords(store: Store): Store {
  const shelves: ReadonlyMap<Collection, Shelf> = new Map(
    [...heldCollections].map(([collection, options]) => [collection, new Shelf(options)]),
  );
  const touched = new TouchedRecords(shelves);
  let bytes = 0;

  function clear(): void {
    for (const shelf of shelves.values()) shelf.clear();
    bytes = 0;
  }

  function get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
    const shelf = shelves.get(collection);
    if (shelf === undefined) return store.get(collection, key);
    const held = shelf.get(key as ShelfKey);
    if (held !== undefined) return (held ?? undefined) as RecordOf<C> | undefined;
    const record = store.get(collection, key);
    if (record === undefined && !shelf.holdsAbsence) return undefined;
    // Absences of keys of one part are bounded by number: a client that asks for many must not clear the rest.
    if (record !== undefined || typeof key !== 'string')
      bytes += frozenBytes(record) + bytesPerValue + lengthOf(key);
    if (bytes > bytesMax) clear();
    shelf.set(key as ShelfKey, record ?? null);
    return record;
  }

  return {
    ...store,
    get,
    write: (fill) => touched.follow(store.write((batch) => fill(touched.noting(batch)))),
    transact: (work, options) =>
      touched.followOne((noted) => store.transact((within) => work(noted(within)), options)),
    async sweep(order) {
      const outcome = await store.sweep(order);
      for (const [collection, keys] of Object.entries(outcome.removed)) {
        const shelf = shelves.get(collection as Collection);
        for (const key of keys) shelf?.drop(key as ShelfKey);
      }
      return outcome;
    },
    async close() {
      clear();
      await store.close();
      await touched.settled();
    },
  };
}

/** The first part of a key of two is held once for all of its keys. */
function lengthOf(key: unknown): number {
  return String(Array.isArray(key) ? key.at(-1) : key).length;
}

/** Freezes a record with all that is in it. @returns about its bytes. */
function frozenBytes(value: unknown): number {
  if (typeof value === 'string') return bytesPerValue + value.length;
  if (typeof value !== 'object' || value === null) return bytesPerValue;
  Object.freeze(value);
  return Object.values(value).reduce<number>((sum, part) => sum + frozenBytes(part), bytesPerValue);
}
