/** Reads and writes the index itself, within a transaction of the thread that owns it. */
import { heldCollections } from './held-collections.js';
import type { Collection, KeyOf } from './key-layout.js';
import type { Databases } from './lmdb-index.js';
import { Overlay } from './overlay.js';
import { createReader } from './reader.js';
import { textOfRecord } from './record-text.js';
import type { Reader, Writer } from './store.js';
import type { RemovedKeys } from './sweeper.js';

export interface IndexWriter {
  readonly records: Reader & Writer;
  /** The keys that were removed since the last call, of the collections that are held in memory. */
  readonly removed: () => RemovedKeys;
}

export function createIndexWriter(databases: Databases): IndexWriter {
  let removed: RemovedKeys = {};
  const reader = createReader({
    databases,
    overlay: new Overlay(),
    seen: 'written',
    assertOpen: () => undefined,
  });

  function note<C extends Collection>(collection: C, key: KeyOf<C>): void {
    if (!heldCollections.has(collection)) return;
    const keys: KeyOf<C>[] = (removed[collection] ??= []);
    keys.push(key);
  }

  return {
    records: {
      ...reader,
      put(collection, key, record) {
        databases[collection].putSync(key, textOfRecord(collection, record));
      },
      remove(collection, key) {
        note(collection, key);
        databases[collection].removeSync(key);
      },
    },
    removed() {
      const noted = removed;
      removed = {};
      return noted;
    },
  };
}
