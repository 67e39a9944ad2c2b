/** Defines the answer to a cancel of all orders: what becomes of each order that it matched. */
import Type, { type Static } from 'typebox';
import { toIsoTime } from '../lib/clock.js';
import { isoTime, listOf, oneOf, openEnum, textOrNull } from '../lib/json-types.js';

/** Most orders that an answer lists. */
const listedMax = 1_000;

const cancelOutcomes = ['requested', 'already_requested', 'denied', 'not_sent'] as const;
export type CancelOutcome = (typeof cancelOutcomes)[number];

export const cancelOutcome = openEnum(oneOf(cancelOutcomes), 'What cancel-all did with the order.');

export const cancelledOrderSchema = Type.Object({
  orderRef: Type.String(),
  executionId: Type.String(),
  requestId: Type.String(),
  outcome: cancelOutcome,
  cancelRequestId: textOrNull,
});

export type CancelledOrder = Static<typeof cancelledOrderSchema>;

/** The body of the 202. */
export const cancelledOrdersSchema = Type.Object({
  cancelAllId: Type.String(),
  requestedAt: isoTime,
  matched: Type.Integer({ minimum: 0 }),
  truncated: Type.Boolean(),
  orders: listOf(cancelledOrderSchema),
});

export type CancelledOrders = Static<typeof cancelledOrdersSchema>;

export interface CancelAllResult {
  /** The answer to a bot. */
  readonly cancelled: CancelledOrders;
  /** Counts every matched order, listed or not. */
  readonly counts: Readonly<Record<CancelOutcome, number>>;
}

/** @returns the answer; it lists orders in the order of their acceptance. */
export function cancelledOrders(
  cancelAllId: string,
  requestedAt: number,
  matched: readonly CancelledOrder[],
): CancelledOrders {
  return {
    cancelAllId,
    requestedAt: toIsoTime(requestedAt),
    matched: matched.length,
    truncated: matched.length > listedMax,
    orders: matched.slice(0, listedMax).sort((a, b) => (a.executionId < b.executionId ? -1 : 1)),
  };
}
