/**
 * Checks the rules of delivery against one terminal's observations, in order. Owns the records of the
 * terminal's executions.
 */
import type { Verdict } from '../verdict.js';
import { ExecutionRecord } from './execution-record.js';
import { Confirmations } from './confirmations.js';
import type { Observation, ObservationOf } from './observation.js';
import { definitiveEnds } from '../../model/contract-states.js';

/**
 * Between the gateway's timestamp and the terminal's are a system call and two schedulers; on a busy
 * machine with few processors each may take tens of milliseconds.
 */
const deliveryToleranceMs = 150;

/**
 * A cancel report may arrive after the order has a newer cancel, and some terminals repeat everything after a
 * welcome.
 */
const expectedErrors = ['unknown_cancel', 'seq_repeated'];

export interface DeliveryCheckDeps {
  readonly verdict: Verdict;
  /** Wall time in Unix ms at which a bot first read that the delivery was confirmed. */
  readonly confirmedReadAt: (executionId: string) => number | undefined;
}

export class DeliveryCheck {
  readonly records = new Map<string, ExecutionRecord>();
  /** Records that are new since the list was last emptied. */
  readonly fresh: ExecutionRecord[] = [];
  /** The latest submit relative to its TTL, in ms; negative when all came in time. */
  latestMs = -Infinity;
  /** seq of the newest event that the terminal sent. */
  lastEventSeq = 0;
  /** signalId → its execution. */
  readonly #orders = new Map<string, string>();
  readonly #confirmations = new Confirmations();
  #helloAt = 0;
  #newestRequest = '';

  constructor(
    readonly terminal: string,
    readonly deps: DeliveryCheckDeps,
  ) {}

  read(seen: Observation): void {
    const confirmations = this.#confirmations;
    switch (seen.kind) {
      case 'welcome':
        return this.#welcome(seen);
      case 'submit':
        return this.#submit(seen);
      case 'cancel':
        return this.#cancel(seen);
      case 'acked':
        this.#hold('only what was said is acknowledged', seen.seq <= confirmations.saidSeq, seen);
        return confirmations.acked(seen.seq, seen.connection);
      case 'closed':
        return confirmations.closed(seen.connection);
      case 'error':
        return this.#hold('no frame is refused', expectedErrors.includes(seen.code), seen);
      case 'ack':
        return this.#ack(seen);
      case 'known':
        return void this.#recordOf(seen.executionId).hints.add(seen.status);
      case 'report': {
        const record = this.#recordOf(seen.executionId);
        record.report(seen.status, seen.filledQuantity, seen.fillId, seen.seq);
        return this.#said(seen, () => record.confirmReport(seen.seq));
      }
      case 'event':
        this.lastEventSeq = seen.seq;
        return this.#said(seen, () => undefined);
      case 'cancel_report':
        return this.#cancelReport(seen);
    }
  }

  #welcome(seen: ObservationOf<'welcome'>): void {
    const { lastSeq, helloAt } = seen;
    const { ackedSeq, saidSeq } = this.#confirmations;
    const evidence = { ...seen, ackedSeq, saidSeq };
    this.#helloAt = helloAt;
    this.#hold('lastSeq covers all that was acknowledged', lastSeq >= ackedSeq, evidence);
    this.#hold('lastSeq covers only what was said', lastSeq <= saidSeq, evidence);
  }

  #submit(seen: ObservationOf<'submit'>): void {
    const { executionId, requestId, connection } = seen;
    const record = this.#recordOf(executionId);
    const readAt = this.deps.confirmedReadAt(executionId) ?? Infinity;
    const lateMs = seen.at - seen.unreadMs - Date.parse(seen.expiresAt);
    const evidence = { seen, record, readAt, helloAt: this.#helloAt, lateMs };
    const isRepeated = record.connections.has(connection);
    this.#hold('a submit comes once on a connection', !isRepeated, evidence);
    this.#hold('a confirmed submit is not sent again', !record.isConfirmed, evidence);
    this.#hold('a submit read as confirmed is not sent again', readAt > this.#helloAt, evidence);
    this.#hold('no submit comes after its TTL', lateMs <= deliveryToleranceMs, evidence);
    this.latestMs = Math.max(this.latestMs, lateMs);
    if (record.connections.size === 0) {
      this.#hold('submits first come in the order of acceptance', requestId > this.#newestRequest, {
        seen,
        after: this.#newestRequest,
      });
      this.#newestRequest = requestId;
      // Under another executionId the terminal would execute the same order twice.
      const isOne = !this.#orders.has(seen.signalId);
      this.#hold('a terminal gets one order of a signal', isOne, {
        ...evidence,
        orders: [...this.#orders].filter(([id]) => id === seen.signalId),
      });
      this.#orders.set(seen.signalId, executionId);
      record.submit = seen;
    }
    record.connections.add(connection);
    record.lastSubmitAt = seen.at - seen.unreadMs - deliveryToleranceMs;
  }

  #cancel(seen: ObservationOf<'cancel'>): void {
    const { executionId, cancelRequestId, connection } = seen;
    const record = this.#recordOf(executionId);
    const cancel = record.cancelOf(cancelRequestId);
    const evidence = { seen, record };
    const isRepeated = cancel.connections.has(connection);
    const isOver = definitiveEnds.includes(record.confirmed?.status ?? '');
    this.#hold('a cancel comes once on a connection', !isRepeated, evidence);
    this.#hold('a confirmed cancel is not sent again', !cancel.isConfirmed, evidence);
    this.#hold('no cancel is sent for an order that is final', !isOver, evidence);
    cancel.connections.add(connection);
  }

  #ack({ executionId, cancelRequestId, connection }: ObservationOf<'ack'>): void {
    if (executionId !== undefined) {
      const record = this.#recordOf(executionId);
      record.isAcknowledged = true;
      this.#confirmations.saidAck(connection, () => (record.isConfirmed = true));
    }
    if (cancelRequestId !== undefined) {
      const record = this.#recordOf(cancelRequestId.replace(/^can_(.*)_\d+$/, 'exe_$1'));
      const cancel = record.cancelOf(cancelRequestId);
      this.#confirmations.saidAck(connection, () => (cancel.isConfirmed = true));
    }
  }

  #cancelReport(seen: ObservationOf<'cancel_report'>): void {
    const { executionId, cancelRequestId, status, seq } = seen;
    const record = this.#recordOf(executionId);
    const cancel = record.cancelOf(cancelRequestId);
    cancel.said = status;
    if (status === 'cancelled') {
      record.report(status, record.last?.filledQuantity ?? 0, undefined, seq);
    }
    this.#said(seen, () => {
      cancel.isConfirmed = true;
      record.confirmReport(seq);
    });
  }

  #said(
    { seq, connection, sent }: { seq: number; connection: number; sent: boolean },
    confirm: () => void,
  ): void {
    this.#confirmations.said(seq, sent ? connection : undefined, confirm);
  }

  #recordOf(executionId: string): ExecutionRecord {
    const known = this.records.get(executionId);
    if (known !== undefined) return known;
    const record = new ExecutionRecord(executionId, this.terminal);
    this.records.set(executionId, record);
    this.fresh.push(record);
    return record;
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.deps.verdict.hold(rule, holds, () => ({ terminal: this.terminal, evidence }));
  }
}
