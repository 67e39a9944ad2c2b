/**
 * Reads one terminal's observations in order and holds the rules of delivery against them. Owns the
 * accounts of what that terminal was sent.
 */
import type { Verdict } from '../verdict.js';
import { Account } from './execution-record.js';
import { Confirmations } from './confirmations.js';
import type { Observation, ObservationOf } from './observation.js';
import { definitiveEnds } from './state-tables.js';

/**
 * Between the gateway's look at its clock and the terminal's lie a system call and two schedulers; on
 * a busy machine with few processors each may take tens of milliseconds.
 */
const deliveryToleranceMs = 150;

export interface TerminalLogDeps {
  readonly verdict: Verdict;
  /** Wall time in Unix ms at which a bot first read that the delivery was confirmed. */
  readonly confirmedReadAt: (executionId: string) => number | undefined;
}

export class TerminalLog {
  readonly accounts = new Map<string, Account>();
  /** Accounts that are new since somebody last emptied this list. */
  readonly fresh: Account[] = [];
  /** How long after its end a submit came at the latest; negative when none came late. */
  latestMs = -Infinity;
  /** Number of the newest event that it said. */
  lastEventSeq = 0;
  /** signalId → the execution that came for it. */
  readonly #orders = new Map<string, string>();
  readonly #confirmations = new Confirmations();
  #helloAt = 0;
  #newestRequest = '';

  constructor(
    readonly terminal: string,
    readonly deps: TerminalLogDeps,
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
        // A report on a cancel may come so late that the order has a newer cancel by then.
        return this.#hold('no frame is refused', seen.code === 'unknown_cancel', seen);
      case 'ack':
        return this.#ack(seen);
      case 'known':
        return void this.#accountOf(seen.executionId).hints.add(seen.status);
      case 'report': {
        const account = this.#accountOf(seen.executionId);
        account.report(seen.status, seen.filledQuantity, seen.fillId, seen.seq);
        return this.#said(seen, () => account.confirmReport(seen.seq));
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
    const account = this.#accountOf(executionId);
    const readAt = this.deps.confirmedReadAt(executionId) ?? Infinity;
    const lateMs = seen.at - seen.unreadMs - Date.parse(seen.expiresAt);
    const evidence = { seen, account, readAt, helloAt: this.#helloAt, lateMs };
    const isRepeated = account.connections.has(connection);
    this.#hold('a submit comes once on a connection', !isRepeated, evidence);
    this.#hold('a confirmed submit is not sent again', !account.isConfirmed, evidence);
    this.#hold('a submit read as confirmed is not sent again', readAt > this.#helloAt, evidence);
    this.#hold('no submit comes after its TTL', lateMs <= deliveryToleranceMs, evidence);
    this.latestMs = Math.max(this.latestMs, lateMs);
    if (account.connections.size === 0) {
      this.#hold('submits first come in the order of acceptance', requestId > this.#newestRequest, {
        seen,
        after: this.#newestRequest,
      });
      this.#newestRequest = requestId;
      // Under another name the same order would be carried out a second time.
      const isOne = !this.#orders.has(seen.signalId);
      this.#hold('a terminal gets one order of a signal', isOne, {
        ...evidence,
        orders: [...this.#orders].filter(([id]) => id === seen.signalId),
      });
      this.#orders.set(seen.signalId, executionId);
      account.submit = seen;
    }
    account.connections.add(connection);
  }

  #cancel(seen: ObservationOf<'cancel'>): void {
    const { executionId, cancelRequestId, connection } = seen;
    const account = this.#accountOf(executionId);
    const cancel = account.cancelOf(cancelRequestId);
    const evidence = { seen, account };
    const isRepeated = cancel.connections.has(connection);
    const isOver = definitiveEnds.includes(account.confirmed?.status ?? '');
    this.#hold('a cancel comes once on a connection', !isRepeated, evidence);
    this.#hold('a confirmed cancel is not sent again', !cancel.isConfirmed, evidence);
    this.#hold('no cancel is sent for an order that is final', !isOver, evidence);
    cancel.connections.add(connection);
  }

  #ack({ executionId, cancelRequestId, connection }: ObservationOf<'ack'>): void {
    if (executionId !== undefined) {
      const account = this.#accountOf(executionId);
      account.isAcknowledged = true;
      this.#confirmations.saidAck(connection, () => (account.isConfirmed = true));
    }
    if (cancelRequestId !== undefined) {
      const account = this.#accountOf(cancelRequestId.replace(/^can_(.*)_\d+$/, 'exe_$1'));
      const cancel = account.cancelOf(cancelRequestId);
      this.#confirmations.saidAck(connection, () => (cancel.isConfirmed = true));
    }
  }

  #cancelReport(seen: ObservationOf<'cancel_report'>): void {
    const { executionId, cancelRequestId, status, seq } = seen;
    const account = this.#accountOf(executionId);
    const cancel = account.cancelOf(cancelRequestId);
    cancel.said = status;
    if (status === 'cancelled') {
      account.report(status, account.last?.filledQuantity ?? 0, undefined, seq);
    }
    this.#said(seen, () => {
      cancel.isConfirmed = true;
      account.confirmReport(seq);
    });
  }

  #said(
    { seq, connection, sent }: { seq: number; connection: number; sent: boolean },
    confirm: () => void,
  ): void {
    this.#confirmations.said(seq, sent ? connection : undefined, confirm);
  }

  #accountOf(executionId: string): Account {
    const known = this.accounts.get(executionId);
    if (known !== undefined) return known;
    const account = new Account(executionId, this.terminal);
    this.accounts.set(executionId, account);
    this.fresh.push(account);
    return account;
  }

  #hold(rule: string, holds: boolean, evidence: unknown): void {
    this.deps.verdict.hold(rule, holds, () => ({ terminal: this.terminal, evidence }));
  }
}
