/**
 * Defines an execution: one command for one terminal, and its state. The table holds the states and the
 * transitions between them (section 4 of the contract). An execution is immutable; the functions in
 * signals/moves.ts return the changed one.
 */
import { isFinalCancel, type Cancellation } from './cancellation.js';
import type { ReasonCode } from './reason-codes.js';

/** `next` lists the allowed transitions. A report with any other status is backward: its status is ignored. */
// oxfmt-ignore
export const executionStates = {
  queued:           { final: false, next: ['dispatched', 'denied', 'expired'] },
  dispatched:       { final: false, next: ['submitted', 'working', 'partially_filled', 'filled', 'completed', 'cancelled', 'rejected', 'expired', 'unknown'] },
  submitted:        { final: false, next: ['working', 'partially_filled', 'filled', 'completed', 'cancelled', 'rejected', 'expired', 'unknown'] },
  working:          { final: false, next: ['partially_filled', 'filled', 'completed', 'cancelled', 'rejected', 'expired', 'unknown'] },
  partially_filled: { final: false, next: ['filled', 'cancelled', 'expired', 'unknown'] },
  filled:           { final: true,  next: [] },
  completed:        { final: true,  next: [] },
  cancelled:        { final: true,  next: ['filled'] },
  rejected:         { final: true,  next: [] },
  denied:           { final: true,  next: [] },
  expired:          { final: true,  next: [] },
  unknown:          { final: true,  next: ['submitted', 'working', 'partially_filled', 'filled', 'completed', 'cancelled', 'rejected', 'expired'] },
} as const satisfies Record<string, { final: boolean; next: readonly string[] }>;

export type ExecutionStatus = keyof typeof executionStates;

/** Statuses that a plugin may report. Only the gateway sets `queued`, `dispatched` and `denied`. */
export const reportableStatuses = [
  'submitted',
  'working',
  'partially_filled',
  'filled',
  'completed',
  'cancelled',
  'rejected',
  'expired',
  'unknown',
] as const satisfies readonly ExecutionStatus[];

export type ReportableStatus = (typeof reportableStatuses)[number];

/** How far the command was delivered. Distinguishes "never sent" from "sent, result unknown". */
export const deliveries = ['not_sent', 'sent', 'confirmed'] as const;
export type Delivery = (typeof deliveries)[number];

export interface Fill {
  readonly fillId: string;
  readonly price: number;
  readonly quantity: number;
  /** ISO 8601 UTC. */
  readonly filledAt: string;
}

/** Fills that are counted and not listed. */
export interface UnlistedFills {
  readonly count: number;
  readonly quantity: number;
  /** Sum of price times quantity. */
  readonly value: number;
  readonly lastIds: readonly string[];
}

/** The order's state as the terminal reports it; a field is null if it was not reported. */
export interface NativeState {
  readonly orderId: string | null;
  readonly state: string | null;
  readonly code: string | number | null;
  readonly text: string | null;
}

export interface Execution {
  readonly executionId: string;
  readonly requestId: string;
  readonly signalId: string;
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  readonly status: ExecutionStatus;
  readonly reasonCode: ReasonCode | null;
  readonly delivery: Delivery;
  /** Null unless the signal submits an order. */
  readonly orderRef: string | null;
  readonly side: string | null;
  readonly executionType: string | null;
  readonly instrument: string | null;
  readonly quantity: number | null;
  readonly limitPrice: number | null;
  readonly filledQuantity: number | null;
  readonly remainingQuantity: number | null;
  readonly averageFillPrice: number | null;
  /** The listed fills, at most `fillsPerExecution` of the limits. */
  readonly fills: readonly Fill[];
  /** The fills beyond the listed ones; absent while there are none. */
  readonly unlistedFills?: UnlistedFills;
  /** How many of the fills have a row of their own in the store, and are not in `fills`; absent if all are there. */
  readonly fillRows?: number;
  readonly native: NativeState | null;
  readonly createdAt: number;
  readonly dispatchedAt: number | null;
  /** Time of the first report. */
  readonly confirmedAt: number | null;
  readonly updatedAt: number;
  readonly cancel: Cancellation | null;
  /** Idempotency-Keys of its cancels. Only in records of earlier versions: see the collection `cancelKeys`. */
  readonly cancelKeys?: readonly string[];
  /** The API key that submitted it; absent in records of versions that did not write it. */
  readonly keyId?: number | undefined;
  /** The signal's `ts + ttlMs`. */
  readonly expiresAt: number;
  /**
   * Durable before the first submit frame is sent. After a restart, a `queued` execution with this flag may
   * have been sent, so it counts as sent. Cleared when the terminal is lost before the frame, and by a stop: the
   * frame is not sent, or not again.
   */
  readonly maySend: boolean;
}

/** What a plugin reports about an execution. Fields that it left out are absent. */
export interface ExecutionReport {
  readonly status: ReportableStatus;
  readonly reasonCode?: ReasonCode;
  readonly filledQuantity?: number;
  readonly remainingQuantity?: number;
  readonly averageFillPrice?: number;
  readonly fill?: Fill;
  readonly native?: NativeState;
}

export function isFinal(status: ExecutionStatus): boolean {
  return executionStates[status].final;
}

/** Whether a signal with these executions is completed: every one is final. */
export function isCompleted(executions: readonly Execution[]): boolean {
  return executions.every(({ status }) => isFinal(status));
}

/** Whether the execution is final and has no cancel in progress. */
export function isSettled({ status, cancel }: Execution): boolean {
  return isFinal(status) && (cancel === null || isFinalCancel(cancel.status));
}

/** Whether a bot may request a cancel (section 4 of the contract). */
export function isCancellable({ status, dispatchedAt }: Execution): boolean {
  if (status === 'unknown') return dispatchedAt !== null;
  return status === 'submitted' || status === 'working' || status === 'partially_filled';
}

/** An order that may be live at its terminal, or may yet reach it. */
export function isOpenOrder(execution: Execution): boolean {
  if (execution.orderRef === null) return false;
  return !isFinal(execution.status) || isCancellable(execution);
}

/** Whether the cancel was sent and not acknowledged, and the order may be live. */
export function isCancelUnacknowledged(execution: Execution): boolean {
  const { cancel } = execution;
  if (cancel === null || cancel.acknowledged || cancel.dispatchedAt === null) return false;
  return (cancel.status === 'dispatched' || cancel.status === 'unknown') && isOpenOrder(execution);
}

/** Keeps the order's id and state if a report leaves them out; code and text are those of the latest report. */
export function nativeAfter(
  known: NativeState | null,
  told: NativeState | undefined,
): NativeState | null {
  if (told === undefined || known === null) return told ?? known;
  return { ...told, orderId: told.orderId ?? known.orderId, state: told.state ?? known.state };
}

export function mayMove(from: ExecutionStatus, to: ExecutionStatus): boolean {
  return (executionStates[from].next as readonly ExecutionStatus[]).includes(to);
}
