/**
 * Implements the state transitions of executions and cancels, one pure function per cause: a frame was sent,
 * a plugin acknowledged or reported, a timeout fired, the gateway restarted. Only the execution book applies
 * them.
 */
import type { Cancellation, CancelStatus, ReportableCancelStatus } from '../model/cancellation.js';
import { cancelStates } from '../model/cancellation.js';
import type { Execution, ExecutionReport, NativeState } from '../model/execution.js';
import { mayMove } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { averageOf, fillsWith, remainingAfter, sumOf } from './fills.js';

/**
 * @param now wall time in Unix milliseconds.
 * @returns the changed execution; undefined when the state tables forbid the transition or nothing changes.
 */
export type Move = (execution: Execution, now: number) => Execution | undefined;

/** Applies a move. If it ends the execution, it ends its open cancel, too. */
export function applyMove(execution: Execution, move: Move, now: number): Execution | undefined {
  const next = move(execution, now);
  if (next === undefined || next.cancel === null || next.status === execution.status) return next;
  return { ...next, cancel: cancelAfterEnd(next.cancel, next.status, next.updatedAt) };
}

/**
 * Sets `maySend`. The submit frame is sent after its flush, so that a restart treats the execution as sent.
 * Applies to a marked execution, too, to wait for the flush of its mark.
 */
export const allowSending: Move = (execution) => ({ ...execution, maySend: true });

/** The submit frame was written to the plugin's socket. */
export const dispatch: Move = (execution, now) =>
  execution.status === 'queued' ? dispatchedAt(execution, now) : undefined;

/** The TTL passed before the submit frame was sent. */
export const expireUnsent: Move = (execution, now) => {
  if (!mayMove(execution.status, 'expired')) return undefined;
  return { ...execution, status: 'expired', reasonCode: 'ttl_expired', updatedAt: now };
};

/** The confirmation timed out. */
export function becomeUnknown(reasonCode: ReasonCode): Move {
  return (execution, now) => {
    if (!mayMove(execution.status, 'unknown')) return undefined;
    return { ...execution, status: 'unknown', reasonCode, updatedAt: now };
  };
}

/** The plugin has stored the command durably. */
export const acknowledge: Move = (execution, now) => {
  if (execution.delivery === 'confirmed') return undefined;
  const isForward = mayMove(execution.status, 'submitted') && execution.status !== 'unknown';
  const status = isForward ? 'submitted' : execution.status;
  return { ...execution, status, delivery: 'confirmed', updatedAt: now };
};

/** The plugin reports a status, a fill or both, in a report or in the `executions` of its hello. */
export function report(evidence: ExecutionReport): Move {
  return (execution, now) => {
    const next = afterReport(execution, evidence, now) ?? afterLateFill(execution, evidence, now);
    const isByApi =
      next?.status === 'cancelled' &&
      next.reasonCode === null &&
      execution.cancel !== null &&
      mayCancelMove(execution.cancel.status, 'cancelled');
    return isByApi ? { ...next, reasonCode: 'cancelled_by_api' } : next;
  };
}

/** A bot requests a cancel. The caller must check that the order is cancellable. */
export function requestCancel(
  cancelRequestId: string,
  idempotencyKey: string,
  requestedAt: number,
): Move {
  return (execution) => ({
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
    },
    cancelKeys: [...execution.cancelKeys, idempotencyKey],
    updatedAt: requestedAt,
  });
}

export function nextCancelAttempt({ cancel }: Execution): number {
  return (cancel?.attempt ?? 0) + 1;
}

/** The cancel frame was written to the plugin's socket. */
export const dispatchCancel: Move = (execution, now) =>
  withCancel(execution, 'dispatched', null, now, { dispatchedAt: now });

/** The plugin disconnected before the cancel frame was sent. */
export const dropCancel: Move = (execution, now) =>
  withCancel(execution, 'not_sent', 'terminal_lost_before_send', now);

/** The confirmation of the cancel timed out. */
export const timeOutCancel: Move = (execution, now) =>
  withCancel(execution, 'unknown', 'cancel_timeout', now);

/** The plugin has stored the cancel durably. Ignored for an earlier cancel. */
export function acknowledgeCancel(cancelRequestId: string): Move {
  return (execution, now) => {
    const { cancel } = execution;
    if (cancel?.cancelRequestId !== cancelRequestId || cancel.acknowledged) return undefined;
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

/** The plugin reports on a cancel. Ignored for an earlier cancel, unless that one cancelled the order. */
export function reportCancel(evidence: CancelReport): Move {
  return (execution, now) => {
    const { cancel: latest } = execution;
    if (latest === null) return undefined;
    const isLatest = latest.cancelRequestId === evidence.cancelRequestId;
    const cancel = isLatest
      ? movedCancel(latest, evidence.status, evidence.reasonCode, now)
      : latest;
    const endsOrder = evidence.status === 'cancelled' && mayMove(execution.status, 'cancelled');
    if (cancel === undefined || (!isLatest && !endsOrder)) return undefined;
    return {
      ...execution,
      ...(endsOrder ? cancelledByApi(execution, now) : {}),
      native: evidence.native ?? execution.native,
      cancel: isLatest ? { ...cancel, acknowledged: true } : cancel,
      updatedAt: now,
    };
  };
}

/**
 * After a restart or an import: an execution or cancel that may have been sent counts as sent. It becomes
 * `unknown` unless the plugin reports on it.
 */
export const recover: Move = (execution) => {
  const { status, maySend, createdAt } = execution;
  const sent = status === 'queued' && maySend ? dispatchedAt(execution, createdAt) : execution;
  const { cancel } = sent;
  const sentCancel =
    cancel === null ? undefined : movedCancel(cancel, 'dispatched', null, cancel.requestedAt);
  if (sentCancel !== undefined) {
    return { ...sent, cancel: { ...sentCancel, dispatchedAt: sentCancel.requestedAt } };
  }
  return sent === execution ? undefined : sent;
};

function dispatchedAt(execution: Execution, at: number): Execution {
  return {
    ...execution,
    status: 'dispatched',
    delivery: 'sent',
    dispatchedAt: at,
    updatedAt: Math.max(at, execution.updatedAt),
  };
}

function cancelledByApi(execution: Execution, now: number): Partial<Execution> {
  return {
    status: 'cancelled',
    reasonCode: 'cancelled_by_api',
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

/** How an open cancel ends when its execution does. */
// prettier-ignore
const cancelEnds: Readonly<Record<string, { readonly status: CancelStatus; readonly reasonCode: ReasonCode | null }>> = {
  filled:    { status: 'too_late',  reasonCode: 'already_filled' },
  cancelled: { status: 'cancelled', reasonCode: null },
  completed: { status: 'too_late',  reasonCode: 'already_filled' },
  rejected:  { status: 'too_late',  reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late',  reasonCode: 'already_cancelled' },
};

function cancelAfterEnd(cancel: Cancellation, executionStatus: string, now: number): Cancellation {
  const end = cancelEnds[executionStatus];
  if (end === undefined) return cancel;
  return movedCancel(cancel, end.status, end.reasonCode, now) ?? cancel;
}

/** @returns undefined when the report is backward, lowers the filled quantity or adds no information. */
function afterReport(
  execution: Execution,
  evidence: ExecutionReport,
  now: number,
): Execution | undefined {
  const moves = evidence.status !== execution.status;
  if (moves && !mayMove(execution.status, evidence.status)) return undefined;

  const fills = fillsWith(execution, evidence.fill);
  const isNewFill = fills !== execution.fills;
  const filledQuantity = evidence.filledQuantity ?? filledAfter(execution, evidence, fills);
  if ((filledQuantity ?? 0) < (execution.filledQuantity ?? 0)) return undefined;

  const next: Execution = {
    ...execution,
    status: evidence.status,
    reasonCode: evidence.reasonCode ?? (moves ? null : execution.reasonCode),
    delivery: 'confirmed',
    filledQuantity,
    remainingQuantity: evidence.remainingQuantity ?? remainingAfter(execution, filledQuantity),
    averageFillPrice:
      evidence.averageFillPrice ?? (isNewFill ? averageOf(fills) : execution.averageFillPrice),
    fills,
    native: evidence.native ?? execution.native,
    confirmedAt: execution.confirmedAt ?? now,
    updatedAt: now,
  };
  return moves || isNewFill || addsInformation(execution, next) ? next : undefined;
}

/**
 * Applies the fill of a backward report: a fill counts in every state. The status stays, or becomes `filled`
 * when nothing remains.
 */
function afterLateFill(
  execution: Execution,
  { fill }: ExecutionReport,
  now: number,
): Execution | undefined {
  const fills = fillsWith(execution, fill);
  if (fills === execution.fills) return undefined;
  const { quantity, averageFillPrice } = execution;
  const listed = sumOf(fills);
  const filledQuantity = Math.max(listed, execution.filledQuantity ?? 0);
  const isComplete = quantity !== null && filledQuantity >= quantity;
  const becomesFilled = isComplete && execution.status !== 'filled';
  return {
    ...execution,
    ...(becomesFilled ? { status: 'filled', reasonCode: null } : {}),
    delivery: 'confirmed',
    filledQuantity,
    remainingQuantity: remainingAfter(execution, filledQuantity),
    // If fills were reported only as a total, the average of the listed ones would be wrong.
    averageFillPrice: listed < filledQuantity ? averageFillPrice : averageOf(fills),
    fills,
    confirmedAt: execution.confirmedAt ?? now,
    updatedAt: now,
  };
}

function addsInformation(before: Execution, after: Execution): boolean {
  return (
    before.confirmedAt === null ||
    before.reasonCode !== after.reasonCode ||
    before.filledQuantity !== after.filledQuantity ||
    before.remainingQuantity !== after.remainingQuantity ||
    before.averageFillPrice !== after.averageFillPrice ||
    before.native?.orderId !== after.native?.orderId ||
    before.native?.state !== after.native?.state ||
    before.native?.code !== after.native?.code ||
    before.native?.text !== after.native?.text
  );
}

function filledAfter(
  execution: Execution,
  evidence: ExecutionReport,
  fills: Execution['fills'],
): number | null {
  const { filledQuantity, quantity } = execution;
  // An earlier reported total may include fills that were never listed.
  if (fills !== execution.fills) return Math.max(sumOf(fills), filledQuantity ?? 0);
  // `filled` without quantity and fills means the whole order.
  return evidence.status === 'filled' && fills.length === 0
    ? (quantity ?? filledQuantity)
    : filledQuantity;
}
