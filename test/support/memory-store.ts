/**
 * The store port in memory, with the real one's manners: writes of a turn are one commit, nothing is
 * visible before its promise resolves, records are copies, keys sort alike. Commits can be made to
 * fail. It knows nothing of the real store's encoding, so that the contract suite compares two ways
 * of getting the order right.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertKeyFits } from '../../src/store/key-encoding.js';
import type { Collection, KeyOf, RecordOf } from '../../src/store/key-layout.js';
import {
  type Entry,
  type Range,
  type Reader,
  type Store,
  StoreFailure,
  type Writer,
} from '../../src/store/store.js';

type Part = string | number;
interface Row {
  readonly parts: readonly Part[];
  readonly key: unknown;
  readonly text: string;
}
/** Never changed in place: a rollback is the old map. */
type Rows = Map<Collection, readonly Row[]>;
type Change = (rows: Rows) => void;

interface Job {
  readonly run: Change;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface MemoryStore extends Store {
  /**
   * The next `count` commits reject. `kept` makes their writes visible all the same: that is what a
   * disk does which fails after the data has arrived.
   */
  failNextCommits(count: number, fate?: 'lost' | 'kept'): void;
}

export function createMemoryStore(): MemoryStore {
  let committed: Rows = new Map();
  let group: Job[] = [];
  let commitUnderWay: Promise<void> = Promise.resolve();
  let failures = 0;
  let failuresKeep = false;
  let closed = false;

  function enqueue(run: Change): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0) {
        commitUnderWay = new Promise((done) => {
          setImmediate(() => {
            commit();
            done();
          });
        });
      }
      group.push({ run, resolve, reject });
    });
  }

  function commit(): void {
    const jobs = group;
    group = [];
    const rows: Rows = new Map(committed);
    const done: Job[] = [];
    for (const job of jobs) {
      const before = new Map(rows);
      try {
        job.run(rows);
        done.push(job);
      } catch (error) {
        rows.clear();
        for (const [collection, kept] of before) rows.set(collection, kept);
        job.reject(error);
      }
    }
    const fails = failures > 0;
    if (!fails || failuresKeep) committed = rows;
    if (fails) failures--;
    for (const job of done) {
      if (fails) job.reject(new StoreFailure('the commit failed: simulated'));
      else job.resolve();
    }
  }

  function assertOpen(): void {
    if (closed) throw new StoreFailure('the store is closed');
  }

  const reader = readerOf(() => {
    assertOpen();
    return committed;
  });

  return {
    ...reader,

    async write(fill) {
      assertOpen();
      const changes: Change[] = [];
      fill(writerTo((change) => changes.push(change)));
      if (changes.length === 0) return;
      await enqueue((rows) => {
        for (const change of changes) change(rows);
      });
    },

    async transact<T>(work: (transaction: Reader & Writer) => T): Promise<T> {
      assertOpen();
      let result: T | undefined;
      await enqueue((rows) => {
        result = work({ ...readerOf(() => rows), ...writerTo((change) => change(rows)) });
        if (result instanceof Promise) throw new Error('the work of a transaction is synchronous');
      });
      return result as T;
    },

    async backup(directory) {
      assertOpen();
      await writeFile(join(directory, 'memory-store.json'), JSON.stringify([...committed]));
    },

    sizeBytes: () =>
      [...committed.values()].flat().reduce((bytes, row) => bytes + row.text.length, 0),

    async close() {
      closed = true;
      await commitUnderWay;
    },

    failNextCommits(count, fate = 'lost') {
      failures = count;
      failuresKeep = fate === 'kept';
    },
  };
}

function writerTo(note: (change: Change) => unknown): Writer {
  return {
    put(collection, key, record) {
      assertKeyFits(key);
      const text = JSON.stringify(record);
      note((rows) => {
        replace(rows, collection, key, text);
      });
    },
    remove(collection, key) {
      note((rows) => {
        replace(rows, collection, key, undefined);
      });
    },
  };
}

function replace(
  rows: Rows,
  collection: Collection,
  key: KeyOf<Collection>,
  text: string | undefined,
): void {
  const parts = partsOf(key);
  const old = rows.get(collection) ?? [];
  const at = firstFrom(old, parts);
  const row = old[at];
  const isThere = row !== undefined && compareKeys(row.parts, parts) === 0;
  const added = text === undefined ? [] : [{ parts, key: structuredClone(key), text }];
  rows.set(collection, old.toSpliced(at, isThere ? 1 : 0, ...added));
}

function readerOf(rows: () => Rows): Reader {
  const reader: Reader = {
    keys: (collection, range) => reader.range(collection, range).map(({ key }) => key),

    get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
      const all = rows().get(collection) ?? [];
      const parts = partsOf(key);
      const row = all[firstFrom(all, parts)];
      if (row === undefined || compareKeys(row.parts, parts) !== 0) return undefined;
      return JSON.parse(row.text) as RecordOf<C>;
    },

    range<C extends Collection>(collection: C, range: Range<C> = {}): Entry<C>[] {
      const all = rows().get(collection) ?? [];
      const { prefix, start, end, limit } = range;
      const sign = range.reverse === true ? -1 : 1;
      const entries: Entry<C>[] = [];
      for (const row of range.reverse === true ? all.toReversed() : all) {
        if (entries.length === (limit ?? Infinity)) break;
        if (start !== undefined && compareKeys(row.parts, partsOf(start)) * sign < 0) continue;
        if (end !== undefined && compareKeys(row.parts, partsOf(end)) * sign >= 0) continue;
        if (prefix?.some((part, i) => row.parts[i] !== part) === true) continue;
        entries.push({
          key: structuredClone(row.key) as KeyOf<C>,
          record: JSON.parse(row.text) as RecordOf<C>,
        });
      }
      return entries;
    },
  };
  return reader;
}

function partsOf(key: KeyOf<Collection>): readonly Part[] {
  return typeof key === 'object' ? [...key] : [key];
}

/** Index of the first row that is not before the key. */
function firstFrom(rows: readonly Row[], parts: readonly Part[]): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys((rows[middle] as Row).parts, parts) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Part by part; numbers before strings, strings by code point, a shorter list first. */
function compareKeys(a: readonly Part[], b: readonly Part[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareParts(a[i] as Part, b[i] as Part);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareParts(a: Part, b: Part): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
  if (typeof b === 'number') return 1;
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = (left[i]?.codePointAt(0) as number) - (right[i]?.codePointAt(0) as number);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
