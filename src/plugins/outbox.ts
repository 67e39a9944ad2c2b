/**
 * Sends submit and cancel frames to plugins. Submits are sent in the order of acceptance, at once if the
 * plugin is connected, otherwise after it reconnects, never after the TTL or a stop; and only after `maySend`
 * of the execution is durable. Owns which connections have a backlog, of submits or of cancels, until they
 * close.
 */
import type { Clock } from '../lib/clock.js';
import { requestIdOfExecution } from '../lib/ids.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import { isWaiting, type Cancellation } from '../model/cancellation.js';
import type { Execution } from '../model/execution.js';
import type { Capability, SignalRequest } from '../model/records.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import type { ExecutionTimeouts } from '../signals/execution-timeouts.js';
import { dispatchCancel, dropCancel } from '../signals/cancel-moves.js';
import { allowSending, dispatch } from '../signals/moves.js';
import type { OwedCancels } from '../signals/owed-cancels.js';
import type { Stops } from '../signals/stops.js';
import type { Reader } from '../store/store.js';
import type { Registry } from './registry.js';
import type { Source, SourceConnection } from './source.js';
import { submitFrame } from './submit-frame.js';

export interface OutboxDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly timeouts: Pick<ExecutionTimeouts, 'maySend' | 'maySendCancelAgain'>;
  readonly registry: Registry;
  readonly stops: Pick<Stops, 'holds'>;
  readonly owed: Pick<OwedCancels, 'awaitDecision'>;
  readonly submitsSent: Counter;
  /** Time from acceptance to the written frame, in seconds. */
  readonly dispatchLatency: Histogram;
}

/**
 * What a backlog waits for: the flush of a cancel of all orders, or of its `maySend` marks. In place of the end of
 * backpressure there is the rest of the backlog: each drain would have to look for it among all open orders.
 */
type Backlog = 'deciding' | 'marking' | readonly BookEntry[];

export class Outbox {
  readonly #deps: OutboxDeps;
  /** Connections with a backlog; newly accepted executions join it, to keep the order. */
  readonly #backlogs = new WeakMap<SourceConnection, Backlog>();
  /** Cancels that wait for the end of backpressure, in their order. */
  readonly #cancelBacklogs = new WeakMap<SourceConnection, BookEntry[]>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Sends newly accepted executions to the connected plugins. */
  dispatch(request: SignalRequest, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      if (this.#deps.stops.holds(entry)) continue;
      const source = this.#sourceOf(entry);
      const connection = connectionFor('submit', source);
      if (source === undefined || connection === undefined) entry.unload();
      else if (this.hasBacklog(connection) || this.#awaitDecision(connection, source)) continue;
      // A burst must wait, too, or it would close the connection of a plugin that reads over a slow link.
      else if (connection.isCongested || !entry.execution.maySend)
        this.#sendBacklog(connection, source);
      else this.#send(connection, entry, request);
    }
  }

  hasBacklog(connection: SourceConnection): boolean {
    return this.#backlogs.has(connection);
  }

  /**
   * After a hello: redelivers commands that are neither acknowledged nor expired. Commands whose capability
   * the plugin now lacks wait until their time is over.
   */
  resume(connection: SourceConnection, source: Source): void {
    if (source.capabilities.includes('submit')) this.#sendBacklog(connection, source);
    if (source.capabilities.includes('cancel')) {
      this.#sendCancels(connection, this.#undeliveredCancels(source));
    }
  }

  /** The send buffer has drained: continues the backlog. */
  drained(connection: SourceConnection, source: Source): void {
    const rest = this.#backlogs.get(connection);
    if (typeof rest === 'object' && !this.#awaitDecision(connection, source)) {
      this.#sendPaced(connection, rest);
      // What was accepted meanwhile.
      if (!this.hasBacklog(connection)) this.#sendBacklog(connection, source);
    }
    const cancels = this.#cancelBacklogs.get(connection);
    if (cancels === undefined) return;
    this.#cancelBacklogs.delete(connection);
    this.#sendCancels(connection, cancels);
  }

  /** Sends a newly durable cancel, or marks it `not_sent` if the plugin is not connected. */
  sendCancel(entry: BookEntry): void {
    const { execution } = entry;
    const { cancel } = execution;
    if (cancel?.status !== 'requested') return;
    const connection = connectionFor('cancel', this.#sourceOf(entry));
    const isSent = connection !== undefined && sendCancelFrame(connection, execution, cancel);
    this.#deps.book.apply(entry, isSent ? dispatchCancel : dropCancel);
  }

  /**
   * Sends a cancel that waits for its terminal, if the terminal can take it now. Call it when a change of the
   * execution is durable that may have ended the wait: a request, an acknowledgement, a report, a timeout.
   */
  sendWaitingCancel(entry: BookEntry): void {
    const { execution } = entry;
    if (!isWaiting(execution.cancel)) return;
    const connection = connectionFor('cancel', this.#sourceOf(entry));
    if (connection === undefined) return;
    const backlog = this.#cancelBacklogs.get(connection);
    if (backlog === undefined) this.#sendCancels(connection, [entry]);
    else if (!backlog.includes(entry)) backlog.push(entry);
  }

  /** Sends the backlog, oldest first, once the `maySend` marks of all its executions are durable. */
  #sendBacklog(connection: SourceConnection, source: Source): void {
    const { book } = this.#deps;
    if (this.#awaitDecision(connection, source)) return;
    const entries = connection.isClosed ? [] : this.#undelivered(connection, source);
    const unmarked = entries.filter((entry) => !isMarkDurable(entry));
    if (unmarked.length === 0) return this.#sendPaced(connection, entries);
    this.#backlogs.set(connection, 'marking');
    let open = unmarked.length;
    const done = (): void => {
      if (--open === 0) this.#sendBacklog(connection, source);
    };
    for (const entry of unmarked) book.apply(entry, allowSending, { done });
  }

  /** Lets the backlog wait for a cancel of all orders that is not on disk. @returns whether there is one. */
  #awaitDecision(connection: SourceConnection, source: Source): boolean {
    const waits = this.#deps.owed.awaitDecision(source.userId, () =>
      this.#sendBacklog(connection, source),
    );
    if (waits) this.#backlogs.set(connection, 'deciding');
    return waits;
  }

  /** @returns the executions that may be sent and that this connection has not sent yet. */
  #undelivered(connection: SourceConnection, { userId, key }: Source): BookEntry[] {
    const entries = this.#deps.book.ofSource(userId, key);
    return entries.filter((entry) => this.#isUndelivered(connection, entry));
  }

  /** The records of an entry that has waited in a backlog may be gone with their user. */
  #isUndelivered({ connectionId }: SourceConnection, entry: BookEntry): boolean {
    const execution = entry.load();
    return (
      execution !== undefined &&
      isUndelivered(execution) &&
      entry.connectionId !== connectionId &&
      this.#deps.timeouts.maySend(entry)
    );
  }

  /** Pauses under backpressure; otherwise a long backlog would close the connection as too slow. */
  #sendPaced(connection: SourceConnection, entries: readonly BookEntry[]): void {
    this.#backlogs.delete(connection);
    for (const [index, entry] of entries.entries()) {
      if (!connection.isClosed && connection.isCongested) {
        this.#backlogs.set(connection, entries.slice(index));
        return;
      }
      if (!this.#isUndelivered(connection, entry)) continue;
      if (!this.#deps.stops.holds(entry)) this.#send(connection, entry);
    }
  }

  /** After a hello: cancels that were sent and not acknowledged, and durable ones that wait. */
  #undeliveredCancels({ userId, key }: Source): BookEntry[] {
    const { book, timeouts } = this.#deps;
    return book
      .ofSource(userId, key)
      .filter(({ execution, pendingWrites }) =>
        isWaiting(execution.cancel) ? pendingWrites === 0 : timeouts.maySendCancelAgain(execution),
      );
  }

  /** Pauses under backpressure, as `#sendPaced`. */
  #sendCancels(connection: SourceConnection, entries: BookEntry[]): void {
    const { book, timeouts } = this.#deps;
    for (const [index, entry] of entries.entries()) {
      if (!connection.isClosed && connection.isCongested) {
        this.#cancelBacklogs.set(connection, entries.slice(index));
        return;
      }
      const { execution } = entry;
      const { cancel } = execution;
      if (cancel === null) continue;
      const waits = isWaiting(cancel);
      if (waits ? !mayTakeCancel(connection, entry) : !timeouts.maySendCancelAgain(execution)) {
        continue;
      }
      if (!sendCancelFrame(connection, execution, cancel)) return;
      if (waits) book.apply(entry, dispatchCancel);
    }
  }

  #send(connection: SourceConnection, entry: BookEntry, request?: SignalRequest): void {
    const { book, clock, timeouts, submitsSent, dispatchLatency } = this.#deps;
    if (connection.isClosed || !timeouts.maySend(entry)) return;
    book.setConnection(entry, connection.connectionId);
    const found = request ?? this.#requestOf(entry);
    if (found === undefined) return;
    if (!connection.sendText(submitFrame(found, entry.execution))) return;
    submitsSent.add();
    if (book.apply(entry, dispatch) === undefined) return;
    dispatchLatency.observe((clock.monotonic() - entry.enteredAt) / 1000);
  }

  #sourceOf({ userId, execution, source }: BookEntry): Source | undefined {
    const { registry } = this.#deps;
    // An entry that has left the book may still have a cancel to be sent.
    return source == null
      ? registry.sourceOf(userId, execution)
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
function mayTakeCancel(
  connection: SourceConnection,
  { execution, connectionId }: BookEntry,
): boolean {
  const { status, delivery } = execution;
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

function isMarkDurable({ execution, pendingWrites }: BookEntry): boolean {
  return execution.maySend && pendingWrites === 0;
}
