/** What a venue says of an order, in the words of the plugin protocol: ExecutionReport and OrderCancelReject. */
import { toIsoTime } from '../lib/clock.js';
import { rounded } from '../lib/decimal.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { isFinal, type ReportableStatus } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { CancelEvidence, Evidence, KnownExecution } from '../terminal/plugin.js';
import { fromFixTime } from './fix-time.js';
import type { SentOrder } from './fix-journal.js';
import { valueOf, type ReceivedMessage } from './message.js';
import { tags } from './tags.js';

interface Meaning {
  readonly state: string;
  readonly status: ReportableStatus;
}

/** OrdStatus (39); of those that rest see `statusOf`. */
// oxfmt-ignore
const ordStatuses: Readonly<Record<string, Meaning>> = {
  '0': { state: 'New',                  status: 'working' },
  '1': { state: 'PartiallyFilled',      status: 'partially_filled' },
  '2': { state: 'Filled',               status: 'filled' },
  '3': { state: 'DoneForDay',           status: 'working' },
  '4': { state: 'Canceled',             status: 'cancelled' },
  '5': { state: 'Replaced',             status: 'working' },
  '6': { state: 'PendingCancel',        status: 'working' },
  '7': { state: 'Stopped',              status: 'working' },
  '8': { state: 'Rejected',             status: 'rejected' },
  '9': { state: 'Suspended',            status: 'working' },
  A:   { state: 'PendingNew',           status: 'submitted' },
  B:   { state: 'Calculated',           status: 'working' },
  C:   { state: 'Expired',              status: 'expired' },
  D:   { state: 'AcceptedForBidding',   status: 'working' },
  E:   { state: 'PendingReplace',       status: 'working' },
};

/** Of an order that goes on, each after the one before it. */
const resting: readonly ReportableStatus[] = ['submitted', 'working', 'partially_filled'];

/** Calculated: done for the day, with what that has cost. */
const doneForDay: readonly string[] = ['DoneForDay', 'Calculated'];

/** ExecType (150) of an end; OrdStatus may go on naming what ranks above it: suspended, stopped, done for the day. */
const endTypes: readonly string[] = ['4', 'C'];

/** OrdRejReason (103); any other is `broker_rejected`. */
const rejectReasons: Readonly<Record<string, ReasonCode>> = {
  '1': 'unknown_instrument',
  '2': 'market_closed',
  '3': 'volume_limit_reached',
  '13': 'invalid_quantity',
  '15': 'unknown_account',
};
const unknownOrder = '5';

/** Years that a frame to the gateway can carry. A venue may fill in the least or the greatest time that it knows. */
const earliestMs = Date.UTC(1000, 0);
const endMs = Date.UTC(3000, 0);

/** ExecType (150) of a trade in FIX 4.4, and of partial fill and fill before. */
const tradeTypes: readonly string[] = ['F', '1', '2'];
/** Of a trade that is taken back or corrected; before 4.4 ExecTransType (20) said so. */
const undoTypes: readonly string[] = ['G', 'H'];
const undoTransTypes: readonly string[] = ['1', '2'];

/** Of a frame to the gateway. */
const fillIdLengthMax = 128;

export interface ReportContext {
  readonly order: SentOrder;
  readonly known: KnownExecution;
  /** The gateway has asked for its cancel, and was not refused. */
  readonly isCancelAsked: () => boolean;
  readonly nowMs: number;
}

export interface ReadReport {
  /** Undefined when the report says nothing new. */
  readonly evidence: Evidence | undefined;
  /** A trade was taken back or corrected: quantities of the gateway never fall, so people have to know. */
  readonly isUndo: boolean;
  /** The venue is working on a cancel. */
  readonly isCancelPending: boolean;
  /** The venue has the order, or has had it. */
  readonly isTaken: boolean;
  /** It was reported as rejected, which is definitive at the gateway, and lives all the same. */
  readonly isRevived: boolean;
}

export function readReport(message: ReceivedMessage, context: ReportContext): ReadReport {
  const { known } = context;
  const isUndo = undoesTrade(message);
  const fill = isTrade(message) ? fillOf(message, context) : undefined;
  const evidence = evidenceOf(message, context, fill?.fill.quantity ?? 0);
  return {
    evidence: isUndo ? undefined : newsOf(known, evidence, fill),
    isUndo,
    isCancelPending: valueOf(message, tags.OrdStatus) === '6',
    isTaken: evidence.status !== 'rejected',
    isRevived: known.status === 'rejected' && lives(evidence),
  };
}

function newsOf(
  known: KnownExecution,
  evidence: Evidence,
  fill: Pick<Evidence, 'fill'> | undefined,
): Evidence | undefined {
  if (!goesBack(known, evidence)) return { ...evidence, ...fill };
  // After a trade that was taken back: what the order is is told all the same, and quantities of the gateway never fall.
  if (isNews(known, evidence)) return { ...withoutFilled(evidence), ...fill };
  // Late, repeated, or an answer that crossed another: only a fill that is not known yet counts.
  if (fill === undefined) return undefined;
  const { status } = known;
  const { filledQuantity, remainingQuantity } = evidence;
  return {
    status,
    // Where the trade does not say it, the gateway adds up the fills.
    ...(filledQuantity === undefined
      ? {}
      : { filledQuantity: Math.max(known.filledQuantity ?? 0, filledQuantity) }),
    // Of an order that has ended nothing is open; a report from before that says what was open then.
    ...(remainingQuantity === 0 ? { remainingQuantity } : {}),
    ...fill,
  };
}

export function isTrade(message: ReceivedMessage): boolean {
  const isNew = (valueOf(message, tags.ExecTransType) ?? '0') === '0';
  return isNew && tradeTypes.includes(valueOf(message, tags.ExecType) ?? '');
}

function undoesTrade(message: ReceivedMessage): boolean {
  return (
    undoTypes.includes(valueOf(message, tags.ExecType) ?? '') ||
    undoTransTypes.includes(valueOf(message, tags.ExecTransType) ?? '')
  );
}

function isNews(known: KnownExecution, { status }: Evidence): boolean {
  if (status === 'cancelled' || status === 'expired') return !isDefinitive(known);
  return known.status === 'unknown' && resting.includes(status);
}

/** No evidence is more definitive. */
export function isDefinitive({ status }: KnownExecution): boolean {
  return isFinal(status) && status !== 'unknown';
}

function lives({ status }: Evidence): boolean {
  return status === 'filled' || resting.includes(status);
}

function withoutFilled(evidence: Evidence): Evidence {
  const { filledQuantity: _filled, averageFillPrice: _average, ...rest } = evidence;
  return rest;
}

/** Of journals that did not note it, an order that goes on tells. */
function hasTaken({ order, known }: ReportContext): boolean {
  return order.isTaken === true || (known.isReported && !isFinal(known.status));
}

function goesBack(known: KnownExecution, evidence: Evidence): boolean {
  // After a trade that was taken back the fills say too much, so a CumQty that was told counts before them.
  const filled = known.filledQuantity || sumOf(known);
  if ((evidence.filledQuantity ?? filled) < filled) return true;
  if (known.status === 'unknown') return false;
  if (known.status === 'cancelled' && evidence.status === 'filled') return false;
  return isFinal(known.status) || rank(evidence.status) < rank(known.status);
}

/** The fills say more than the last CumQty where a venue leaves it out, always or now and then. */
function filledOf(known: KnownExecution): number {
  return Math.max(known.filledQuantity ?? 0, sumOf(known));
}

function sumOf({ fills }: KnownExecution): number {
  return rounded(fills.reduce((sum, { quantity }) => sum + quantity, 0));
}

function rank(status: ReportableStatus): number {
  const at = resting.indexOf(status);
  return at === -1 ? resting.length : at;
}

function evidenceOf(
  message: ReceivedMessage,
  context: ReportContext,
  newlyFilled: number,
): Evidence {
  const { order, known, isCancelAsked } = context;
  const ordStatus = valueOf(message, tags.OrdStatus) ?? '';
  const meaning = ordStatuses[ordStatus] ?? { state: ordStatus, status: 'working' };
  const execType = valueOf(message, tags.ExecType) ?? '';
  const end = endTypes.includes(execType) ? ordStatuses[execType]?.status : undefined;
  const rejReason = valueOf(message, tags.OrdRejReason);
  // The venue took the order once, and does not know it now: nor what was filled of it.
  const isForgotten =
    hasTaken(context) &&
    meaning.status === 'rejected' &&
    (rejReason === unknownOrder || isStatusAnswer(message));
  const filled = isForgotten ? undefined : cumQtyOf(message, meaning);
  const left = isForgotten ? undefined : amountOf(message, tags.LeavesQty);
  const average = priceOf(message, tags.AvgPx);
  const listed = rounded(filledOf(known) + newlyFilled);
  const status = isForgotten ? 'unknown' : statusOf(meaning, end, order, listed, filled, left);
  const rests = resting.includes(status) && !isDefinitive(known);
  const reasonCode = reasonOf(status, rejReason, order, isCancelAsked);
  // Of a forgotten order it means nothing, and NONE is no number: requests on the order go on naming it by the last one.
  const saidId = valueOf(message, tags.OrderID);
  const orderId = isForgotten || saidId === 'NONE' ? undefined : saidId;
  const text = valueOf(message, tags.Text);
  return withoutUndefined({
    status,
    reasonCode,
    filledQuantity: filled,
    // 0 of what rests, and a price of 0, say that the venue does not fill the field in.
    remainingQuantity: left === 0 && rests ? undefined : left,
    averageFillPrice: average === 0 || (filled ?? 0) === 0 ? undefined : average,
    native: withoutUndefined({ orderId, state: meaning.state, code: rejReason, text }),
  });
}

/**
 * What rests is partially filled once something is filled, and has ended where nothing is open.
 * @param end by ExecType.
 * @param listed what is known as filled, and the fill of this report: for a report without a CumQty.
 */
function statusOf(
  { state, status }: Meaning,
  end: ReportableStatus | undefined,
  { quantity, timeInForce }: SentOrder,
  listed: number,
  cumQty: number | undefined,
  left: number | undefined,
): ReportableStatus {
  const filled = cumQty ?? listed;
  // Rejected means that nothing of it was executed; here the rest was.
  if (status === 'rejected' && Math.max(filled, listed) > 0) return 'cancelled';
  if (!resting.includes(status)) return status;
  // PendingCancel goes before Filled in OrdStatus, and nothing but the refusal of the cancel may follow.
  if ((left ?? 0) === 0 && filled >= Number(quantity)) return 'filled';
  if ((left ?? 0) === 0 && end !== undefined) return end;
  // Its day is the whole of its time, and it trades no more on it; an order for longer goes on the next day.
  if (left === 0 && doneForDay.includes(state) && timeInForce === 'day') return 'expired';
  return filled > 0 ? 'partially_filled' : status;
}

function reasonOf(
  status: ReportableStatus,
  rejReason: string | undefined,
  { timeInForce }: SentOrder,
  isCancelAsked: () => boolean,
): ReasonCode | undefined {
  if (status === 'rejected') return rejectReasons[rejReason ?? ''] ?? 'broker_rejected';
  if (status === 'expired') return 'time_in_force_expired';
  if (status !== 'cancelled') return undefined;
  if (isCancelAsked()) return 'cancelled_by_api';
  return timeInForce === 'ioc' || timeInForce === 'fok'
    ? 'time_in_force_expired'
    : 'cancelled_by_broker';
}

/** @returns the fill of a trade that is not known; undefined when it is, or says no price and quantity. */
function fillOf(
  message: ReceivedMessage,
  { known, nowMs }: ReportContext,
): Required<Pick<Evidence, 'fill'>> | undefined {
  const fillId = valueOf(message, tags.ExecID)?.slice(0, fillIdLengthMax);
  const quantity = amountOf(message, tags.LastQty);
  const price = priceOf(message, tags.LastPx);
  if (fillId === undefined || price === undefined || quantity === undefined || quantity === 0) {
    return undefined;
  }
  const isNamed = known.fills.some((fill) => fill.fillId === fillId);
  const cumQty = amountOf(message, tags.CumQty) ?? 0;
  // An ExecID that a venue gives again, as on another day: a repetition begins within what was filled, another trade after it.
  if (isNamed && rounded(cumQty - quantity) < filledOf(known)) return undefined;
  const saidAt = fromFixTime(valueOf(message, tags.TransactTime) ?? '') ?? NaN;
  const filledAt = saidAt >= earliestMs && saidAt < endMs ? saidAt : nowMs;
  const ownId = isNamed ? `${fillId}/${cumQty}`.slice(-fillIdLengthMax) : fillId;
  return { fill: { fillId: ownId, price, quantity, filledAt: toIsoTime(filledAt) } };
}

/** It answers an OrderStatusRequest: ExecType I, or before FIX 4.4 ExecTransType 3. */
export function isStatusAnswer(message: ReceivedMessage): boolean {
  return valueOf(message, tags.ExecType) === 'I' || valueOf(message, tags.ExecTransType) === '3';
}

/** What the end of an order makes of a cancel that was asked for. */
// oxfmt-ignore
export const cancelOutcomes: Readonly<Partial<Record<ReportableStatus, CancelEvidence>>> = {
  cancelled: { status: 'cancelled' },
  filled:    { status: 'too_late', reasonCode: 'already_filled' },
  rejected:  { status: 'too_late', reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late', reasonCode: 'already_cancelled' },
};

/** OrdStatus of an OrderCancelReject. Rejected is said of an order that the venue does not know, and is no end of one. */
export function heldAs(message: ReceivedMessage): string | undefined {
  const ordStatus = valueOf(message, tags.OrdStatus);
  return ordStatus === '8' ? undefined : ordStatus;
}

/** OrderCancelReject. CxlRejReason (102): 0 too late, 1 unknown order. */
export function cancelRejection(message: ReceivedMessage): CancelEvidence {
  const status = ordStatuses[heldAs(message) ?? '']?.status;
  const reason = valueOf(message, tags.CxlRejReason);
  const text = valueOf(message, tags.Text);
  const native = { native: withoutUndefined({ code: reason, text }) };
  const ended = status && cancelOutcomes[status];
  if (ended !== undefined) return { ...ended, ...native };
  // Of an order that rests all the same it means too late for now, as before an auction.
  if (reason === '0' && status === undefined) {
    return { status: 'too_late', reasonCode: 'already_filled', ...native };
  }
  if (reason === '1') {
    return { status: 'rejected', reasonCode: 'order_unknown_at_terminal', ...native };
  }
  return { status: 'rejected', reasonCode: 'unable_to_cancel', ...native };
}

/** @returns undefined where it is less than what the report itself says was filled: some venues leave it at 0. */
function cumQtyOf(message: ReceivedMessage, { status }: Meaning): number | undefined {
  const cumQty = amountOf(message, tags.CumQty) ?? NaN;
  const traded = isTrade(message) ? (amountOf(message, tags.LastQty) ?? 0) : 0;
  const isFilled = status === 'filled' || status === 'partially_filled';
  return cumQty >= traded && (cumQty > 0 || !isFilled) ? cumQty : undefined;
}

function amountOf(message: ReceivedMessage, tag: number): number | undefined {
  const value = priceOf(message, tag);
  return value !== undefined && value >= 0 ? value : undefined;
}

function priceOf(message: ReceivedMessage, tag: number): number | undefined {
  const text = valueOf(message, tag);
  if (text === undefined || !/^-?\d*\.?\d+$|^-?\d+\.$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) && Math.abs(value) <= 1e18 ? value : undefined;
}
