/**
 * What time does to an execution: an unsent one expires with its TTL, an unconfirmed one becomes unknown, and
 * so does an unconfirmed cancel. Durations run on the monotonic clock, so that a step of the wall clock neither
 * fires nor delays them; the state they depend on is in the book's entries.
 */
import type { Clock } from '../lib/clock.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { Limits } from '../limits.js';
import { isFinalCancel } from '../model/cancellation.js';
import type { Execution } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { BookEntry } from './book-entry.js';
import { becomeUnknown, expireUnsent, timeOutCancel, type Move } from './moves.js';

export interface ExecutionTimeoutsDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Pick<Limits, 'executionConfirmTimeoutMs' | 'cancelConfirmTimeoutMs'>;
  /** Whether the connection that carried the submit frame is still open. */
  readonly isConnected: (connectionId: string) => boolean;
  readonly apply: (entry: BookEntry, move: Move) => void;
  /** Lets the book drop an entry that may no longer be sent again. */
  readonly release: (entry: BookEntry) => void;
}

export class ExecutionTimeouts {
  readonly #deps: ExecutionTimeoutsDeps;

  constructor(deps: ExecutionTimeoutsDeps) {
    this.#deps = deps;
  }

  /** Dates a new entry. Its TTL is never longer than at the acceptance, even if the clock was set back. */
  begin(entry: BookEntry): void {
    const { clock } = this.#deps;
    const now = clock.now();
    const { createdAt, dispatchedAt, expiresAt } = entry.execution;
    entry.expiryDue = entry.enteredAt + Math.min(expiresAt - now, expiresAt - createdAt);
    if (dispatchedAt !== null) entry.confirmDue = this.#confirmDue(dispatchedAt, now);
  }

  /** Sets the deadlines that the states of the execution and its cancel ask for. */
  arm(entry: BookEntry): void {
    const { deadlines, clock } = this.#deps;
    const { execution } = entry;
    this.#armCancel(entry);
    if (execution.status === 'queued' || this.mayBeSentAgain(entry)) {
      deadlines.set(entry, entry.expiryDue);
    } else if (isUnconfirmed(execution)) {
      const now = clock.now();
      entry.confirmDue ??= this.#confirmDue(execution.dispatchedAt ?? now, now);
      deadlines.set(entry, entry.confirmDue);
    } else {
      deadlines.remove(entry);
    }
  }

  disarm(entry: BookEntry): void {
    this.#deps.deadlines.remove(entry);
    this.#deps.deadlines.remove(entry.cancelDeadline);
  }

  due(entry: BookEntry): void {
    const { apply, release } = this.#deps;
    if (entry.execution.status === 'queued') apply(entry, expireUnsent);
    else if (isUnconfirmed(entry.execution))
      apply(entry, becomeUnknown(this.#unknownReason(entry)));
    else release(entry);
  }

  /** Whether a submit frame may still leave. Both clocks must agree, because either may be wrong. */
  maySend(entry: BookEntry): boolean {
    const { clock } = this.#deps;
    return entry.expiryDue > clock.monotonic() && entry.execution.expiresAt > clock.now();
  }

  /** An unknown execution that no terminal acknowledged stays deliverable until its TTL passes. */
  mayBeSentAgain(entry: BookEntry): boolean {
    const { status, delivery } = entry.execution;
    return status === 'unknown' && delivery === 'sent' && this.maySend(entry);
  }

  /** Milliseconds since the submit frame left; undefined if it left in an earlier life of the process. */
  msSinceSent({ confirmDue, isRecovered }: BookEntry): number | undefined {
    const { clock, limits } = this.#deps;
    if (confirmDue === undefined || isRecovered) return undefined;
    return clock.monotonic() - (confirmDue - limits.executionConfirmTimeoutMs);
  }

  /** `sentAt` and `now` are wall time in Unix ms. */
  #confirmDue(sentAt: number, now: number): number {
    const { clock, limits } = this.#deps;
    return clock.monotonic() + Math.min(0, sentAt - now) + limits.executionConfirmTimeoutMs;
  }

  #armCancel(entry: BookEntry): void {
    const { deadlines, clock, limits, apply } = this.#deps;
    const { cancel } = entry.execution;
    if (cancel === null || isFinalCancel(cancel.status) || cancel.dispatchedAt === null) {
      deadlines.remove(entry.cancelDeadline);
      entry.cancelDeadline = undefined;
    } else if (entry.cancelDeadline === undefined) {
      // A terminal that acknowledges a cancel after it became unknown gets the whole time again.
      const from = cancel.status === 'pending' ? cancel.updatedAt : cancel.dispatchedAt;
      const since = Math.max(0, clock.now() - from);
      entry.cancelDeadline = deadlines.after(limits.cancelConfirmTimeoutMs - since, () => {
        entry.cancelDeadline = undefined;
        apply(entry, timeOutCancel);
      });
    }
  }

  #unknownReason({ connectionId, isRecovered }: BookEntry): ReasonCode {
    if (connectionId === undefined && isRecovered) return 'gateway_restarted';
    const isOpen = connectionId !== undefined && this.#deps.isConnected(connectionId);
    return isOpen ? 'confirmation_timeout' : 'disconnected_after_send';
  }
}

/** Sent, and no report has come. */
function isUnconfirmed({ status, confirmedAt }: Execution): boolean {
  return (status === 'dispatched' || status === 'submitted') && confirmedAt === null;
}
