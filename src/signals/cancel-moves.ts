/**
 * Implements the state transitions of cancels, one pure function per cause: it was requested, sent, acknowledged
 * or reported, its timeout fired, its order ended. Those of executions are in moves.ts.
 */
import type {
  Cancellation,
  CancelCause,
  CancelStatus,
  ReportableCancelStatus,
} from '../model/cancellation.js';
import { cancelStates, cancelWaitMs, isWaiting } from '../model/cancellation.js';
import type { Execution, NativeState } from '../model/execution.js';
import { isOpenOrder, mayMove, nativeAfter } from '../model/execution.js';
import { cancelRequestIdOf } from '../lib/ids.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { Trail } from '../model/trail.js';
import { asFilled, isComplete } from './fills.js';
import type { Move } from './move.js';

/** A bot requests the cancel of one order. The caller must check that the order is cancellable. */
export function requestCancel(cancelRequestId: string, requestedAt: number, trail: Trail): Move {
  return (execution) => withNewCancel(execution, cancelRequestId, requestedAt, trail);
}

/** A cancel of all orders requests the cancel of one order, which waits until its terminal can take it. */
export function requestWaitingCancel(
  cancelRequestId: string,
  requestedAt: number,
  cause: CancelCause,
  trail: Trail,
): Move {
  const waitsUntil = requestedAt + cancelWaitMs;
  return requestIfNext(cancelRequestId, requestedAt, { ...trail, cause, waitsUntil });
}

/** As `requestWaitingCancel`, for a terminal that does not support cancels. */
export function refuseCancel(
  cancelRequestId: string,
  requestedAt: number,
  cause: CancelCause,
  trail: Trail,
): Move {
  return requestIfNext(cancelRequestId, requestedAt, {
    ...trail,
    cause,
    status: 'not_sent',
    reasonCode: 'terminal_capability_missing',
  });
}

/** Changes nothing if the order has the cancel already: after a crash the decision is applied again. */
function requestIfNext(
  cancelRequestId: string,
  requestedAt: number,
  more: Partial<Cancellation>,
): Move {
  return (execution) => {
    const next = cancelRequestIdOf(execution.executionId, nextCancelAttempt(execution));
    if (cancelRequestId !== next || !isOpenOrder(execution)) return undefined;
    return withNewCancel(execution, cancelRequestId, requestedAt, more);
  };
}

function withNewCancel(
  execution: Execution,
  cancelRequestId: string,
  requestedAt: number,
  more: Partial<Cancellation>,
): Execution {
  return {
    ...execution,
    cancel: {
      cancelRequestId,
      attempt: nextCancelAttempt(execution),
      status: 'requested',
      reasonCode: null,
      requestedAt,
      dispatchedAt: null,
      updatedAt: requestedAt,
      acknowledged: false,
      ...more,
    },
    updatedAt: requestedAt,
  };
}

export function nextCancelAttempt({ cancel }: Execution): number {
  return (cancel?.attempt ?? 0) + 1;
}

/** The cancel frame was written to the plugin's socket. */
export const dispatchCancel: Move = (execution, now) =>
  withCancel(execution, 'dispatched', null, now, { dispatchedAt: now });

/** The plugin disconnected before the cancel frame was sent, or stayed away for as long as the cancel waits. */
export const dropCancel: Move = (execution, now) =>
  withCancel(execution, 'not_sent', 'terminal_lost_before_send', now);

/** The confirmation of the cancel timed out. */
export const timeOutCancel: Move = (execution, now) =>
  withCancel(execution, 'unknown', 'cancel_timeout', now);

/** The plugin has stored the cancel durably. Ignored for an earlier cancel. */
export function acknowledgeCancel(cancelRequestId: string): Move {
  return (execution, now) => {
    if (execution.cancel?.cancelRequestId !== cancelRequestId) return undefined;
    const cancel = knownToTerminal(execution.cancel);
    if (cancel.acknowledged) return undefined;
    const pending = movedCancel(cancel, 'pending', cancel.reasonCode, now) ?? cancel;
    return { ...execution, cancel: { ...pending, acknowledged: true }, updatedAt: now };
  };
}

export interface CancelReport {
  readonly cancelRequestId: string;
  readonly status: ReportableCancelStatus;
  readonly reasonCode: ReasonCode | null;
  /** Absent if the report left it out. */
  readonly native?: NativeState;
}

/** The plugin reports on a cancel. Ignored for an earlier or ended cancel, unless it cancelled the order. */
export function reportCancel(evidence: CancelReport): Move {
  return (execution, now) => {
    if (execution.cancel === null) return undefined;
    const isLatest = execution.cancel.cancelRequestId === evidence.cancelRequestId;
    const latest = isLatest ? knownToTerminal(execution.cancel) : execution.cancel;
    const { status, reasonCode } = evidence;
    const endsOrder = status === 'cancelled' && mayMove(execution.status, 'cancelled');
    // If nothing remains, the order ends as filled, and `applyMove` ends the cancel as too late.
    const isFilled = endsOrder && isComplete(execution, execution.filledQuantity);
    const moved = isLatest ? movedCancel(latest, status, reasonCode, now) : undefined;
    const cause = isLatest ? latest.cause : undefined;
    if (moved === undefined && !endsOrder) return undefined;
    return {
      ...execution,
      ...(endsOrder ? cancelledFor(cause, execution, now) : {}),
      ...(isFilled ? asFilled : {}),
      native: nativeAfter(execution.native, evidence.native),
      cancel: moved === undefined ? latest : { ...moved, acknowledged: true },
      updatedAt: now,
    };
  };
}

/** @returns the reason of an order that its terminal reports as cancelled; null if no cancel is open or has ended it. */
export function causeOf(cancel: Cancellation | null): CancelCause | null {
  if (cancel === null) return null;
  const { status } = cancel;
  if (status !== 'cancelled' && !mayCancelMove(status, 'cancelled')) return null;
  return cancel.cause ?? defaultCause;
}

/** @returns the cancel as sent if it may have been sent, otherwise the same object. */
export function recoveredCancel(cancel: Cancellation | null): Cancellation | null {
  return cancel === null || isWaiting(cancel) ? cancel : asSent(cancel);
}

/** @returns a reported cancel as sent: if it still waits, the gateway restarted before it stored the sending. */
function knownToTerminal(cancel: Cancellation): Cancellation {
  return isWaiting(cancel) ? asSent(cancel) : cancel;
}

function asSent(cancel: Cancellation): Cancellation {
  const sent = movedCancel(cancel, 'dispatched', null, cancel.requestedAt);
  return sent === undefined ? cancel : { ...sent, dispatchedAt: sent.requestedAt };
}

/** The cause of a cancel that names none. */
export const defaultCause: CancelCause = 'cancelled_by_api';

function cancelledFor(
  cause: CancelCause = defaultCause,
  execution: Execution,
  now: number,
): Partial<Execution> {
  return {
    status: 'cancelled',
    reasonCode: cause,
    delivery: 'confirmed',
    confirmedAt: execution.confirmedAt ?? now,
  };
}

function mayCancelMove(from: CancelStatus, to: CancelStatus): boolean {
  return (cancelStates[from].next as readonly CancelStatus[]).includes(to);
}

function movedCancel(
  cancel: Cancellation,
  status: CancelStatus,
  reasonCode: ReasonCode | null,
  now: number,
): Cancellation | undefined {
  if (!mayCancelMove(cancel.status, status)) return undefined;
  return { ...cancel, status, reasonCode, updatedAt: now };
}

function withCancel(
  execution: Execution,
  status: CancelStatus,
  reasonCode: ReasonCode | null,
  now: number,
  more: Partial<Cancellation> = {},
): Execution | undefined {
  const { cancel } = execution;
  const moved = cancel === null ? undefined : movedCancel(cancel, status, reasonCode, now);
  if (moved === undefined) return undefined;
  return { ...execution, cancel: { ...moved, ...more }, updatedAt: now };
}

const alreadyFilled = { status: 'too_late', reasonCode: 'already_filled' } as const;

/** How an open cancel ends when its execution does. */
// oxfmt-ignore
const cancelEnds: Readonly<Record<string, Pick<Cancellation, 'status' | 'reasonCode'>>> = {
  filled:    alreadyFilled,
  cancelled: { status: 'cancelled', reasonCode: null },
  completed: alreadyFilled,
  rejected:  { status: 'too_late',  reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late',  reasonCode: 'already_cancelled' },
};

export function cancelAfterEnd(
  cancel: Cancellation,
  executionStatus: string,
  now: number,
): Cancellation {
  const end = cancelEnds[executionStatus];
  if (end === undefined) return cancel;
  return movedCancel(cancel, end.status, end.reasonCode, now) ?? cancel;
}
