/** An open order of the paper broker, and its views in reports and events. */
import type { Timer } from '../lib/clock.js';
import { dayMs } from '../lib/durations.js';
import type { Evidence } from '../plugins/protocol.js';
import type { Fill } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { stepsIn, rounded } from '../lib/decimal.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import type { KnownExecution } from './journal-state.js';
import type { OrderRequest } from './order-request.js';
import type { Origin } from './terminal-event.js';

/** Status in reports → the broker's own name of the state. */
// oxfmt-ignore
export const orderStates = {
  submitted:        'Accepted',
  working:          'Working',
  partially_filled: 'PartFilled',
  filled:           'Filled',
  cancelled:        'Cancelled',
  expired:          'Expired',
} as const;

/** The broker's own name of a stop order that waits for its price. */
const waitingState = 'StopPending';

export type OrderStatus = keyof typeof orderStates;

export interface PaperOrder {
  readonly executionId: string;
  readonly orderRef: string | undefined;
  /** The broker's own number. */
  readonly orderId: string;
  readonly request: OrderRequest;
  status: OrderStatus;
  /** Whether it may trade: a stop may not before the price has reached its stopPrice. */
  isTriggered: boolean;
  filledQuantity: number;
  /** Sum of price times quantity over the fills. */
  filledValue: number;
  fillCount: number;
  /** Number of fills that it is split into. */
  readonly pieces: number;
  /** Runs until the next partial fill. */
  pieceTimer: Timer | undefined;
  /** End of the day of a `day` order, in Unix milliseconds, and its timer. */
  readonly endsAt: number | undefined;
  dayTimer: Timer | undefined;
}

export interface NewOrder {
  readonly orderId: string;
  /** Partial fills of an order that does not ask for a number. */
  readonly partialFills: number;
  /** Unix milliseconds; a day is a UTC day. */
  readonly now: number;
}

export function newOrder(
  { executionId, orderRef }: Origin,
  request: OrderRequest,
  { orderId, partialFills, now }: NewOrder,
): PaperOrder {
  return {
    executionId,
    orderRef,
    orderId,
    request,
    status: 'submitted',
    isTriggered: request.stopPrice === undefined,
    filledQuantity: 0,
    filledValue: 0,
    fillCount: 0,
    pieces: request.partialFills ?? partialFills,
    pieceTimer: undefined,
    endsAt: request.timeInForce === 'day' ? (Math.floor(now / dayMs) + 1) * dayMs : undefined,
    dayTimer: undefined,
  };
}

/** @returns the order in the state in which an earlier process has left it. */
export function resumed(order: PaperOrder, { status, fills, native }: KnownExecution): PaperOrder {
  order.status = status as OrderStatus;
  order.isTriggered ||= native?.state !== undefined && native.state !== waitingState;
  for (const fill of fills) addFill(order, fill);
  return order;
}

export function addFill(
  order: PaperOrder,
  { price, quantity }: Pick<Fill, 'price' | 'quantity'>,
): void {
  order.filledQuantity = rounded(order.filledQuantity + quantity);
  order.filledValue += price * quantity;
  order.fillCount++;
}

export function remainingOf({ request, filledQuantity }: PaperOrder): number {
  return rounded(request.quantity - filledQuantity);
}

function averagePriceOf({ filledValue, filledQuantity }: PaperOrder): number | undefined {
  return filledQuantity === 0 ? undefined : rounded(filledValue / filledQuantity);
}

/** Whether the price has reached the stopPrice; always for an order without one. */
export function isReached({ side, stopPrice }: OrderRequest, price: number): boolean {
  if (stopPrice === undefined) return true;
  return side === 'buy' ? price >= stopPrice : price <= stopPrice;
}

export function isMarketable({ request, isTriggered }: PaperOrder, price: number): boolean {
  if (!isTriggered) return false;
  if (request.limitPrice === undefined) return true;
  return request.side === 'buy' ? price <= request.limitPrice : price >= request.limitPrice;
}

/** @returns the quantity of the next fill: the rest, spread evenly over the remaining fills; all for `fok`. */
export function nextPieceOf(order: PaperOrder): number {
  if (order.request.timeInForce === 'fok') return remainingOf(order);
  const { quantityStep } = order.request.instrument;
  const stepsLeft = stepsIn(remainingOf(order), quantityStep) ?? 0;
  const piecesLeft = Math.max(1, order.pieces - order.fillCount);
  return rounded(Math.ceil(stepsLeft / piecesLeft) * quantityStep);
}

export function evidenceOf(order: PaperOrder, reasonCode?: ReasonCode): Evidence {
  return withoutUndefined({
    status: order.status,
    reasonCode,
    filledQuantity: order.filledQuantity,
    remainingQuantity: remainingOf(order),
    averageFillPrice: averagePriceOf(order),
    native: { orderId: order.orderId, state: stateOf(order), text: describe(order) },
  });
}

function stateOf({ status, isTriggered }: PaperOrder): string {
  return status === 'working' && !isTriggered ? waitingState : orderStates[status];
}

/** @returns the order as in `order_update` and `state_snapshot`. */
export function viewOf(order: PaperOrder): object {
  const { instrument, limitPrice = null, ...request } = order.request;
  return {
    orderId: order.orderId,
    state: stateOf(order),
    ...request,
    instrument: instrument.symbol,
    limitPrice,
    filledQuantity: order.filledQuantity,
    remainingQuantity: remainingOf(order),
    averageFillPrice: averagePriceOf(order) ?? null,
  };
}

export function describe(order: PaperOrder): string {
  const { instrument, side, executionType, stopPrice, limitPrice, quantity } = order.request;
  const { timeInForce, comment } = order.request;
  const words = [
    order.orderId,
    side,
    quantity,
    instrument.symbol,
    executionType,
    stopPrice,
    limitPrice,
  ];
  const head = [...words, timeInForce === 'gtc' ? undefined : timeInForce]
    .filter((word) => word !== undefined)
    .join(' ');
  const average = averagePriceOf(order);
  const filled = average === undefined ? '' : `, ${order.filledQuantity} filled at ${average}`;
  const note = comment === undefined ? '' : ` (${comment})`;
  return `${head}: ${stateOf(order)}${filled}${note}`;
}
