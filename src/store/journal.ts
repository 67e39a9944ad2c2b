/**
 * Notes what one `write` wants and checks it before anything reaches lmdb: a throw half-way then
 * leaves nothing behind. One journal serves all writes of a store, since `fill` and the replay run
 * at once; between writes it is empty. Its lists are used again: new ones for each write would cost
 * more than what they hold.
 */
import type { Database, Key } from 'lmdb';
import { assertKeyFits } from './key-encoding.js';
import type { Collection, KeyOf } from './key-layout.js';
import type { Writer } from './store.js';

export interface Journal extends Writer {
  /** Hands all that was noted to lmdb, within this turn. */
  replay(follow: Follow): Promise<void>;
  drop(): void;
}

type Follow = (committed: Promise<boolean>) => Promise<void>;

/** Places of the lists that stay; more than an acceptance takes. */
const kept = 64;

export function createJournal(databases: Record<Collection, Database<string>>): Journal {
  const targets: Database<string>[] = [];
  const keys: Key[] = [];
  const texts: (string | undefined)[] = [];
  let count = 0;

  function note(collection: Collection, key: Key, text: string | undefined): void {
    assertKeyFits(key as KeyOf<Collection>);
    targets[count] = databases[collection];
    keys[count] = key;
    texts[count] = text;
    count++;
  }
  function drop(): void {
    // A write of thousands leaves none of them behind.
    if (count > kept) targets.length = keys.length = texts.length = kept;
    keys.fill(0, 0, count);
    texts.fill(undefined, 0, count);
    count = 0;
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
      for (let i = 0; i < count; i++) {
        flushed = follow(handOver(targets[i] as Database<string>, keys[i] as Key, texts[i]));
      }
      drop();
      return flushed ?? Promise.resolve();
    },
    drop,
  };
}

function handOver(target: Database<string>, key: Key, text: string | undefined): Promise<boolean> {
  return text === undefined ? target.remove(key) : target.put(key, text);
}
