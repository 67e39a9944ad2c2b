/** Defines the request to cancel all open orders, and its response. */
import { field, text } from './json-fields.js';

/** Which orders are meant: those that match all fields that are given. */
export interface OrderFilter {
  /** A platform token, or several separated by commas. */
  readonly platform?: string;
  readonly instanceId?: string;
  readonly accountName?: string;
  readonly instrument?: string;
}

/** A cancel of all orders that is ready to be sent, as plain JSON. Store it before you send it. */
export interface PreparedCancelAll {
  readonly idempotencyKey: string;
  /** JSON text; the same bytes at every attempt. */
  readonly body: string;
  /** Unix milliseconds. */
  readonly preparedAt: number;
}

export interface CancelledOrder {
  readonly orderRef: string;
  readonly executionId: string;
  readonly requestId: string;
  /** Clients must accept unknown outcomes. */
  readonly outcome: 'requested' | 'already_requested' | 'denied' | 'not_sent' | (string & {});
  /** Null for an order that was denied. */
  readonly cancelRequestId: string | null;
}

/** The cancels are durable at the gateway. Their outcomes are in the statuses of the original signals. */
export interface CancelAllAcceptance {
  readonly cancelAllId: string;
  /** ISO 8601 UTC. */
  readonly requestedAt: string;
  readonly matched: number;
  /** Whether more orders matched than are listed. */
  readonly truncated: boolean;
  readonly orders: readonly CancelledOrder[];
  readonly idempotencyKey: string;
  /** True if an earlier attempt was accepted, and this is its stored response. */
  readonly replayed: boolean;
}

/** @returns undefined when the body is not that of an accepted cancel of all orders. */
export function readCancelAllAcceptance(
  body: unknown,
  idempotencyKey: string,
  replayed: boolean,
): CancelAllAcceptance | undefined {
  const isWhole =
    text(field(body, 'cancelAllId')) !== undefined &&
    Number.isInteger(field(body, 'matched')) &&
    Array.isArray(field(body, 'orders'));
  if (!isWhole) return undefined;
  const accepted = body as Omit<CancelAllAcceptance, 'idempotencyKey' | 'replayed'>;
  return { ...accepted, idempotencyKey, replayed };
}
