/**
 * Holds the open executions, and is the only module that changes one: updates the state in memory, writes it
 * to the store, and publishes the change after its flush. Applies what a cancel of all orders owes an
 * execution before any other change of it. Rebuilt at each start from the store.
 */
import { isDeleted } from '../auth/accounts.js';
import type { Brakes } from '../auth/brakes.js';
import type { Clock } from '../lib/clock.js';
import type { Steps } from '../lib/turn.js';
import type { Limits } from '../limits.js';
import type { RetentionClock } from '../retention/retention-clock.js';
import { isWaiting } from '../model/cancellation.js';
import { isSettled, type Execution, type Fill } from '../model/execution.js';
import type { Reader, Store } from '../store/store.js';
import type { Stored, WriteQueue } from '../store/write-queue.js';
import { isTold } from './announcer.js';
import { BookEntry, type EntryOwner, type SourceEntries } from './book-entry.js';
import { EntryIndex } from './entry-index.js';
import type { ExecutionTimeouts } from './execution-timeouts.js';
import type { Move } from './move.js';
import { applyMove, recover } from './moves.js';
import { OpenOrders } from './open-orders.js';
import type { OwedCancels } from './owed-cancels.js';
import { recordsPerStep, sendable } from './sendable.js';
import {
  fillsPerRead,
  firstFills,
  fromRecord,
  heldBy,
  listedFills,
  recordOf,
  toRecord,
} from './stored-execution.js';
import { isUnchangeable } from './unchangeable.js';

export interface ApplyOptions {
  /** Whether the move adds a fill, for which it needs all fills. */
  readonly withFills?: boolean;
  /** Written in the same transaction. */
  readonly alongside?: Stored;
  /** Runs after the flush. */
  readonly done?: () => void;
  /** Runs each time a commit of the change fails; the write is retried until it succeeds. */
  readonly failed?: () => void;
}

export interface SettleOptions extends ApplyOptions {
  readonly alongside: Stored;
}

export interface ExecutionBookDeps {
  readonly store: Reader & Pick<Store, 'isCopy'>;
  readonly writer: WriteQueue;
  readonly clock: Clock;
  readonly retentionClock: RetentionClock;
  readonly limits: Pick<Limits, 'executionRetentionDays' | 'openExecutionsPerUser'>;
  readonly brakes: Pick<Brakes, 'stopOf'>;
  readonly owed: Pick<OwedCancels, 'take' | 'decided'>;
  readonly timeouts: Pick<ExecutionTimeouts, 'begin' | 'arm' | 'disarm' | 'due' | 'mayBeSentAgain'>;
  /**
   * Called in order after the flush of each change that is announced, and of any change while a cancel waits. The
   * executions may lack the fills that have rows of their own.
   */
  readonly onChange: (entry: BookEntry, before: Execution, after: Execution) => void;
}

/**
 * Above this part of `openExecutionsPerUser`, an entry does not keep the fills that have rows. It is more than 1: the
 * ids that each execution keeps without room pass the limit, and each further fill would read all others again.
 */
const heldPartMax = 1.125;

export class ExecutionBook implements EntryOwner {
  readonly openOrders = new OpenOrders();
  readonly #deps: ExecutionBookDeps;
  readonly #index = new EntryIndex();
  /** Each open watch, with the user's executions that have changed since it began. */
  readonly #watches = new Set<{ readonly userId: string; readonly changed: Set<string> }>();
  /** The fills of the execution that was read ahead last: all that it had then. */
  #ahead: { readonly of: string; readonly fills: readonly Fill[] } | undefined;

  constructor(deps: ExecutionBookDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#index.size;
  }

  /** How many more executions, or fills of them, the user may hold in memory. A long text counts as fills. */
  roomOf(userId: string): number {
    const { openExecutionsPerUser } = this.#deps.limits;
    return Math.max(0, openExecutionsPerUser - this.#index.countOf(userId));
  }

  /**
   * Reads the open executions of all users, or of one, from the store, and recovers them, in steps. Between
   * two steps a timeout may change an execution that was read; nothing may change one that was not.
   * @returns the entries that a stop covers, for the caller to deny.
   */
  *load(ofUserId?: string): Generator<void, BookEntry[], void> {
    const { store, clock, brakes } = this.#deps;
    const stopped: BookEntry[] = [];
    let userId = '';
    let isGone = false;
    let read = 0;
    for (const { key, record } of sendable(store, clock.now(), ofUserId)) {
      if (++read % recordsPerStep === 0) yield;
      // Shares one string per user among its entries, to save memory.
      if (userId !== key[0]) {
        userId = key[0];
        isGone = isDeleted(store, userId);
      }
      // A change written after the purge would bring the record back.
      if (isGone) continue;
      const isSent = record.status !== 'queued' || record.maySend;
      const entry = this.#recover(userId, record, isSent);
      if (entry === undefined) continue;
      if (brakes.stopOf(userId, record.keyId) !== undefined) stopped.push(entry);
      entry.unload();
    }
    return stopped;
  }

  /**
   * Adds a stored execution to the book, as sent if it may have been sent. Does not change one that a cancel
   * of all orders covers, which changes them in slices: changing thousands here would hold up other users.
   * @returns undefined if the execution is settled and cannot be sent again.
   */
  #recover(userId: string, record: Execution, isRecovered: boolean): BookEntry | undefined {
    const { owed, timeouts, clock } = this.#deps;
    const entry = this.#entryFrom(userId, record, isRecovered);
    if (!this.#isForBook(entry)) return undefined;
    this.#keep(entry);
    const decided = owed.decided(userId, record);
    const isLeft = decided !== record && recover(decided, clock.now()) === undefined;
    if (isLeft || this.apply(entry, recover) === undefined) timeouts.arm(entry);
    // Drops the entry if its time to be sent again has just passed: without a deadline, nothing else does.
    this.release(entry);
    return entry;
  }

  /** Reads and recovers, in steps, the open executions of a user that is imported from another gateway. */
  *adopt(userId: string): Generator<void, void, void> {
    const { store, clock } = this.#deps;
    let read = 0;
    for (const { record } of sendable(store, clock.now(), userId)) {
      if (++read % recordsPerStep === 0) yield;
      const isKnown = this.#index.get(userId, record.executionId) !== undefined;
      if (!isKnown) this.#recover(userId, record, false)?.unload();
    }
  }

  /** Adds a newly durable execution. */
  add(userId: string, execution: Execution, sourceKey?: string): BookEntry {
    const entry = this.#entryOf(userId, execution, false);
    this.#keep(entry, sourceKey);
    this.#deps.timeouts.arm(entry);
    return entry;
  }

  /** @returns the entry of an execution, open or settled; undefined if there is none or it can change no more. */
  find(userId: string, executionId: string): BookEntry | undefined {
    const entry = this.#entryOfId(userId, executionId);
    if (entry !== undefined) this.settle(entry);
    return entry;
  }

  #entryOfId(userId: string, executionId: string): BookEntry | undefined {
    const entry = this.#index.get(userId, executionId);
    if (entry !== undefined) return this.exists(entry) ? entry : undefined;
    const { store, limits, retentionClock } = this.#deps;
    const record = recordOf(store, userId, executionId);
    if (record === undefined || isDeleted(store, userId)) return undefined;
    if (isUnchangeable(store, limits, userId, record, retentionClock.now())) return undefined;
    return this.#entryFrom(userId, record, true);
  }

  /**
   * Reads in steps the fills that an execution does not hold, so that a report of a further one need not.
   * @returns undefined if that takes no time: few orders have more fills than their record lists. `fills`: how many it
   * reads.
   */
  readAhead(
    userId: string,
    executionId: string,
  ): { readonly fills: number; readonly steps: Steps } | undefined {
    const entry = this.#index.get(userId, executionId);
    const record = entry ? entry.load() : recordOf(this.#deps.store, userId, executionId);
    if (record?.fillRows === undefined) return undefined;
    const fills = listedFills(record) - this.#fillsAhead(userId, record).length;
    return { fills, steps: this.#readFills(userId, record, fills) };
  }

  *#readFills(userId: string, record: Execution, missing: number): Steps {
    if (missing <= fillsPerRead) return;
    const fills = yield* firstFills(this.#deps.store, userId, record, listedFills(record));
    this.#ahead = { of: `${userId} ${record.executionId}`, fills };
  }

  #fillsAhead(userId: string, { executionId, fills }: Execution): readonly Fill[] {
    return this.#ahead?.of === `${userId} ${executionId}` ? this.#ahead.fills : fills;
  }

  /** The entries of one user, or of all, as they are when the walk reaches them. Loads none. */
  walk(userId?: string): Generator<BookEntry, void, void> {
    return this.#index.walk(userId);
  }

  /** The entries of all users by source, which is '' where an execution has none. Loads none. */
  sources(): SourceEntries[] {
    return this.#index.sources();
  }

  /** The entries of one source, in the order of acceptance. Loads none. */
  ofSource(userId: string, source: string): BookEntry[] {
    return this.#index.ofSource(userId, source);
  }

  countOfSource(userId: string, source: string): number {
    return this.#index.countOfSource(userId, source);
  }

  /** Collects in `changed` the ids of the user's executions that change, until `end` is called. */
  watch(userId: string): { readonly changed: ReadonlySet<string>; readonly end: () => void } {
    const watch = { userId, changed: new Set<string>() };
    this.#watches.add(watch);
    return { changed: watch.changed, end: () => void this.#watches.delete(watch) };
  }

  /** Applies the move that the execution is owed. @returns whether there was one. */
  settle(entry: BookEntry): boolean {
    const owed = this.#deps.owed.take(entry.userId, entry.executionId);
    if (owed !== undefined) this.apply(entry, owed);
    return owed !== undefined;
  }

  /**
   * Applies a move: changes memory at once, queues the write, publishes after the flush. Looks up an entry
   * that has left the book since it was found, so that the move applies to the current state.
   * @returns the changed execution; undefined when the move does not apply and nothing changed.
   */
  apply(found: BookEntry, move: Move, options: ApplyOptions = {}): Execution | undefined {
    const entry = found.source === null ? this.find(found.userId, found.executionId) : found;
    if (entry === undefined) return undefined;
    this.settle(entry);
    const before = options.withFills === true ? entry.execution : entry.record;
    const after = this.#move(entry, before, move);
    if (after === undefined) {
      this.#holdLess(entry);
      return undefined;
    }
    const { alongside } = options;
    this.#deps.writer.write({
      records: alongside === undefined ? [entry] : [entry, alongside],
      done: isTold(before, after)
        ? this.#whenTold(entry, before, after, options.done)
        : this.#whenQuiet(entry, listedFills(after), isWaiting(after.cancel), options.done),
      failed: options.failed,
    });
    return after;
  }

  /** Announces the fills of the record alone: a list of thousands takes milliseconds to encode. */
  #whenTold(entry: BookEntry, before: Execution, after: Execution, done?: () => void): () => void {
    const was = toRecord(before);
    const is = toRecord(after);
    return () => {
      this.#written(entry, was, is);
      done?.();
    };
  }

  /** Keeps no state of a change that is not announced: any number may wait while the disk refuses writes. */
  #whenQuiet(entry: BookEntry, fills: number, waits: boolean, done?: () => void): () => void {
    return () => {
      const { record } = entry;
      this.#flushed(entry, fills);
      if (waits) this.#deps.onChange(entry, record, record);
      done?.();
    };
  }

  /** Applies what these executions are owed, in one transaction. */
  settleAll(userId: string, executionIds: Iterable<string>, options: SettleOptions): void {
    const records: Stored[] = [options.alongside];
    const changes: { entry: BookEntry; before: Execution; after: Execution }[] = [];
    for (const executionId of executionIds) {
      const move = this.#deps.owed.take(userId, executionId);
      const entry = move && this.#entryOfId(userId, executionId);
      const before = entry?.record;
      const after = entry && before && this.#move(entry, before, move);
      if (entry === undefined || before === undefined || after === undefined) continue;
      records.push(entry);
      changes.push({ entry, before: toRecord(before), after: toRecord(after) });
    }
    this.#deps.writer.write({
      records,
      done: () => {
        for (const { entry, before, after } of changes) this.#written(entry, before, after);
        options.done?.();
      },
      failed: options.failed,
    });
  }

  #move(entry: BookEntry, before: Execution, move: Move): Execution | undefined {
    const after = applyMove(before, move, this.#deps.clock.now());
    if (after === undefined) return undefined;
    entry.execution = after;
    this.#tellWatches(entry);
    this.#keep(entry);
    this.openOrders.update(entry, after);
    this.#deps.timeouts.arm(entry);
    entry.pendingWrites++;
    return after;
  }

  #tellWatches({ userId, executionId }: BookEntry): void {
    for (const watch of this.#watches) if (watch.userId === userId) watch.changed.add(executionId);
  }

  /** The write of a change is flushed. */
  #written(entry: BookEntry, before: Execution, after: Execution): void {
    this.#flushed(entry, listedFills(after));
    this.#deps.onChange(entry, before, after);
  }

  #flushed(entry: BookEntry, fills: number): void {
    entry.pendingWrites--;
    entry.durableFills = fills;
    this.release(entry);
    this.#holdLess(entry);
  }

  /** An order that was unknown comes back to the book with all of its fills, for which its user may have no room. */
  #holdLess(entry: BookEntry): void {
    if (entry.held === 0 || entry.durableFills < listedFills(entry.record)) return;
    const heldMax = this.#deps.limits.openExecutionsPerUser * heldPartMax;
    if (this.#index.countOf(entry.userId) <= heldMax) return;
    entry.unloadFills();
    this.#index.count(entry, heldBy(entry.record));
  }

  /** Records which connection sends the submit frame. */
  setConnection(entry: BookEntry, connectionId: string): void {
    entry.connectionId = connectionId;
  }

  /** Drops an entry that is settled, durable and not to be redelivered. */
  release(entry: BookEntry): void {
    if (entry.source === null || entry.pendingWrites > 0) return;
    if (!isSettled(entry.record)) return;
    // If the wall clock was set back since the last change, the entry may still need its deadline.
    this.#deps.timeouts.arm(entry);
    if (!this.#isForBook(entry)) this.#drop(entry);
  }

  #isForBook(entry: BookEntry): boolean {
    return !isSettled(entry.record) || this.#deps.timeouts.mayBeSentAgain(entry);
  }

  /** Drops all entries of a deleted user. */
  forget(userId: string): void {
    for (const entry of this.#index.walk(userId)) this.#drop(entry);
    this.#ahead = undefined;
  }

  read({ userId, executionId }: BookEntry): Execution | undefined {
    return this.#deps.store.get('openExecutions', [userId, executionId]);
  }

  withFills(entry: BookEntry, record: Execution): Execution {
    const { userId } = entry;
    const ahead = this.#fillsAhead(userId, record);
    const execution = fromRecord(this.#deps.store, userId, record, ahead);
    this.#index.count(entry, heldBy(execution));
    return execution;
  }

  due(entry: BookEntry): void {
    if (this.exists(entry)) this.#deps.timeouts.due(entry);
  }

  /** Drops an entry without its record: a user's records may be removed before `forget` is called. */
  exists(entry: BookEntry): boolean {
    if (entry.load() !== undefined) return true;
    this.#drop(entry);
    return false;
  }

  #entryFrom(userId: string, record: Execution, isRecovered: boolean): BookEntry {
    const entry = this.#entryOf(userId, record, isRecovered);
    // If `fillRows` is absent, the record may hold all fills, as in an earlier version: none has a row yet.
    if (record.fillRows !== undefined) entry.durableFills = listedFills(record);
    return entry;
  }

  #entryOf(userId: string, record: Execution, isRecovered: boolean): BookEntry {
    const entry = new BookEntry(this, userId, record, this.#deps.clock.monotonic(), isRecovered);
    this.#deps.timeouts.begin(entry);
    return entry;
  }

  #keep(entry: BookEntry, sourceKey?: string): void {
    if (this.#index.add(entry, sourceKey)) this.openOrders.update(entry, entry.record);
    this.#index.count(entry, heldBy(entry.record));
  }

  #drop(entry: BookEntry): void {
    this.#deps.timeouts.disarm(entry);
    if (this.#index.remove(entry)) this.openOrders.update(entry, undefined);
  }
}
