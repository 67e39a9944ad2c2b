/**
 * The port behind which everything durable lives. Two implementations keep its promises, both held
 * to them by one suite, `test/contract/store.ts`: `lmdb-store` and the in-memory double of the tests.
 */
import type { Collection, KeyOf, RecordOf } from './key-layout.js';
import type { RemovedKeys, SweepOrder, Swept } from './sweeper.js';

export interface Reader {
  /** Sees only what is on disk: never a write whose promise has not resolved. */
  get<C extends Collection>(collection: C, key: KeyOf<C>): RecordOf<C> | undefined;
  /** A snapshot of a stretch of keys, read to its end at once: give `limit` where it may be long. */
  range<C extends Collection>(collection: C, range?: Range<C>): Entry<C>[];
  /** As `range`, without reading the records. */
  keys<C extends Collection>(collection: C, range?: Range<C>): KeyOf<C>[];
}

export interface Range<C extends Collection> {
  /** Only keys that begin with these parts (for array keys). */
  readonly prefix?: readonly (string | number)[];
  /** First key, inclusive; with `reverse` the highest one. */
  readonly start?: KeyOf<C>;
  /** Where to stop, exclusive in both directions. */
  readonly end?: KeyOf<C>;
  readonly reverse?: boolean;
  readonly limit?: number;
}

export interface Entry<C extends Collection> {
  readonly key: KeyOf<C>;
  readonly record: RecordOf<C>;
}

export interface IndexState {
  /** Milliseconds since the oldest write that the index lacks was durable; 0 when it lacks none. */
  readonly lagMs: number;
  /** Bytes of memory that hold the writes it lacks. */
  readonly waitingBytes: number;
  /** Why the last try to fill it failed; undefined when it succeeded. */
  readonly failure: string | undefined;
}

export interface Writer {
  put<C extends Collection>(collection: C, key: KeyOf<C>, record: RecordOf<C>): void;
  remove<C extends Collection>(collection: C, key: KeyOf<C>): void;
}

export interface TransactOptions {
  /**
   * For a small write that must not wait for space, such as a halt: it may use the disk's reserve, at most two
   * files of the log, one to write to and one for the halt after the next start.
   */
  readonly usesReserve?: boolean;
}

export interface Store extends Reader {
  /**
   * All that `fill` puts and removes happens, or none of it does. Writes of the same and of other turns
   * share group commits, in the order of the calls. `fill` runs at once.
   * @returns a promise that resolves after the flush, never before that of an earlier write. It rejects with
   * `WriteRefused` when nothing was written and nothing will be, and with another `StoreFailure` when the commit
   * failed: the outcome is then unknown until a later write has resolved, after which `get` shows it.
   */
  write(fill: (batch: Writer) => void): Promise<void>;
  /**
   * Read, decide, write as one transaction that excludes every other write. `work` is synchronous and runs
   * at once; inside it, reads see every write before it, on disk or not, and its own. When it throws, nothing is
   * written and the promise rejects with that error. Resolves when what it read and wrote is on disk.
   */
  transact<T>(work: (transaction: Reader & Writer) => T, options?: TransactOptions): Promise<T>;
  /**
   * Lets the sweeper work through one slice, beside all other writes; it may not see those of the last seconds.
   * Call it for one slice at a time. Resolves when readers no longer see what the slice has removed.
   */
  sweep(order: SweepOrder): Promise<{ readonly swept: Swept; readonly removed: RemovedKeys }>;
  /** Writes a consistent copy of the store into an existing directory, while serving. */
  backup(directory: string): Promise<void>;
  /** Whether it is a copy that no gateway has started with: signals queued in it may have been sent since. */
  isCopy(): boolean;
  /** Call it when the writes that follow from `isCopy` are on disk: the store is an ordinary one from then on. */
  endCopy(): void;
  /** Why a write would be refused now, before it reaches the disk; undefined when it would not. */
  refusal(options?: TransactOptions): WriteRefused | undefined;
  /** Milliseconds since the begin of the oldest commit that is under way; 0 when none is. */
  commitAgeMs(): number;
  /** How far the index is behind the writes that are durable. */
  index(): IndexState;
  /** Bytes of data.mdb and of the commits that it lacks, without the files of the log. */
  sizeBytes(): number;
  /** Waits for writes under way; a write or transact after it rejects. */
  close(): Promise<void>;
}

/** Works through one slice of a cycle in one transaction, which removes nothing when it throws. */
export type Sweeper = (index: Reader & Writer, order: SweepOrder) => Swept;

/** A commit failed or its flush did: the disk is full, broken or gone. */
export class StoreFailure extends Error {
  override readonly name: string = 'StoreFailure';
}

/** The write never reached the disk, and never will: it is known not to have happened. */
export class WriteRefused extends StoreFailure {
  override readonly name = 'WriteRefused';
}
