/**
 * Holds the open executions, and is the only module that changes one: updates the state in memory, writes it to
 * the store, and publishes the change after its flush. Rebuilt at each start from the store's open executions.
 */
import type { Clock } from '../lib/clock.js';
import { isSettled, type Execution } from '../model/execution.js';
import { targetKey } from '../model/source-name.js';
import type { Reader } from '../store/store.js';
import type { Stored, WriteQueue } from '../store/write-queue.js';
import { BookEntry, type EntryOwner, type SourceEntries } from './book-entry.js';
import type { ExecutionTimeouts } from './execution-timeouts.js';
import { applyMove, recover, type Move } from './moves.js';

export interface ApplyOptions {
  /** Written in the same transaction. */
  readonly alongside?: Stored;
  /** Runs after the flush. */
  readonly done?: () => void;
  /** Runs each time a commit of the change fails; the write is retried until it succeeds. */
  readonly failed?: () => void;
}

export interface ExecutionBookDeps {
  readonly store: Reader;
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly timeouts: Pick<ExecutionTimeouts, 'begin' | 'arm' | 'disarm' | 'due' | 'mayBeSentAgain'>;
  /** Called after the flush of each change, in order. */
  readonly onChange: (userId: string, before: Execution, after: Execution) => void;
}

export class ExecutionBook implements EntryOwner {
  readonly #deps: ExecutionBookDeps;
  readonly #entries = new Map<string, BookEntry>();
  /** By userId and source. */
  readonly #sources = new Map<string, SourceEntries>();

  constructor(deps: ExecutionBookDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads the open executions from the store and recovers them. */
  load(): void {
    let userId = '';
    for (const { key, record } of this.#deps.store.range('openExecutions')) {
      // Shares one string per user among its entries, to save memory.
      if (userId !== key[0]) userId = key[0];
      const isSent = record.status !== 'queued' || record.maySend;
      const entry = this.#entryOf(userId, record, isSent);
      this.#keep(entry);
      if (this.apply(entry, recover) === undefined) this.#deps.timeouts.arm(entry);
      entry.unload();
    }
  }

  /** Reads the open executions of a user that was imported from another gateway. */
  adopt(userId: string): void {
    for (const { record } of this.#deps.store.range('openExecutions', { prefix: [userId] })) {
      if (!this.#entries.has(record.executionId)) this.add(userId, record).unload();
    }
  }

  /** Adds a newly durable execution. */
  add(userId: string, execution: Execution): BookEntry {
    const entry = this.#entryOf(userId, execution, false);
    this.#keep(entry);
    this.#deps.timeouts.arm(entry);
    return entry;
  }

  /** @returns the entry of an execution of this user, open or settled. */
  find(userId: string, executionId: string): BookEntry | undefined {
    const entry = this.#entries.get(executionId);
    if (entry !== undefined) {
      return entry.userId === userId && this.#exists(entry) ? entry : undefined;
    }
    const record = readExecution(this.#deps.store, userId, executionId);
    return record === undefined ? undefined : this.#entryOf(userId, record, true);
  }

  /** Entries of one source, in the order of acceptance. */
  ofSource(userId: string, source: string): BookEntry[] {
    const found = this.#sources.get(`${userId} ${source}`);
    return found === undefined ? [] : [...found.entries].filter((entry) => this.#exists(entry));
  }

  /**
   * Applies a move: changes memory at once, queues the write, publishes after the flush.
   * @returns the changed execution; undefined when the move does not apply and nothing changed.
   */
  apply(entry: BookEntry, move: Move, options: ApplyOptions = {}): Execution | undefined {
    const before = entry.execution;
    const after = applyMove(before, move, this.#deps.clock.now());
    if (after === undefined) return undefined;
    entry.execution = after;
    this.#keep(entry);
    this.#deps.timeouts.arm(entry);
    entry.pendingWrites++;
    const { alongside } = options;
    this.#deps.writer.write({
      records: alongside === undefined ? [entry] : [entry, alongside],
      done: () => {
        entry.pendingWrites--;
        this.release(entry);
        this.#deps.onChange(entry.userId, before, after);
        options.done?.();
      },
      failed: options.failed,
    });
    return after;
  }

  /** Records which connection sends the submit frame. */
  setConnection(entry: BookEntry, connectionId: string): void {
    entry.connectionId = connectionId;
  }

  /** Drops an entry that is settled, durable and not to be redelivered. */
  release(entry: BookEntry): void {
    if (entry.pendingWrites > 0 || !isSettled(entry.execution)) return;
    if (!this.#deps.timeouts.mayBeSentAgain(entry)) this.#drop(entry);
  }

  /** Drops all entries of a deleted user. */
  forget(userId: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.userId === userId) this.#drop(entry);
    }
  }

  read({ userId, executionId }: BookEntry): Execution | undefined {
    return this.#deps.store.get('openExecutions', [userId, executionId]);
  }

  due(entry: BookEntry): void {
    if (this.#exists(entry)) this.#deps.timeouts.due(entry);
  }

  /** A user's records may be removed before `forget` is called. */
  #exists(entry: BookEntry): boolean {
    if (entry.load() !== undefined) return true;
    this.#drop(entry);
    return false;
  }

  #entryOf(userId: string, execution: Execution, isRecovered: boolean): BookEntry {
    const entry = new BookEntry(this, userId, execution, this.#deps.clock.monotonic(), isRecovered);
    this.#deps.timeouts.begin(entry);
    return entry;
  }

  #keep(entry: BookEntry): void {
    if (entry.source !== undefined) return;
    this.#entries.set(entry.executionId, entry);
    const name = `${entry.userId} ${targetKey(entry.execution) ?? ''}`;
    let found = this.#sources.get(name);
    if (found === undefined) {
      found = { name, entries: new Set() };
      this.#sources.set(name, found);
    }
    found.entries.add(entry);
    entry.source = found;
  }

  #drop(entry: BookEntry): void {
    this.#deps.timeouts.disarm(entry);
    const { source } = entry;
    if (source === undefined) return;
    this.#entries.delete(entry.executionId);
    source.entries.delete(entry);
    if (source.entries.size === 0) this.#sources.delete(source.name);
    entry.source = undefined;
  }
}

/** @returns the durable record of an execution. */
export function readExecution(
  store: Reader,
  userId: string,
  executionId: string,
): Execution | undefined {
  const key: [string, string] = [userId, executionId];
  return store.get('openExecutions', key) ?? store.get('finalExecutions', key);
}
