/**
 * Records that are read far more often than they change, held in memory until they change: those of the gate, and
 * what a bot polls. A layer over the store of the one process that owns it, through which every change comes: what
 * a write touched is dropped at its flush, before anybody is told of it. Who gets a record shares it, and cannot
 * change it; one that is unchanged is the same object, so that what was made of it can be kept with it. Owns a
 * bounded number of bytes.
 */
import { heldCollections } from './held-collections.js';
import type { Collection, KeyOf, RecordOf } from './key-layout.js';
import { Shelf, type ShelfKey } from './shelf.js';
import type { Store } from './store.js';
import { TouchedRecords } from './touched-records.js';

/** As V8 holds them, about. */
const bytesMax = 64 * 1024 * 1024;
/** Of an entry and each member of its record, beside its text. */
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
    // Absences of keys of one part are bounded by their number: what anybody asks for must not clear the rest.
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

/** The first part of two is held once for all of its keys. */
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
