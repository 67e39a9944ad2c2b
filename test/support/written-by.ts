/** How many records each write of a store puts. */
import type { Collection } from '../../src/store/key-layout.js';
import type { Store } from '../../src/store/store.js';

/** By collection, of each write from now on. */
export function writtenBy(store: Store): Partial<Record<Collection, number>>[] {
  const written: Partial<Record<Collection, number>>[] = [];
  const write = store.write.bind(store);
  (store as { write: typeof write }).write = (fill) =>
    write((batch) => {
      const counts: Partial<Record<Collection, number>> = {};
      written.push(counts);
      fill({
        put: (collection, key, record) => {
          counts[collection] = (counts[collection] ?? 0) + 1;
          batch.put(collection, key, record);
        },
        remove: (collection, key) => batch.remove(collection, key),
      });
    });
  return written;
}
