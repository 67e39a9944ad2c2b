/**
 * Sends submit and cancel frames to plugins. Submits are sent in the order of acceptance, at once if the
 * plugin is connected, otherwise after it reconnects, never after the TTL or a stop; and only after `maySend`
 * of the execution is durable. Owns which connections have a backlog, of submits or of cancels, until they
 * close.
 */
import type { Clock } from '../lib/clock.js';
import { requestIdOfExecution } from '../lib/ids.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import { Queue } from '../lib/queue.js';
import { isWaiting, type Cancellation } from '../model/cancellation.js';
import type { Execution } from '../model/execution.js';
import type { Capability, SignalRequest } from '../model/records.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import type { ExecutionTimeouts } from '../signals/execution-timeouts.js';
import { dispatchCancel, dropCancel } from '../signals/cancel-moves.js';
import { allowSending, dispatch, withholdSending } from '../signals/moves.js';
import type { OwedCancels } from '../signals/owed-cancels.js';
import type { Stops } from '../signals/stops.js';
import type { Reader } from '../store/store.js';
import type { WriteQueue } from '../store/write-queue.js';
import { BacklogPace } from './backlog-pace.js';
import type { Registry } from './registry.js';
import type { Source, SourceConnection } from './source.js';
import { submitFrame } from './submit-frame.js';

export interface OutboxDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly writer: Pick<WriteQueue, 'write' | 'isHeld'>;
  readonly timeouts: Pick<ExecutionTimeouts, 'maySend' | 'maySendCancelAgain'>;
  readonly registry: Registry;
  readonly stops: Pick<Stops, 'holds'>;
  readonly owed: Pick<OwedCancels, 'awaitDecision' | 'isDeciding'>;
  readonly submitsSent: Counter;
  /** Time from acceptance to the written frame, in seconds. */
  readonly dispatchLatency: Histogram;
}

/** What is yet to be sent on a connection. */
interface Backlog {
  /** Whether it goes on at the end of backpressure; otherwise by itself, after a flush or in a later turn. */
  isCongested: boolean;
}

/** In the order of acceptance. A set of hundreds of thousands would take tens of milliseconds to make. */
interface Submits extends Backlog {
  /** The slice that is to be sent once the marks of all are durable. */
  next: BookEntry[];
  /** Those that may no longer be sent are passed over in their turn. */
  readonly later: Queue<BookEntry>;
}

interface Cancels extends Backlog {
  readonly entries: Set<BookEntry>;
}

/** Frames sent in one turn of the event loop: a few milliseconds, with their marks and flushes. */
const framesPerTurn = 128;
/** Entries looked at for them in one turn. One that cannot be sent costs little. */
const looksPerTurn = 1_024;

export class Outbox {
  readonly #deps: OutboxDeps;
  /** Connections with a backlog; newly accepted executions join it, to keep the order. */
  readonly #backlogs = new WeakMap<SourceConnection, Submits>();
  /** Connections with cancels that wait; further ones that have to wait for their terminal join them. */
  readonly #cancelBacklogs = new WeakMap<SourceConnection, Cancels>();
  readonly #pace: BacklogPace;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#pace = new BacklogPace(deps.writer);
  }

  /** Sends newly accepted executions to the connected plugins. */
  dispatch(request: SignalRequest, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      if (this.#deps.stops.holds(entry)) continue;
      const source = this.#sourceOf(entry);
      const connection = connectionFor('submit', source);
      const backlog = connection && this.#backlogs.get(connection);
      if (source === undefined || connection === undefined) this.#keepUnsent(entry);
      else if (backlog !== undefined) backlog.later.push(entry);
      else if (this.#mustWait(connection, entry)) {
        this.#addBacklog(connection, [entry]);
        this.#sendLater(connection, source);
      } else this.#send(connection, entry, request);
    }
  }

  /** A burst must wait, too, or it would close the connection of a plugin that reads over a slow link. */
  #mustWait(connection: SourceConnection, { userId, record }: BookEntry): boolean {
    return connection.isCongested || !record.maySend || this.#deps.owed.isDeciding(userId);
  }

  hasBacklog(connection: SourceConnection): boolean {
    return this.#backlogs.has(connection);
  }

  /**
   * After a hello: collects the commands that are neither acknowledged nor expired. New ones wait behind them.
   * Commands whose capability the plugin now lacks wait until their time is over.
   * @returns begins the redelivery.
   */
  resume(connection: SourceConnection, source: Source): () => void {
    // Its welcome may have closed it as too slow: nothing is sent on it, nor marked as sent.
    if (connection.isClosed) return () => undefined;
    const entries = this.#deps.book.ofSource(source.userId, source.key);
    const begins: (() => void)[] = [];
    const undelivered = source.capabilities.includes('submit')
      ? entries.filter(mayBeUndelivered)
      : [];
    if (undelivered.length > 0) {
      this.#addBacklog(connection, undelivered);
      begins.push(() => this.#sendLater(connection, source));
    }
    if (source.capabilities.includes('cancel')) {
      const cancels = new Set(this.#undeliveredCancels(entries));
      this.#cancelBacklogs.set(connection, { entries: cancels, isCongested: false });
      begins.push(() => {
        // A change that the hello has told of sends them when it is on disk.
        for (const entry of cancels) {
          if (entry.pendingWrites > 0 && isWaiting(entry.record.cancel)) cancels.delete(entry);
        }
        this.#sendCancelsLater(connection, source, cancels);
      });
    }
    return () => {
      for (const begin of begins) begin();
    };
  }

  /** The send buffer has drained: continues the backlog. */
  drained(connection: SourceConnection, source: Source): void {
    const submits = this.#backlogs.get(connection);
    if (submits?.isCongested === true) this.#sendLater(connection, source);
    const cancels = this.#cancelBacklogs.get(connection);
    if (cancels?.isCongested === true) this.#sendCancelsLater(connection, source, cancels.entries);
  }

  /** While the disk refuses, what waits for it holds the connection, but must not hold a backlog for each hello. */
  closed(connection: SourceConnection, userId: string): void {
    const backlog = this.#backlogs.get(connection);
    this.#backlogs.delete(connection);
    this.#cancelBacklogs.delete(connection);
    if (backlog !== undefined && !this.#deps.writer.isHeld) this.#withholdLater(userId, backlog);
  }

  /** Slices that wait do not run: the store closes. */
  stop(): void {
    this.#pace.stop();
  }

  /** Sends a newly durable cancel, or marks it `not_sent` if the plugin is not connected. */
  sendCancel(entry: BookEntry): void {
    const { record } = entry;
    const { cancel } = record;
    if (cancel?.status !== 'requested') return;
    const connection = connectionFor('cancel', this.#sourceOf(entry));
    // An earlier cancel of the order that waits is replaced by this one, which must not be sent twice.
    if (connection !== undefined) this.#cancelBacklogs.get(connection)?.entries.delete(entry);
    const isSent = connection !== undefined && sendCancelFrame(connection, record, cancel);
    this.#deps.book.apply(entry, isSent ? dispatchCancel : dropCancel);
  }

  /**
   * Sends a cancel that waits for its terminal, if the terminal can take it now. Call it when a change of the
   * execution is durable that may have ended the wait: a request, an acknowledgement, a report, a timeout.
   */
  sendWaitingCancel(entry: BookEntry): void {
    if (!isWaiting(entry.record.cancel)) return;
    const source = this.#sourceOf(entry);
    const connection = connectionFor('cancel', source);
    if (source === undefined || connection === undefined) return;
    const backlog = this.#cancelBacklogs.get(connection);
    if (backlog === undefined) this.#sendCancels(connection, source, new Set([entry]));
    else backlog.entries.add(entry);
  }

  #addBacklog(connection: SourceConnection, entries: BookEntry[]): void {
    this.#backlogs.set(connection, { next: [], later: new Queue(entries), isCongested: false });
  }

  /** The slices find the backlog by its connection. */
  #sendLater(connection: SourceConnection, source: Source): void {
    const backlog = this.#backlogs.get(connection);
    if (backlog === undefined) return;
    backlog.isCongested = false;
    this.#pace.add(source.userId, () => {
      const rest = this.#backlogs.get(connection);
      return rest === undefined ? 0 : this.#sendSome(connection, source, rest);
    });
  }

  #sendCancelsLater(connection: SourceConnection, source: Source, entries: Set<BookEntry>): void {
    this.#cancelBacklogs.set(connection, { entries, isCongested: false });
    this.#pace.add(source.userId, () => {
      const backlog = this.#cancelBacklogs.get(connection);
      return backlog === undefined ? 0 : this.#sendCancels(connection, source, backlog.entries);
    });
  }

  /**
   * Sends a slice of the backlog, oldest first, once the `maySend` marks of all its executions are durable. Waits
   * for a cancel of all orders that is not on disk, and pauses under backpressure: otherwise a long backlog would
   * close the connection as too slow.
   * @returns how many executions it has changed.
   */
  #sendSome(connection: SourceConnection, source: Source, backlog: Submits): number {
    const { book, writer, owed, stops } = this.#deps;
    const goOn = (): void => this.#sendLater(connection, source);
    if (owed.awaitDecision(source.userId, goOn)) return 0;
    const next = this.#nextOf(connection, backlog);
    backlog.next = next;
    const unmarked = next.filter((entry) => !isMarkDurable(entry));
    if (unmarked.length > 0) {
      for (const entry of unmarked) book.apply(entry, allowSending);
      // Follows the marks, also those that an earlier connection has asked for.
      writer.write({
        records: [],
        done: () => {
          if (this.hasBacklog(connection)) goOn();
          else for (const entry of unmarked) this.#withhold(entry);
        },
      });
      return unmarked.length;
    }
    let sent = 0;
    for (let entry = next[0]; entry !== undefined; entry = next[0]) {
      backlog.isCongested = mustPause(connection);
      if (backlog.isCongested) return sent;
      next.shift();
      sent++;
      if (!stops.holds(entry)) this.#send(connection, entry);
    }
    if (backlog.later.length > 0) goOn();
    else this.#backlogs.delete(connection);
    return sent;
  }

  /** @returns the next executions that may be sent; drops those before them that may not. */
  #nextOf(connection: SourceConnection, { next, later }: Submits): BookEntry[] {
    const found = next.filter((entry) => this.#isUndelivered(connection, entry));
    for (let looks = 0; found.length < framesPerTurn && looks < looksPerTurn; looks++) {
      const entry = later.shift();
      if (entry === undefined) break;
      if (this.#isUndelivered(connection, entry)) found.push(entry);
    }
    return found;
  }

  /** The records of an entry that has waited in a backlog may be gone with their user. */
  #isUndelivered({ connectionId }: SourceConnection, entry: BookEntry): boolean {
    const { book, timeouts } = this.#deps;
    // First of all, since it loads nothing.
    if (entry.connectionId === connectionId || !book.exists(entry)) return false;
    return isUndelivered(entry.record) && timeouts.maySend(entry);
  }

  /**
   * After a hello: cancels that were sent and not acknowledged, and durable ones that wait. An unloaded order is
   * queued, and a queued one has no cancel.
   */
  #undeliveredCancels(entries: readonly BookEntry[]): BookEntry[] {
    const { timeouts } = this.#deps;
    return entries.filter((entry) => {
      if (!entry.isLoaded) return false;
      const { record } = entry;
      return isWaiting(record.cancel) || timeouts.maySendCancelAgain(record);
    });
  }

  /** Sends a slice of the cancels. Pauses under backpressure, and returns, as `#sendSome`. */
  #sendCancels(connection: SourceConnection, source: Source, entries: Set<BookEntry>): number {
    const { book, timeouts } = this.#deps;
    let frames = 0;
    for (const entry of entries) {
      if (mustPause(connection)) {
        this.#cancelBacklogs.set(connection, { entries, isCongested: true });
        return frames;
      }
      if (frames === framesPerTurn) {
        this.#sendCancelsLater(connection, source, entries);
        return frames;
      }
      entries.delete(entry);
      const { record } = entry;
      const { cancel } = record;
      if (cancel === null) continue;
      const waits = isWaiting(cancel);
      if (waits ? !mayTakeCancel(connection, entry) : !timeouts.maySendCancelAgain(record)) {
        continue;
      }
      if (!sendCancelFrame(connection, record, cancel)) return frames;
      frames++;
      if (waits) book.apply(entry, dispatchCancel);
    }
    this.#cancelBacklogs.delete(connection);
    return frames;
  }

  #send(connection: SourceConnection, entry: BookEntry, request?: SignalRequest): void {
    const { book, clock, timeouts, submitsSent, dispatchLatency } = this.#deps;
    if (connection.isClosed || !timeouts.maySend(entry)) return;
    book.setConnection(entry, connection.connectionId);
    const found = request ?? this.#requestOf(entry);
    if (found === undefined) return;
    if (!connection.sendText(submitFrame(found, entry.record))) return this.#keepUnsent(entry);
    submitsSent.add();
    if (book.apply(entry, dispatch) === undefined) return;
    dispatchLatency.observe((clock.monotonic() - entry.enteredAt) / 1000);
  }

  /** What was accepted for a connected terminal, and found none, waits like what was accepted without a connection. */
  #keepUnsent(entry: BookEntry): void {
    if (!entry.record.maySend) entry.unload();
    else this.#deps.book.apply(entry, withholdSending, { done: () => entry.unload() });
  }

  /** Withholds, in slices, what has waited for a connection that has closed. */
  #withholdLater(userId: string, backlog: Submits): void {
    this.#pace.add(userId, () => {
      const { next, later } = backlog;
      let withheld = 0;
      for (let looks = 0; withheld < framesPerTurn && looks < looksPerTurn; looks++) {
        const entry = next.shift() ?? later.shift();
        if (entry === undefined) return withheld;
        if (this.#withhold(entry)) withheld++;
      }
      this.#withholdLater(userId, backlog);
      return withheld;
    });
  }

  /** @returns whether the entry had a mark that is durable, and no connection is to send it. */
  #withhold(entry: BookEntry): boolean {
    // An unloaded entry has no mark. While the disk refuses, each reconnect would add a write for a mark that waits.
    if (!entry.isLoaded || !isMarkDurable(entry) || entry.record.status !== 'queued') return false;
    if (connectionFor('submit', this.#sourceOf(entry)) !== undefined) return false;
    this.#keepUnsent(entry);
    return true;
  }

  #sourceOf({ userId, record, source }: BookEntry): Source | undefined {
    const { registry } = this.#deps;
    // An entry that has left the book may still have a cancel to be sent.
    return source == null
      ? registry.sourceOf(userId, record)
      : registry.find(userId, source.source);
  }

  #requestOf({ userId, executionId }: BookEntry): SignalRequest | undefined {
    return this.#deps.store.get('requests', [userId, requestIdOfExecution(executionId)]);
  }
}

/** The source's connection, if its plugin has the capability. */
function connectionFor(capability: Capability, source?: Source): SourceConnection | undefined {
  return source?.capabilities.includes(capability) === true ? source.connection : undefined;
}

/** A closed connection does not pause: nothing would go on with its backlog, and nothing is sent on it. */
function mustPause({ isClosed, isCongested }: SourceConnection): boolean {
  return !isClosed && isCongested;
}

function sendCancelFrame(
  connection: SourceConnection,
  execution: Execution,
  cancel: Cancellation,
): boolean {
  return connection.send({
    type: 'cancel',
    cancelRequestId: cancel.cancelRequestId,
    executionId: execution.executionId,
    orderRef: execution.orderRef ?? '',
  });
}

/**
 * A waiting cancel follows the acknowledgement of its order: a terminal can cancel only an order that it
 * knows. It is sent without one if none can come any more: the submit frame was sent on an earlier
 * connection, and is not repeated for an order with a cancel, or the order has become unknown.
 */
function mayTakeCancel(connection: SourceConnection, { record, connectionId }: BookEntry): boolean {
  const { status, delivery } = record;
  return (
    delivery === 'confirmed' || status === 'unknown' || connectionId !== connection.connectionId
  );
}

/**
 * Excludes orders with a requested cancel: a terminal that never received the order would execute it although
 * the bot wants it cancelled.
 */
function isUndelivered({ status, delivery, cancel, maySend }: Execution): boolean {
  return cancel === null && (status === 'queued' || (delivery === 'sent' && maySend));
}

/** Loads no entry: an unloaded one is queued. Hundreds of thousands may be open; what was delivered once stays so. */
function mayBeUndelivered(entry: BookEntry): boolean {
  return !entry.isLoaded || isUndelivered(entry.record);
}

function isMarkDurable({ record, pendingWrites }: BookEntry): boolean {
  return record.maySend && pendingWrites === 0;
}
