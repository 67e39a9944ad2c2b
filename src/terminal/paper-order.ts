/** One order of the paper broker while it lives, and how it looks in reports and in events. */
import type { Timer } from '../lib/clock.js';
import type { Evidence } from '../plugins/protocol.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { stepsIn, tidy } from './decimal.js';
import type { OrderRequest } from './order-request.js';

/** An order's states: what the gateway is told, and the broker's own word for it. */
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
  /** Runs until the next piece may be filled. */
  pieceTimer: Timer | undefined;
  /** Cancels that are under way: cancelRequestId → its timer. */
  readonly cancels: Map<string, Timer>;
}

export function remainingOf({ request, filledQuantity }: PaperOrder): number {
  return tidy(request.quantity - filledQuantity);
}

export function averagePriceOf({ filledValue, filledQuantity }: PaperOrder): number | undefined {
  return filledQuantity === 0 ? undefined : tidy(filledValue / filledQuantity);
}

export function isMarketable({ request }: PaperOrder, price: number): boolean {
  if (request.limitPrice === undefined) return true;
  return request.side === 'buy' ? price <= request.limitPrice : price >= request.limitPrice;
}

/** Size of the next piece: what is left, spread evenly over the pieces that are left. */
export function nextPieceOf(order: PaperOrder): number {
  const { quantityStep } = order.request.instrument;
  const stepsLeft = stepsIn(remainingOf(order), quantityStep) ?? 0;
  return tidy(Math.ceil(stepsLeft / order.piecesLeft) * quantityStep);
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

/** The order as `order_update` and `state_snapshot` show it. */
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
