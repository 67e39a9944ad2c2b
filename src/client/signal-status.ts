/**
 * Defines the status of a signal, the response of `GET /api/v1/signals/{requestId}`. Times are ISO 8601 UTC;
 * unknown values are null. Source: sections 3 and 4 of the contract.
 */
import type { CancelStatus } from '../model/cancellation.js';
import type { Delivery, ExecutionStatus, Fill, NativeState } from '../model/execution.js';
import { field, text } from './json-fields.js';

export type { CancelStatus, ExecutionStatus, Fill as FillView, NativeState as NativeView };

export interface SignalStatus {
  readonly requestId: string;
  readonly signalId: string;
  /** `completed` once every execution is final. */
  readonly status: 'accepted' | 'completed';
  readonly acceptedAt: string;
  /** The signal is not sent to a terminal after this time. */
  readonly expiresAt: string;
  readonly platform: string;
  readonly type: string;
  readonly cmd: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  readonly executions: readonly ExecutionView[];
}

/** The execution of the signal at one terminal. */
export interface ExecutionView {
  readonly executionId: string;
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  /** Final from `filled` on; a late report may still correct `unknown`. */
  readonly status: ExecutionStatus;
  /** Reason of the status, such as `insufficient_funds`; new codes may be added. */
  readonly reasonCode: string | null;
  /** Distinguishes "never sent" from "sent, result unknown". */
  readonly delivery: Delivery;
  /** Identifies the order in a cancel; null unless the signal submits an order. */
  readonly orderRef: string | null;
  readonly side: string | null;
  readonly executionType: string | null;
  readonly instrument: string | null;
  readonly quantity: number | null;
  readonly limitPrice: number | null;
  readonly filledQuantity: number | null;
  readonly remainingQuantity: number | null;
  readonly averageFillPrice: number | null;
  readonly fills: readonly Fill[];
  /** Some fills are not listed; the quantities count all of them. */
  readonly fillsTruncated?: true;
  /** The order's state as the terminal reports it. */
  readonly native: NativeState | null;
  readonly createdAt: string;
  readonly dispatchedAt: string | null;
  readonly confirmedAt: string | null;
  readonly updatedAt: string;
  readonly cancel: CancelView | null;
}

/** The latest cancel of the execution. */
export interface CancelView {
  readonly cancelRequestId: string;
  /** Final from `cancelled` on; after `rejected`, `not_sent` or `unknown` a new cancel is allowed. */
  readonly status: CancelStatus;
  readonly reasonCode: string | null;
  readonly requestedAt: string;
  readonly updatedAt: string;
}

/** @returns undefined when the body is not the status of a signal. */
export function readSignalStatus(body: unknown): SignalStatus | undefined {
  const isStatus =
    text(field(body, 'requestId')) !== undefined &&
    text(field(body, 'status')) !== undefined &&
    Array.isArray(field(body, 'executions'));
  return isStatus ? (body as SignalStatus) : undefined;
}
