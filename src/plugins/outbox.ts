/**
 * Sends submit and cancel frames to terminals: submits in the order of acceptance, at once where the plugin is
 * connected, else after it reconnects, never after the TTL. A submit frame leaves only after the execution's
 * record says on disk that it may have left. Owns which connections still have a backlog.
 */
import type { Clock } from '../lib/clock.js';
import { requestIdOfExecution } from '../lib/ids.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import type { Cancellation } from '../model/cancellation.js';
import { isFinal, type Execution } from '../model/execution.js';
import type { Capability, SignalRequest } from '../model/records.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import type { ExecutionTimeouts } from '../signals/execution-timeouts.js';
import { allowSending, dispatch, dispatchCancel, dropCancel } from '../signals/moves.js';
import type { Reader } from '../store/store.js';
import type { Registry } from './registry.js';
import type { Source, SourceConnection } from './source.js';
import { submitFrame } from './submit-frame.js';

export interface OutboxDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly timeouts: Pick<ExecutionTimeouts, 'maySend'>;
  readonly registry: Registry;
  readonly submitsSent: Counter;
  /** Acceptance to frame written, in seconds. */
  readonly dispatchLatency: Histogram;
}

/** What a backlog waits for: marks on disk, or the plugin that reads. */
type Backlog = 'marking' | 'congested';

export class Outbox {
  readonly #deps: OutboxDeps;
  /** Connections with a backlog: what is accepted now queues behind it. */
  readonly #backlogs = new WeakMap<SourceConnection, Backlog>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Sends executions that have just been accepted to the targets that are connected. */
  dispatch(userId: string, request: SignalRequest, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      const source = this.#deps.registry.sourceOf(userId, entry.execution);
      const connection = connectionFor('submit', source);
      if (source === undefined || connection === undefined) entry.unload();
      else if (this.hasBacklog(connection)) continue;
      else if (entry.execution.maySend) this.#send(connection, entry, request);
      else this.#sendBacklog(connection, source);
    }
  }

  hasBacklog(connection: SourceConnection): boolean {
    return this.#backlogs.has(connection);
  }

  /**
   * After a hello: sends what was neither acknowledged nor has expired. A plugin that has reconnected without
   * a capability is not asked for it; what waits ends with its TTL.
   */
  resume(connection: SourceConnection, source: Source): void {
    if (source.capabilities.includes('submit')) this.#sendBacklog(connection, source);
    if (source.capabilities.includes('cancel')) this.#repeatCancels(connection, source);
  }

  /** The plugin has read: the backlog goes on. */
  drained(connection: SourceConnection, source: Source): void {
    if (this.#backlogs.get(connection) !== 'congested') return;
    this.#backlogs.delete(connection);
    this.#sendBacklog(connection, source);
  }

  /** Sends a cancel that has just become durable, or notes that its target is lost. */
  sendCancel(entry: BookEntry): void {
    const { book, registry } = this.#deps;
    const { execution } = entry;
    const { cancel } = execution;
    if (cancel?.status !== 'requested') return;
    const connection = connectionFor('cancel', registry.sourceOf(entry.userId, execution));
    const isSent = connection !== undefined && sendCancelFrame(connection, execution, cancel);
    book.apply(entry, isSent ? dispatchCancel : dropCancel);
  }

  /** Oldest first: none leaves before all of them are marked on disk. */
  #sendBacklog(connection: SourceConnection, source: Source): void {
    const { book } = this.#deps;
    const entries = connection.isClosed ? [] : this.#undelivered(connection, source);
    const unmarked = entries.filter((entry) => !isMarkedOnDisk(entry));
    if (unmarked.length === 0) {
      this.#backlogs.delete(connection);
      this.#sendPaced(connection, entries);
      return;
    }
    this.#backlogs.set(connection, 'marking');
    let open = unmarked.length;
    const done = (): void => {
      if (--open === 0) this.#sendBacklog(connection, source);
    };
    for (const entry of unmarked) book.apply(entry, allowSending, { done });
  }

  /** What the connection has not carried yet and may still be sent. */
  #undelivered({ connectionId }: SourceConnection, { userId, key }: Source): BookEntry[] {
    const { book, timeouts } = this.#deps;
    return book
      .ofSource(userId, key)
      .filter(
        (entry) =>
          isUndelivered(entry.execution) &&
          entry.connectionId !== connectionId &&
          timeouts.maySend(entry),
      );
  }

  /** As fast as the plugin reads, so that a long backlog does not end it as too slow. */
  #sendPaced(connection: SourceConnection, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      if (!connection.isClosed && connection.isCongested) {
        this.#backlogs.set(connection, 'congested');
        return;
      }
      this.#send(connection, entry);
    }
  }

  /** After a hello: cancels that may have been sent and were not acknowledged are sent again. */
  #repeatCancels(connection: SourceConnection, source: Source): void {
    for (const { execution } of this.#deps.book.ofSource(source.userId, source.key)) {
      const { cancel } = execution;
      if (cancel === null || cancel.acknowledged || !isCancelUnderWay(execution)) continue;
      if (!sendCancelFrame(connection, execution, cancel)) return;
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

/** Sent and open, for an order that is not known to have ended. */
function isCancelUnderWay({ status, cancel }: Execution): boolean {
  return cancel?.status === 'dispatched' && (status === 'unknown' || !isFinal(status));
}

/**
 * An order is not sent again once its cancel was requested: a terminal that never received it would execute
 * what the bot wants cancelled.
 */
function isUndelivered({ status, delivery, cancel }: Execution): boolean {
  return (
    cancel === null && delivery !== 'confirmed' && (status === 'queued' || delivery === 'sent')
  );
}

function isMarkedOnDisk({ execution, pendingWrites }: BookEntry): boolean {
  return execution.maySend && pendingWrites === 0;
}
