/**
 * Implements the state transitions of executions, one pure function per cause: a frame was sent, a plugin
 * acknowledged or reported, a timeout fired, the gateway restarted. Those of cancels are in cancel-moves.ts.
 */
import { withoutUndefined } from '../lib/without-undefined.js';
import type { Execution, ExecutionReport, ExecutionStatus } from '../model/execution.js';
import { isFinal, mayMove, nativeAfter } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { cancelAfterEnd, causeOf, defaultCause, recoveredCancel } from './cancel-moves.js';
import {
  asFilled,
  averageOf,
  fillsWith,
  isComplete,
  reaches,
  remainingAfter,
  sumOf,
  type FillRoom,
  type Fills,
} from './fills.js';
import type { Move } from './move.js';

/** Applies a move. If it ends the execution, it ends its open cancel, too. */
export function applyMove(execution: Execution, move: Move, now: number): Execution | undefined {
  const next = move(execution, now);
  if (next === undefined || next.cancel === null || next.status === execution.status) return next;
  return { ...next, cancel: cancelAfterEnd(next.cancel, next.status, next.updatedAt) };
}

/** Sets `maySend`. The submit frame is sent after its flush, so that a restart treats the execution as sent. */
export const allowSending: Move = (execution) =>
  execution.maySend ? undefined : { ...execution, maySend: true };

/** Clears `maySend`: the terminal was lost before the submit frame was sent, so a restart must not treat it as sent. */
export const withholdSending: Move = (execution) =>
  execution.status === 'queued' && execution.maySend ? { ...execution, maySend: false } : undefined;

/** The submit frame was written to the plugin's socket. */
export const dispatch: Move = (execution, now) =>
  execution.status === 'queued' ? dispatchedAt(execution, now) : undefined;

/** The TTL passed before the submit frame was sent. */
export const expireUnsent = become('expired', 'ttl_expired');

/** The execution is stopped before its submit frame is sent: it never leaves. */
export function deny(reasonCode: ReasonCode): Move {
  return become('denied', reasonCode);
}

/** A stop: denies what has not been sent. What may have reached its terminal is not sent again. */
export function stopSending(reasonCode: ReasonCode): Move {
  return (execution, now) => {
    if (execution.status === 'queued') return deny(reasonCode)(execution, now);
    const isRedelivered = execution.delivery === 'sent' && execution.maySend;
    return isRedelivered ? { ...execution, maySend: false } : undefined;
  };
}

/** The confirmation timed out. */
export function becomeUnknown(reasonCode: ReasonCode): Move {
  return become('unknown', reasonCode);
}

function become(status: ExecutionStatus, reasonCode: ReasonCode): Move {
  return (execution, now) => {
    if (!mayMove(execution.status, status)) return undefined;
    return { ...execution, status, reasonCode, updatedAt: now };
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
export function report(evidence: ExecutionReport, room: FillRoom): Move {
  return (execution, now) => {
    const filled = fillsWith(execution, evidence.fill, room);
    const told = withCause(evidence, execution);
    return afterReport(execution, told, filled, now) ?? afterLateFill(execution, told, filled, now);
  };
}

/** A plugin does not know who asked for a cancel: the cancel's cause replaces the default reason, or none. */
function withCause(evidence: ExecutionReport, execution: Execution): ExecutionReport {
  if (evidence.status !== 'cancelled') return evidence;
  const known = execution.status === 'cancelled' ? execution.reasonCode : null;
  const reasonCode = evidence.reasonCode ?? known;
  if (reasonCode !== null && reasonCode !== defaultCause) return evidence;
  const cause = causeOf(execution.cancel);
  return cause === null ? evidence : { ...evidence, reasonCode: cause };
}

/**
 * After a restart or an import: an execution or cancel that may have been sent counts as sent. It becomes
 * `unknown` unless the plugin reports on it. A cancel that waits for its terminal goes on waiting.
 */
export const recover: Move = (execution) => {
  const { status, maySend, createdAt } = execution;
  const sent = status === 'queued' && maySend ? dispatchedAt(execution, createdAt) : execution;
  const cancel = recoveredCancel(sent.cancel);
  if (cancel !== sent.cancel) return { ...sent, cancel };
  return sent === execution ? undefined : sent;
};

/** A stop without a running gateway: what may have been sent counts as sent, before the stop denies what has not. */
export function recoverAndStop(stop: ReasonCode): Move {
  return (execution, now) => {
    const recovered = recover(execution, now);
    return stopSending(stop)(recovered ?? execution, now) ?? recovered;
  };
}

function dispatchedAt(execution: Execution, at: number): Execution {
  return {
    ...execution,
    status: 'dispatched',
    delivery: 'sent',
    dispatchedAt: at,
    updatedAt: Math.max(at, execution.updatedAt),
  };
}

/** @returns undefined when the report is backward, lowers the filled quantity or adds no information. */
function afterReport(
  execution: Execution,
  evidence: ExecutionReport,
  filled: Fills | undefined,
  now: number,
): Execution | undefined {
  const moves = evidence.status !== execution.status;
  if (moves && !mayMove(execution.status, evidence.status)) return undefined;

  const named = evidence.filledQuantity ?? filledAfter(execution, evidence, filled);
  const known = execution.filledQuantity ?? 0;
  if (!reaches(named ?? 0, known)) return undefined;
  const told = leavesOutFills(named, filled) ? withoutTotals(evidence) : evidence;
  const total = told === evidence ? named : filledAfter(execution, told, filled);
  // A total that its terminal has added up may be less by a floating-point error.
  const filledQuantity = total === null ? null : Math.max(total, known);

  // A completely filled order ends as `filled`, whether the last fill or another end is reported first.
  const becomesFilled =
    isFinal(told.status) && told.status !== 'filled' && isComplete(execution, filledQuantity);
  const next: Execution = {
    ...execution,
    status: told.status,
    reasonCode: told.reasonCode ?? (moves ? null : execution.reasonCode),
    ...(becomesFilled ? asFilled : {}),
    delivery: 'confirmed',
    filledQuantity,
    remainingQuantity: told.remainingQuantity ?? remainingAfter(execution, filledQuantity),
    averageFillPrice: told.averageFillPrice ?? averageAfter(execution, filled, filledQuantity),
    ...filled,
    native: nativeAfter(execution.native, told.native),
    confirmedAt: execution.confirmedAt ?? now,
    updatedAt: now,
  };
  return moves || filled !== undefined || addsInformation(execution, next) ? next : undefined;
}

/**
 * Whether a total is below the fills that are listed, among them the report's own: a fill is evidence, so the total is
 * wrong. Beyond the list a repeated fill may be counted twice, and the report's total corrects that.
 */
function leavesOutFills(total: number | null, filled: Fills | undefined): boolean {
  if (filled === undefined || filled.unlistedFills !== undefined) return false;
  return !reaches(total ?? 0, sumOf(filled));
}

function withoutTotals({ status, reasonCode, native }: ExecutionReport): ExecutionReport {
  return withoutUndefined({ status, reasonCode, native });
}

/**
 * Applies the fill of a backward report: a fill counts in every state. The status stays, or becomes `filled`
 * when nothing remains.
 */
function afterLateFill(
  execution: Execution,
  evidence: ExecutionReport,
  filled: Fills | undefined,
  now: number,
): Execution | undefined {
  const { fill, filledQuantity: told = 0 } = evidence;
  if (fill === undefined || filled === undefined) return undefined;
  // Where fills are not listed, this one may be a repeated one, which the report's own total has counted once.
  const isCounted = filled.unlistedFills !== undefined && reaches(told, fill.quantity);
  const sum = isCounted ? told : Math.max(told, sumOf(filled));
  const filledQuantity = Math.max(sum, execution.filledQuantity ?? 0);
  const becomesFilled = isComplete(execution, filledQuantity) && execution.status !== 'filled';
  return {
    ...execution,
    ...(becomesFilled ? asFilled : {}),
    delivery: 'confirmed',
    filledQuantity,
    remainingQuantity: remainingAfter(execution, filledQuantity),
    averageFillPrice:
      (evidence.filledQuantity === filledQuantity ? evidence.averageFillPrice : undefined) ??
      averageAfter(execution, filled, filledQuantity),
    ...filled,
    confirmedAt: execution.confirmedAt ?? now,
    updatedAt: now,
  };
}

function averageAfter(
  { averageFillPrice }: Execution,
  filled: Fills | undefined,
  filledQuantity: number | null,
): number | null {
  // If some fills were reported only in a total, the average of the others would be wrong.
  const isWhole = filled !== undefined && reaches(sumOf(filled), filledQuantity ?? 0);
  return isWhole ? averageOf(filled) : averageFillPrice;
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
  filled: Fills | undefined,
): number | null {
  const { filledQuantity, quantity } = execution;
  // An earlier reported total may include fills that were never listed.
  const known =
    filled === undefined ? filledQuantity : Math.max(sumOf(filled), filledQuantity ?? 0);
  if (evidence.status !== 'filled') return known;
  // `filled` without a quantity means the whole order, whose quantity may be unknown, whatever is listed.
  const whole = Math.max(quantity ?? 0, known ?? 0);
  return whole > 0 ? whole : null;
}
