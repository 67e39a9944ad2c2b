/**
 * Applies the timeouts of executions: an unsent one expires with its TTL; an unconfirmed one, or an
 * unconfirmed cancel, becomes unknown. Timeouts run on the monotonic clock, so that a step of the wall clock
 * neither fires nor delays them. Owns no state: the deadlines are fields of the book's entries.
 */
import type { Clock } from '../lib/clock.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { Limits } from '../limits.js';
import { cancelResendMs, cancelWaitMs, isFinalCancel, isWaiting } from '../model/cancellation.js';
import { isCancelUnacknowledged, type Execution } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { BookEntry, CancelWait } from './book-entry.js';
import { dropCancel, timeOutCancel } from './cancel-moves.js';
import type { Move } from './move.js';
import { becomeUnknown, expireUnsent } from './moves.js';

export interface ExecutionTimeoutsDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: Pick<Limits, 'executionConfirmTimeoutMs' | 'cancelConfirmTimeoutMs'>;
  /** Whether the connection that sent the submit frame is still open. */
  readonly isConnected: (connectionId: string) => boolean;
  readonly apply: (entry: BookEntry, move: Move) => void;
  /** Lets the book drop an entry that can no longer be redelivered. */
  readonly release: (entry: BookEntry) => void;
}

export class ExecutionTimeouts {
  readonly #deps: ExecutionTimeoutsDeps;

  constructor(deps: ExecutionTimeoutsDeps) {
    this.#deps = deps;
  }

  /** Sets the due times of a new entry. A clock that was set back does not extend its TTL. */
  begin(entry: BookEntry): void {
    const { clock } = this.#deps;
    const now = clock.now();
    const { createdAt, expiresAt } = entry.record;
    entry.expiryDue = entry.enteredAt + Math.min(expiresAt - now, expiresAt - createdAt);
  }

  /** Schedules the deadlines for the current states of the execution and its cancel. */
  arm(entry: BookEntry): void {
    const { deadlines, clock } = this.#deps;
    const execution = entry.record;
    this.#armCancel(entry);
    if (execution.status === 'queued' || this.#maySubmitAgain(entry)) {
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
    this.#disarmCancel(entry);
  }

  due(entry: BookEntry): void {
    const { apply, release } = this.#deps;
    if (entry.record.status === 'queued') apply(entry, expireUnsent);
    else if (isUnconfirmed(entry.record)) apply(entry, becomeUnknown(this.#unknownReason(entry)));
    else release(entry);
  }

  /** Whether the TTL still allows a submit frame. Checks both clocks: the wall clock may step. */
  maySend(entry: BookEntry): boolean {
    const { clock } = this.#deps;
    return entry.expiryDue > clock.monotonic() && entry.record.expiresAt > clock.now();
  }

  /** Whether a command of a settled execution may be redelivered: its submit frame, or its cancel. */
  mayBeSentAgain(entry: BookEntry): boolean {
    return this.#maySubmitAgain(entry) || this.maySendCancelAgain(entry.record);
  }

  /** Whether an unknown execution without an acknowledgement may be redelivered: until its TTL passes. */
  #maySubmitAgain(entry: BookEntry): boolean {
    const { status, delivery, maySend } = entry.record;
    return status === 'unknown' && delivery === 'sent' && maySend && this.maySend(entry);
  }

  /** Whether a cancel without an acknowledgement may be redelivered; its status may be `unknown`. */
  maySendCancelAgain(execution: Execution): boolean {
    const sentAt = execution.cancel?.dispatchedAt ?? 0;
    return isCancelUnacknowledged(execution) && this.#deps.clock.now() - sentAt < cancelResendMs;
  }

  /** Milliseconds since the submit frame was sent; undefined if an earlier process sent it. */
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
    const wait = this.#cancelWaitOf(entry.record);
    if (wait !== entry.cancelWait) this.#disarmCancel(entry);
    const { cancel } = entry.record;
    if (cancel === null || wait === undefined || entry.cancelDeadline !== undefined) return;
    const { deadlines, clock, limits, apply, release } = this.#deps;
    const { requestedAt, dispatchedAt, updatedAt } = cancel;
    // oxfmt-ignore
    const ends: Readonly<Record<CancelWait, readonly [ms: number, from: number, task: () => void]>> = {
      terminal:     [cancelWaitMs, requestedAt, () => apply(entry, dropCancel)],
      // From its sending, or its acknowledgement: one that comes after the timeout starts the whole timeout again.
      confirmation: [limits.cancelConfirmTimeoutMs, updatedAt, () => apply(entry, timeOutCancel)],
      // `release` asks the wall clock: if it has stepped back, the entry stays and is armed again.
      reconnect:    [cancelResendMs, dispatchedAt ?? requestedAt, () => release(entry)],
    };
    const [ms, from, task] = ends[wait];
    // A clock that was set back does not extend the wait.
    const since = Math.max(0, clock.now() - from);
    entry.cancelWait = wait;
    entry.cancelDeadline = deadlines.after(ms - since, () => {
      this.#disarmCancel(entry);
      task();
    });
  }

  #cancelWaitOf(execution: Execution): CancelWait | undefined {
    const { cancel } = execution;
    if (cancel === null) return undefined;
    if (isWaiting(cancel)) return 'terminal';
    if (isFinalCancel(cancel.status)) {
      return this.maySendCancelAgain(execution) ? 'reconnect' : undefined;
    }
    return cancel.dispatchedAt === null ? undefined : 'confirmation';
  }

  #disarmCancel(entry: BookEntry): void {
    this.#deps.deadlines.remove(entry.cancelDeadline);
    entry.cancelDeadline = undefined;
    entry.cancelWait = undefined;
  }

  #unknownReason({ connectionId, isRecovered }: BookEntry): ReasonCode {
    if (connectionId === undefined && isRecovered) return 'gateway_restarted';
    const isOpen = connectionId !== undefined && this.#deps.isConnected(connectionId);
    return isOpen ? 'confirmation_timeout' : 'disconnected_after_send';
  }
}

/** Sent, without a report. */
function isUnconfirmed({ status, confirmedAt }: Execution): boolean {
  return (status === 'dispatched' || status === 'submitted') && confirmedAt === null;
}
