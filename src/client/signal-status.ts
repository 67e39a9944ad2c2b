/**
 * How far a signal has come, as `GET /api/v1/signals/{requestId}` tells it. Times are ISO 8601 UTC;
 * what is not known is null. Source: sections 3 and 4 of the contract.
 */
import { field, text } from './json-fields.js';

export interface SignalStatus {
  readonly requestId: string;
  readonly signalId: string;
  /** `completed` once every execution is final. */
  readonly status: 'accepted' | 'completed';
  readonly acceptedAt: string;
  /** No terminal gets the signal after it. */
  readonly expiresAt: string;
  readonly platform: string;
  readonly type: string;
  readonly cmd: string;
  readonly instanceId: string | null;
  readonly executions: readonly ExecutionView[];
}

/** What one terminal made of the signal. */
export interface ExecutionView {
  readonly executionId: string;
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  readonly status: ExecutionStatus;
  /** Why it stands there, such as `insufficient_funds`; new codes may be added. */
  readonly reasonCode: string | null;
  /** Tells "never delivered" from "delivered, result not known". */
  readonly delivery: 'not_sent' | 'sent' | 'confirmed';
  /** Names the order for a cancel; null unless the signal submits an order. */
  readonly orderRef: string | null;
  readonly side: string | null;
  readonly executionType: string | null;
  readonly instrument: string | null;
  readonly quantity: number | null;
  readonly limitPrice: number | null;
  readonly filledQuantity: number | null;
  readonly remainingQuantity: number | null;
  readonly averageFillPrice: number | null;
  readonly fills: readonly FillView[];
  /** The terminal's own words on the order. */
  readonly native: NativeView | null;
  readonly createdAt: string;
  readonly dispatchedAt: string | null;
  readonly confirmedAt: string | null;
  readonly updatedAt: string;
  readonly cancel: CancelView | null;
}

/** Final from `filled` on, where `unknown` may still be corrected by evidence. */
export type ExecutionStatus =
  | 'queued'
  | 'dispatched'
  | 'submitted'
  | 'working'
  | 'partially_filled'
  | 'filled'
  | 'completed'
  | 'cancelled'
  | 'rejected'
  | 'denied'
  | 'expired'
  | 'unknown';

export interface FillView {
  readonly fillId: string;
  readonly price: number;
  readonly quantity: number;
  readonly filledAt: string;
}

export interface NativeView {
  readonly orderId: string | null;
  readonly state: string | null;
  readonly code: string | number | null;
  readonly text: string | null;
}

/** The latest cancel of the execution. */
export interface CancelView {
  readonly cancelRequestId: string;
  readonly status: CancelStatus;
  readonly reasonCode: string | null;
  readonly requestedAt: string;
  readonly updatedAt: string;
}

/** Final from `cancelled` on; after `rejected`, `not_sent` or `unknown` a new cancel is allowed. */
export type CancelStatus =
  | 'requested'
  | 'dispatched'
  | 'pending'
  | 'cancelled'
  | 'rejected'
  | 'too_late'
  | 'not_sent'
  | 'unknown';

/** @returns undefined when the answer is not a signal's status. */
export function readSignalStatus(body: unknown): SignalStatus | undefined {
  const isStatus =
    text(field(body, 'requestId')) !== undefined &&
    text(field(body, 'status')) !== undefined &&
    Array.isArray(field(body, 'executions'));
  return isStatus ? (body as SignalStatus) : undefined;
}
