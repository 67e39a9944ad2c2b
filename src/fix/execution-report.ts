/** Translates a venue's ExecutionReport and OrderCancelReject into evidence of the plugin protocol. */
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

/** Meanings of OrdStatus (39); for an order that rests `statusOf` decides. */
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

/** Statuses of an order that rests, in the order in which it passes through them. */
const resting: readonly ReportableStatus[] = ['submitted', 'working', 'partially_filled'];

/** States of an order that trades no more today; Calculated is DoneForDay with its costs. */
const doneForDay: readonly string[] = ['DoneForDay', 'Calculated'];

/** ExecType (150) of an end; OrdStatus may hide it behind Suspended, Stopped or DoneForDay, which rank higher. */
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

/** Times that a frame to the gateway can carry: a venue may send the least or the greatest that it knows. */
const earliestMs = Date.UTC(1000, 0);
const endMs = Date.UTC(3000, 0);

/** ExecType (150) of a trade: F in FIX 4.4, partial fill (1) and fill (2) in earlier versions. */
const tradeTypes: readonly string[] = ['F', '1', '2'];
/** ExecType of a trade that is corrected or taken back; before FIX 4.4 ExecTransType (20) says so. */
const undoTypes: readonly string[] = ['G', 'H'];
const undoTransTypes: readonly string[] = ['1', '2'];

/** Characters that a frame to the gateway takes. */
const fillIdLengthMax = 128;

export interface ReportContext {
  readonly order: SentOrder;
  readonly known: KnownExecution;
  /** Whether the gateway asked for a cancel: the report names one, or the venue may have carried one out. */
  readonly isCancelAsked: () => boolean;
  readonly nowMs: number;
}

export interface ReadReport {
  /** Undefined when the report says nothing new. */
  readonly evidence: Evidence | undefined;
  /** A trade was taken back or corrected: quantities of the gateway never fall, so people have to know. */
  readonly isUndo: boolean;
  /** The venue no longer knows the order, and it has no other end. */
  readonly isForgotten: boolean;
  /** The venue is working on a cancel. */
  readonly isCancelPending: boolean;
  /** The venue has the order, or has had it. */
  readonly isTaken: boolean;
  /** The order lives, although it was reported as rejected, which is definitive at the gateway. */
  readonly isRevived: boolean;
}

export function readReport(message: ReceivedMessage, context: ReportContext): ReadReport {
  const { known } = context;
  const isUndo = undoesTrade(message);
  const fill = isTrade(message) ? fillOf(message, context) : undefined;
  const evidence = evidenceOf(message, context, fill?.fill.quantity ?? 0);
  const news = isUndo ? undefined : newsOf(context, evidence, fill);
  const isForgotten = news?.status === 'unknown';
  // Each logon asks for a forgotten order: reported each time, it would stay in the journal for ever.
  const isRepeated = isForgotten && known.status === 'unknown' && fill === undefined;
  return {
    evidence: isRepeated ? undefined : news,
    isUndo,
    isForgotten,
    isCancelPending: valueOf(message, tags.OrdStatus) === '6',
    isTaken: evidence.status !== 'rejected',
    isRevived: known.status === 'rejected' && lives(evidence),
  };
}

function newsOf(
  { order, known }: ReportContext,
  evidence: Evidence,
  fill: Pick<Evidence, 'fill'> | undefined,
): Evidence | undefined {
  if (!goesBack(known, evidence)) return { ...evidence, ...fill };
  // The filled quantity fell, as after a trade was taken back: leaves it out, since the gateway's never falls.
  if (isNews(known, evidence, order)) return { ...withoutFilled(evidence), ...fill };
  // A late or repeated report, or an answer that crossed another: only its fill counts, if that is new.
  if (fill === undefined) return undefined;
  const { status } = known;
  const { filledQuantity, remainingQuantity } = evidence;
  return {
    status,
    // Without a CumQty in the report the gateway adds up the fills.
    ...(filledQuantity === undefined
      ? {}
      : { filledQuantity: Math.max(known.filledQuantity ?? 0, filledQuantity) }),
    // A late report tells what was open then; only that nothing was open still holds.
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

function isNews(
  known: KnownExecution,
  { status, filledQuantity = 0 }: Evidence,
  { quantity }: SentOrder,
): boolean {
  // Without its quantity, `filled` means the whole order: not one that was made smaller at the venue.
  const isWhole = status === 'filled' && filledQuantity >= Number(quantity);
  if (isWhole || status === 'cancelled' || status === 'expired') return !isDefinitive(known);
  return known.status === 'unknown' && resting.includes(status);
}

/** Whether the order has certainly ended: every final status but `unknown`. */
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

/** Whether the venue has taken the order. Older journals do not note it: there an order reported as open counts. */
function hasTaken({ order, known }: ReportContext): boolean {
  return order.isTaken === true || (known.isReported && !isFinal(known.status));
}

function goesBack(known: KnownExecution, evidence: Evidence): boolean {
  const filled = filledOf(known);
  if ((evidence.filledQuantity ?? filled) < filled) return true;
  if (known.status === 'unknown') return false;
  if (known.status === 'cancelled' && evidence.status === 'filled') return false;
  return isFinal(known.status) || rank(evidence.status) < rank(known.status);
}

/**
 * @returns what the gateway counts: the last CumQty, or the sum of the fills if that is more. A venue may leave CumQty
 * out, or have taken a trade back.
 */
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
  // The venue took the order once, and no longer knows it or what was filled.
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
  // For a forgotten order OrderID means nothing, and NONE is no id: requests go on with the last one.
  const saidId = valueOf(message, tags.OrderID);
  const orderId = isForgotten || saidId === 'NONE' ? undefined : saidId;
  const text = valueOf(message, tags.Text);
  return withoutUndefined({
    status,
    reasonCode,
    filledQuantity: filled,
    // LeavesQty 0 while the order rests, and an AvgPx of 0, mean that the venue does not fill the field in.
    remainingQuantity: left === 0 && rests ? undefined : left,
    averageFillPrice: average === 0 || (filled ?? 0) === 0 ? undefined : average,
    native: withoutUndefined({ orderId, state: meaning.state, code: rejReason, text }),
  });
}

/**
 * An order that rests is partially filled once something is filled, and may have ended if nothing is open.
 * @param end the end that ExecType tells, if any.
 * @param listed what is filled by the reports so far and the fill of this one, which may have no CumQty.
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
  // Rejected would mean that nothing was executed: after a fill, the rest counts as cancelled.
  if (status === 'rejected' && Math.max(filled, listed) > 0) return 'cancelled';
  if (!resting.includes(status)) return status;
  // OrdStatus shows PendingCancel rather than Filled, and only the refusal of the cancel may follow.
  if ((left ?? 0) === 0 && filled >= Number(quantity)) return 'filled';
  if ((left ?? 0) === 0 && end !== undefined) return end;
  // A day order that is done for the day has expired; one that is valid longer goes on the next day.
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

/** @returns the fill of a trade; undefined if it is known already, or lacks an id, a price or a quantity. */
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
  // A venue may use an ExecID again, as on another day: only a repetition begins below what is filled.
  if (isNamed && rounded(cumQty - quantity) < filledOf(known)) return undefined;
  const saidAt = fromFixTime(valueOf(message, tags.TransactTime) ?? '') ?? NaN;
  const filledAt = saidAt >= earliestMs && saidAt < endMs ? saidAt : nowMs;
  const ownId = isNamed ? `${fillId}/${cumQty}`.slice(-fillIdLengthMax) : fillId;
  return { fill: { fillId: ownId, price, quantity, filledAt: toIsoTime(filledAt) } };
}

/** Whether the report answers an OrderStatusRequest: ExecType I, or before FIX 4.4 ExecTransType 3. */
export function isStatusAnswer(message: ReceivedMessage): boolean {
  return valueOf(message, tags.ExecType) === 'I' || valueOf(message, tags.ExecTransType) === '3';
}

/** The outcome of a requested cancel, by the status in which its order has ended. */
// oxfmt-ignore
export const cancelOutcomes: Readonly<Partial<Record<ReportableStatus, CancelEvidence>>> = {
  cancelled: { status: 'cancelled' },
  filled:    { status: 'too_late', reasonCode: 'already_filled' },
  rejected:  { status: 'too_late', reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late', reasonCode: 'already_cancelled' },
};

/** @returns OrdStatus of an OrderCancelReject; undefined for Rejected, which means an order that is not known. */
export function heldAs(message: ReceivedMessage): string | undefined {
  const ordStatus = valueOf(message, tags.OrdStatus);
  return ordStatus === '8' ? undefined : ordStatus;
}

/** @returns the outcome of a cancel by its OrderCancelReject. CxlRejReason (102): 0 too late, 1 unknown order. */
export function cancelRejection(message: ReceivedMessage): CancelEvidence {
  const status = ordStatuses[heldAs(message) ?? '']?.status;
  const reason = valueOf(message, tags.CxlRejReason);
  const text = valueOf(message, tags.Text);
  const native = { native: withoutUndefined({ code: reason, text }) };
  const ended = status && cancelOutcomes[status];
  if (ended !== undefined) return { ...ended, ...native };
  // With the OrdStatus of an order that rests, 0 means too late for now, as before an auction.
  if (reason === '0' && status === undefined) {
    return { status: 'too_late', reasonCode: 'already_filled', ...native };
  }
  if (reason === '1') {
    return { status: 'rejected', reasonCode: 'order_unknown_at_terminal', ...native };
  }
  return { status: 'rejected', reasonCode: 'unable_to_cancel', ...native };
}

/** @returns CumQty; undefined if it is below what the report itself says is filled: some venues leave it at 0. */
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
