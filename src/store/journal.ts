/**
 * Notes what one `write` wants and checks it before anything reaches lmdb: a throw half-way then
 * leaves nothing behind. One journal serves all writes of a store, since `fill` and the replay run
 * at once; between writes it is empty.
 */
import type { Database, Key } from 'lmdb';
import { assertKeyFits } from './key-encoding.js';
import type { Collection, KeyOf } from './key-layout.js';
import type { Writer } from './store.js';

export interface Journal extends Writer {
  /** Hands all that was noted to lmdb, within this turn. */
  replay(follow: (committed: Promise<boolean>) => Promise<void>): Promise<void>;
  drop(): void;
}

export function createJournal(databases: Record<Collection, Database<string>>): Journal {
  const targets: Database<string>[] = [];
  const keys: Key[] = [];
  const texts: (string | undefined)[] = [];

  function note(collection: Collection, key: Key, text: string | undefined): void {
    assertKeyFits(key as KeyOf<Collection>);
    targets.push(databases[collection]);
    keys.push(key);
    texts.push(text);
  }
  function drop(): void {
    targets.length = keys.length = texts.length = 0;
  }

  return {
    put: (collection, key, record) => {
      note(collection, key, JSON.stringify(record));
    },
    remove: (collection, key) => {
      note(collection, key, undefined);
    },
    replay(follow) {
      let flushed: Promise<void> | undefined;
      for (let i = 0; i < targets.length; i++) {
        const target = targets[i] as Database<string>;
        const text = texts[i];
        const key = keys[i] as Key;
        flushed = follow(text === undefined ? target.remove(key) : target.put(key, text));
      }
      drop();
      return flushed ?? Promise.resolve();
    },
    drop,
  };
}
