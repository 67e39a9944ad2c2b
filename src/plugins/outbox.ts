/**
 * What leaves for a terminal: submit frames in the order of acceptance, at once where its plugin is
 * connected, else when it comes back, never after the TTL. A frame leaves only for an execution
 * whose record says on disk that it may have left.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import type { BookEntry } from '../signals/book-entry.js';
import { sentAt, type ExecutionBook } from '../signals/execution-book.js';
import { moveCancel, type Cancellation } from '../model/cancellation.js';
import { isFinal, type Execution } from '../model/execution.js';
import type { Capability, SignalRequest } from '../model/records.js';
import type { Reader } from '../store/store.js';
import { requestIdOfExecution } from '../lib/ids.js';
import type { Connection } from './connection.js';
import type { Registry, Source } from './registry.js';

export interface OutboxDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly registry: Registry;
  readonly submitsSent: Counter;
  /** Acceptance to frame written, in seconds. */
  readonly dispatchLatency: Histogram;
}

export class Outbox {
  readonly #deps: OutboxDeps;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Sends what has just been accepted to those targets that are connected. */
  dispatch(userId: string, request: SignalRequest, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      const source = this.#deps.registry.sourceOf(userId, entry.execution);
      const connection = connectionFor('submit', source);
      if (source === undefined || connection === undefined) {
        entry.rest();
        continue;
      }
      if (connection.isCatchingUp) continue;
      if (entry.execution.maySend) this.#send(connection, entry, request);
      else this.#catchUp(connection, source);
    }
  }

  /**
   * Sends, oldest first, what was neither acknowledged nor has expired nor left on this connection.
   * What is accepted meanwhile queues behind it. A plugin that has come back without a capability is
   * not asked for it: what waits ends in its time.
   */
  resume(connection: Connection, source: Source): void {
    if (source.capabilities.includes('submit')) this.#catchUp(connection, source);
    if (source.capabilities.includes('cancel')) this.#repeatCancels(connection, source);
  }

  /** In the order of acceptance: none leaves before all of them are marked on disk. */
  #catchUp(connection: Connection, source: Source): void {
    const { book } = this.#deps;
    const entries = connection.isClosed
      ? []
      : book
          .ofSource(source.userId, source.key)
          .filter(
            (entry) =>
              isUndelivered(entry.execution) &&
              entry.connectionId !== connection.connectionId &&
              book.mayStillSend(entry),
          );
    const unmarked = entries.filter((entry) => !isMarkedOnDisk(entry));
    connection.isCatchingUp = unmarked.length > 0;
    if (unmarked.length === 0) {
      this.#sendPaced(connection, entries);
      return;
    }
    let open = unmarked.length;
    const done = (): void => {
      if (--open === 0) this.#catchUp(connection, source);
    };
    for (const entry of unmarked) {
      book.change(entry, { ...entry.execution, maySend: true }, { done });
    }
  }

  /** The plugin has read: the backlog goes on. */
  drained(connection: Connection): void {
    const { source } = connection;
    if (source === undefined || !connection.awaitsDrain) return;
    connection.awaitsDrain = false;
    this.#catchUp(connection, source);
  }

  /** As fast as the plugin reads: a long backlog must not make it look like one that does not. */
  #sendPaced(connection: Connection, entries: readonly BookEntry[]): void {
    for (const entry of entries) {
      if (!connection.isClosed && connection.isCongested) {
        connection.isCatchingUp = true;
        connection.awaitsDrain = true;
        return;
      }
      this.#send(connection, entry);
    }
  }

  /** Sends a cancel that has just become durable, or says that its target is lost. */
  sendCancel(entry: BookEntry): void {
    const { execution } = entry;
    const { cancel } = execution;
    if (cancel?.status !== 'requested') return;
    const source = this.#deps.registry.sourceOf(entry.userId, execution);
    const connection = connectionFor('cancel', source);
    const isSent = connection !== undefined && this.#writeCancel(connection, execution, cancel);
    const now = this.#deps.clock.now();
    const next = isSent
      ? moveCancel(cancel, 'dispatched', null, now)
      : moveCancel(cancel, 'not_sent', 'terminal_lost_before_send', now);
    if (next === undefined) return;
    this.#deps.book.change(entry, {
      ...execution,
      cancel: isSent ? { ...next, dispatchedAt: now } : next,
      updatedAt: now,
    });
  }

  /** After a hello: cancels that may have been sent and were not acknowledged are sent again. */
  #repeatCancels(connection: Connection, source: Source): void {
    for (const { execution } of this.#deps.book.ofSource(source.userId, source.key)) {
      const { cancel } = execution;
      if (cancel === null || cancel.acknowledged || !isCancelUnderWay(execution)) continue;
      if (!this.#writeCancel(connection, execution, cancel)) return;
    }
  }

  #writeCancel(connection: Connection, execution: Execution, cancel: Cancellation): boolean {
    return connection.send({
      type: 'cancel',
      cancelRequestId: cancel.cancelRequestId,
      executionId: execution.executionId,
      orderRef: execution.orderRef ?? '',
    });
  }

  #send(connection: Connection, entry: BookEntry, request?: SignalRequest): void {
    const { book, clock } = this.#deps;
    if (connection.isClosed || !book.mayStillSend(entry)) return;
    entry.connectionId = connection.connectionId;
    const found = request ?? this.#requestOf(entry);
    if (found === undefined) return;
    if (!connection.sendText(submitFrame(found, entry.execution))) return;
    this.#deps.submitsSent.add();
    if (entry.execution.status !== 'queued') return;
    this.#deps.dispatchLatency.observe((clock.monotonic() - entry.enteredAt) / 1000);
    book.change(entry, sentAt(entry.execution, clock.now()));
  }

  #requestOf({ userId, execution }: BookEntry): SignalRequest | undefined {
    const requestId = requestIdOfExecution(execution.executionId);
    return this.#deps.store.get('requests', [userId, requestId]);
  }
}

/** The source's connection, if its plugin can do this. */
function connectionFor(capability: Capability, source?: Source): Connection | undefined {
  return source?.capabilities.includes(capability) === true ? source.connection : undefined;
}

/** Sent, not ended, and its order not known to be final: a cancel for a final order is never sent. */
function isCancelUnderWay({ status, cancel }: Execution): boolean {
  return cancel?.status === 'dispatched' && (status === 'unknown' || !isFinal(status));
}

/**
 * Once its cancel was asked for, an order is not sent again: a terminal that never had it would
 * execute what the bot wants gone.
 */
function isUndelivered({ status, delivery, cancel }: Execution): boolean {
  return (
    cancel === null && delivery !== 'confirmed' && (status === 'queued' || delivery === 'sent')
  );
}

function isMarkedOnDisk({ execution, pendingWrites }: BookEntry): boolean {
  return execution.maySend && pendingWrites === 0;
}

/** The payload is handed on as it came, digit for digit. */
function submitFrame(request: SignalRequest, execution: Execution): string {
  const head = JSON.stringify({
    type: 'submit',
    executionId: execution.executionId,
    requestId: request.requestId,
    signalId: request.signalId,
    ...(execution.orderRef === null ? {} : { orderRef: execution.orderRef }),
    signalType: request.type,
    cmd: request.cmd,
    ts: request.ts,
    expiresAt: toIsoTime(request.expiresAt),
  });
  return `${head.slice(0, -1)},"payload":${request.payload}}`;
}
