/**
 * The store port in memory, with the real one's manners: writes of a turn are one commit, one commit is under
 * way, nothing is visible before its promise resolves, records are copies, keys sort alike. Commits can be
 * made to fail. It knows nothing of the real store's encoding, so that the contract suite compares two ways
 * of getting the order right.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { createSweeper } from '../../src/retention/sweeper.js';
import { assertKeyFits } from '../../src/store/key-encoding.js';
import type { Collection, KeyOf, RecordOf } from '../../src/store/key-layout.js';
import {
  type Entry,
  type Range,
  type Reader,
  type Store,
  StoreFailure,
  type TransactOptions,
  type Writer,
  WriteRefused,
} from '../../src/store/store.js';
import type { RemovedKeys } from '../../src/store/sweeper.js';

type Part = string | number;
interface Row {
  readonly parts: readonly Part[];
  readonly key: unknown;
  readonly text: string;
}
/** Never changed in place once it is committed or enqueued: a rollback is the old map. */
type Rows = Map<Collection, readonly Row[]>;

interface Group {
  /** As of its newest write. */
  rows: Rows;
  readonly begunAt: number;
  readonly settled: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface MemoryStore extends Store {
  /**
   * The next `count` commits reject. `kept` makes their writes visible all the same: that is what a
   * disk does which fails after the data has arrived.
   */
  failNextCommits(count: number, fate?: 'lost' | 'kept'): void;
  /** Whether writes are refused before they are tried, as a disk without its reserve does. */
  refuseWrites(refused: boolean): void;
  /** Commits hang from now on. @returns ends that. */
  hang(): () => void;
  /** `listen` replaces the last one. It hears of each commit and refusal, before the caller that asked for it. */
  watchCommits(listen: (succeeded: boolean) => void): void;
}

export function createMemoryStore(clock: Pick<Clock, 'monotonic'> = systemClock): MemoryStore {
  let committed: Rows = new Map();
  let filling: Group | undefined;
  let underWay: Group | undefined;
  const sweeper = createSweeper(clock);
  const idle: (() => void)[] = [];
  let failures = 0;
  let failuresKeep = false;
  let closed = false;
  let refused = false;
  let hanging: Promise<void> | undefined;
  let onCommit: ((succeeded: boolean) => void) | undefined;

  /** What a transaction sees now. */
  const newest = (): Rows => (filling ?? underWay)?.rows ?? committed;

  function enqueue(rows: Rows): Promise<void> {
    if (filling === undefined) {
      let resolve!: () => void;
      let reject!: (error: unknown) => void;
      const settled = new Promise<void>((resolved, rejected) => {
        [resolve, reject] = [resolved, rejected];
      });
      filling = { rows, begunAt: clock.monotonic(), settled, resolve, reject };
      if (underWay === undefined) setImmediate(begin);
    }
    filling.rows = rows;
    return filling.settled;
  }

  function begin(): void {
    if (underWay !== undefined || filling === undefined) return;
    const group = filling;
    underWay = group;
    filling = undefined;
    if (hanging === undefined) end(group);
    else void hanging.then(() => end(group));
  }

  function end(group: Group): void {
    const fails = failures > 0;
    if (fails) failures--;
    if (!fails || failuresKeep) committed = group.rows;
    underWay = undefined;
    if (fails) {
      const waiting = filling;
      filling = undefined;
      waiting?.reject(new WriteRefused('the commit before it failed: simulated'));
      group.reject(new StoreFailure('the commit failed: simulated'));
    } else {
      group.resolve();
    }
    // A write that may use the reserve does not prove that the disk has space again.
    onCommit?.(!fails && !refused);
    if (filling !== undefined) setImmediate(begin);
    else for (const resolve of idle.splice(0)) resolve();
  }

  function assertOpen(): void {
    if (closed) throw new WriteRefused('the store is closed');
  }

  function assertWritable(options?: TransactOptions): void {
    const refusal = refusalNow(options);
    if (refusal !== undefined) throw refusal;
  }

  function refusalNow({ usesReserve = false }: TransactOptions = {}): WriteRefused | undefined {
    if (closed) return new WriteRefused('the store is closed');
    if (!refused || usesReserve) return undefined;
    onCommit?.(false);
    return new WriteRefused('the disk is full: simulated');
  }

  const reader = readerOf(() => {
    assertOpen();
    return committed;
  });

  const store: MemoryStore = {
    ...reader,

    async write(fill) {
      assertWritable();
      const rows: Rows = new Map(newest());
      const writer = writerTo(rows);
      fill(writer);
      await (writer.hasWritten() ? enqueue(rows) : (filling ?? underWay)?.settled);
    },

    async transact<T>(
      work: (transaction: Reader & Writer) => T,
      options?: TransactOptions,
    ): Promise<T> {
      assertWritable(options);
      const rows: Rows = new Map(newest());
      const writer = writerTo(rows);
      const result = work({ ...readerOf(() => rows), ...writer });
      if (result instanceof Promise) throw new Error('the work of a transaction is synchronous');
      await (writer.hasWritten() ? enqueue(rows) : (filling ?? underWay)?.settled);
      return result;
    },

    async sweep(order) {
      const removed: { [C in Collection]?: unknown[] } = {};
      const swept = await store.transact((transaction) => {
        const remove = (collection: Collection, key: KeyOf<Collection>): void => {
          (removed[collection] ??= []).push(copyOf(key));
          transaction.remove(collection, key);
        };
        return sweeper({ ...transaction, remove }, order);
      });
      return { swept, removed: removed as RemovedKeys };
    },

    async backup(directory) {
      assertOpen();
      await writeFile(join(directory, 'memory-store.json'), JSON.stringify([...committed]));
    },

    isCopy: () => false,
    endCopy: () => undefined,
    refusal: refusalNow,
    index: () => ({ lagMs: 0, waitingBytes: 0, failure: undefined }),
    commitAgeMs() {
      const oldest = underWay ?? filling;
      return oldest === undefined ? 0 : clock.monotonic() - oldest.begunAt;
    },
    sizeBytes: () =>
      [...committed.values()].flat().reduce((bytes, row) => bytes + row.text.length, 0),

    async close() {
      closed = true;
      if (newest() !== committed) await new Promise<void>((resolve) => idle.push(resolve));
    },

    failNextCommits(count, fate = 'lost') {
      failures = count;
      failuresKeep = fate === 'kept';
    },

    refuseWrites(now) {
      refused = now;
    },

    hang() {
      let release!: () => void;
      hanging = new Promise((resolve) => (release = resolve));
      return () => {
        hanging = undefined;
        release();
      };
    },

    watchCommits(listen) {
      onCommit = listen;
    },
  };
  return store;
}

function writerTo(rows: Rows): Writer & { hasWritten: () => boolean } {
  let hasWritten = false;
  return {
    put(collection, key, record) {
      assertKeyFits(key);
      replace(rows, collection, key, JSON.stringify(record));
      hasWritten = true;
    },
    remove(collection, key) {
      replace(rows, collection, key, undefined);
      hasWritten = true;
    },
    hasWritten: () => hasWritten,
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
  const added = text === undefined ? [] : [{ parts, key: copyOf(key), text }];
  rows.set(collection, old.toSpliced(at, isThere ? 1 : 0, ...added));
}

function readerOf(rows: () => Rows): Reader {
  const all = (collection: Collection): readonly Row[] => rows().get(collection) ?? [];
  return {
    get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined {
      const parts = partsOf(key);
      const row = all(collection)[firstFrom(all(collection), parts)];
      if (row === undefined || compareKeys(row.parts, parts) !== 0) return undefined;
      return JSON.parse(row.text) as RecordOf<C>;
    },

    keys: <C extends Collection>(collection: C, range: Range<C> = {}) =>
      rowsOf(all(collection), range).map(({ key }) => copyOf(key as KeyOf<C>)),

    range: <C extends Collection>(collection: C, range: Range<C> = {}): Entry<C>[] =>
      rowsOf(all(collection), range).map(({ key, text }) => ({
        key: copyOf(key as KeyOf<C>),
        record: JSON.parse(text) as RecordOf<C>,
      })),
  };
}

/** The rows of a range, in its order. */
function rowsOf<C extends Collection>(all: readonly Row[], range: Range<C>): readonly Row[] {
  const { prefix = [], start, end, limit = Infinity, reverse = false } = range;
  const [from, until] = reverse ? [end, start] : [start, end];
  // Forwards `start` is in the range and `end` is not, and so it is backwards.
  const bound = (key: KeyOf<C>) => (reverse ? firstBehind : firstFrom)(all, partsOf(key));
  const low = Math.max(from === undefined ? 0 : bound(from), firstFrom(all, prefix));
  const high = Math.min(
    until === undefined ? all.length : bound(until),
    firstWhere(all, ({ parts }) => compareKeys(parts.slice(0, prefix.length), prefix) > 0),
  );
  const count = Math.max(0, Math.min(limit, high - low));
  return reverse ? all.slice(high - count, high).reverse() : all.slice(low, low + count);
}

function partsOf(key: KeyOf<Collection>): readonly Part[] {
  return typeof key === 'object' ? [...key] : [key];
}

function copyOf<K extends KeyOf<Collection>>(key: K): K {
  return (typeof key === 'object' ? [...key] : key) as K;
}

/** Index of the first row that is not before the key. */
function firstFrom(rows: readonly Row[], key: readonly Part[]): number {
  return firstWhere(rows, ({ parts }) => compareKeys(parts, key) >= 0);
}

/** Index of the first row behind the key. */
function firstBehind(rows: readonly Row[], key: readonly Part[]): number {
  return firstWhere(rows, ({ parts }) => compareKeys(parts, key) > 0);
}

/** Index of the first row that passes; the rows that pass come last. */
function firstWhere(rows: readonly Row[], passes: (row: Row) => boolean): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(rows[middle] as Row)) high = middle;
    else low = middle + 1;
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
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  // The difference may lie in the second unit of a code point, which begins one unit before.
  if (at > 0) at--;
  const [left, right] = [Array.from(a.slice(at, at + 4)), Array.from(b.slice(at, at + 4))];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = (left[i]?.codePointAt(0) as number) - (right[i]?.codePointAt(0) as number);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
