/** An open order of the paper broker, and its views in reports and events. */
import type { Timer } from '../lib/clock.js';
import type { Evidence } from '../plugins/protocol.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { stepsIn, rounded } from './decimal.js';
import type { OrderRequest } from './order-request.js';

/** Status in reports → the broker's own name of the state. */
// prettier-ignore
export const orderStates = {
  submitted:        'Accepted',
  working:          'Working',
  partially_filled: 'PartFilled',
  filled:           'Filled',
  cancelled:        'Cancelled',
} as const;

export type OrderStatus = keyof typeof orderStates;

export interface PaperOrder {
  readonly executionId: string;
  readonly orderRef: string | undefined;
  /** The broker's own number. */
  readonly orderId: string;
  readonly request: OrderRequest;
  status: OrderStatus;
  filledQuantity: number;
  /** Sum of price times quantity over the fills. */
  filledValue: number;
  fillCount: number;
  piecesLeft: number;
  /** Runs until the next partial fill. */
  pieceTimer: Timer | undefined;
  /** Pending cancels: cancelRequestId → timer. */
  readonly cancels: Map<string, Timer>;
}

export function remainingOf({ request, filledQuantity }: PaperOrder): number {
  return rounded(request.quantity - filledQuantity);
}

export function averagePriceOf({ filledValue, filledQuantity }: PaperOrder): number | undefined {
  return filledQuantity === 0 ? undefined : rounded(filledValue / filledQuantity);
}

export function isMarketable({ request }: PaperOrder, price: number): boolean {
  if (request.limitPrice === undefined) return true;
  return request.side === 'buy' ? price <= request.limitPrice : price >= request.limitPrice;
}

/** @returns the quantity of the next fill: the rest, spread evenly over the remaining fills. */
export function nextPieceOf(order: PaperOrder): number {
  const { quantityStep } = order.request.instrument;
  const stepsLeft = stepsIn(remainingOf(order), quantityStep) ?? 0;
  return rounded(Math.ceil(stepsLeft / order.piecesLeft) * quantityStep);
}

export function evidenceOf(order: PaperOrder, reasonCode?: ReasonCode): Evidence {
  const averageFillPrice = averagePriceOf(order);
  return {
    status: order.status,
    ...(reasonCode === undefined ? {} : { reasonCode }),
    filledQuantity: order.filledQuantity,
    remainingQuantity: remainingOf(order),
    ...(averageFillPrice === undefined ? {} : { averageFillPrice }),
    native: { orderId: order.orderId, state: orderStates[order.status], text: describe(order) },
  };
}

/** @returns the order as in `order_update` and `state_snapshot`. */
export function viewOf(order: PaperOrder): object {
  const { instrument, side, executionType, limitPrice, quantity } = order.request;
  return {
    orderId: order.orderId,
    state: orderStates[order.status],
    instrument: instrument.symbol,
    side,
    executionType,
    limitPrice: limitPrice ?? null,
    quantity,
    filledQuantity: order.filledQuantity,
    remainingQuantity: remainingOf(order),
    averageFillPrice: averagePriceOf(order) ?? null,
  };
}

export function describe(order: PaperOrder): string {
  const { instrument, side, executionType, limitPrice, quantity } = order.request;
  const at = limitPrice === undefined ? '' : ` ${limitPrice}`;
  const head = `${order.orderId} ${side} ${quantity} ${instrument.symbol} ${executionType}${at}`;
  const average = averagePriceOf(order);
  const filled = average === undefined ? '' : `, ${order.filledQuantity} filled at ${average}`;
  return `${head}: ${orderStates[order.status]}${filled}`;
}
