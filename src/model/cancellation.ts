/**
 * Defines the cancel of an execution: its states and the transitions between them (section 4 of the contract).
 * An execution holds only its latest cancel. The transitions are implemented in signals/cancel-moves.ts.
 */
import { dayMs, hourMs } from '../lib/durations.js';
import type { ReasonCode } from './reason-codes.js';
import type { Trail } from './trail.js';

/** `next` lists the allowed transitions. A new cancel is rejected until the latest one is final. */
// oxfmt-ignore
export const cancelStates = {
  requested:  { final: false, next: ['dispatched', 'cancelled', 'too_late', 'not_sent', 'unknown'] },
  dispatched: { final: false, next: ['pending', 'cancelled', 'rejected', 'too_late', 'unknown'] },
  pending:    { final: false, next: ['cancelled', 'rejected', 'too_late', 'unknown'] },
  cancelled:  { final: true,  next: ['too_late'] },
  rejected:   { final: true,  next: [] },
  too_late:   { final: true,  next: [] },
  not_sent:   { final: true,  next: [] },
  unknown:    { final: true,  next: ['pending', 'cancelled', 'rejected', 'too_late'] },
} as const satisfies Record<string, { final: boolean; next: readonly string[] }>;

export type CancelStatus = keyof typeof cancelStates;

/** Statuses that a plugin may report. */
export const reportableCancelStatuses = [
  'pending',
  'cancelled',
  'rejected',
  'too_late',
  'unknown',
] as const satisfies readonly CancelStatus[];

export type ReportableCancelStatus = (typeof reportableCancelStatuses)[number];

/** Who cancels, which is the reason that a cancelled or denied order then gets. */
export const cancelCauses = [
  'cancelled_by_api',
  'cancelled_by_operator',
  'cancel_after_expired',
] as const satisfies readonly ReasonCode[];

export type CancelCause = (typeof cancelCauses)[number];

/** How long a cancel of cancel-all waits for its terminal. */
export const cancelWaitMs = dayMs;

/**
 * How long a cancel without an acknowledgement is sent again after a reconnect. Ends before its execution becomes
 * unchangeable, however short the retention (signals/unchangeable.ts).
 */
export const cancelResendMs = dayMs - hourMs;

export interface Cancellation extends Trail {
  readonly cancelRequestId: string;
  /** Counts an execution's cancels from 1. */
  readonly attempt: number;
  readonly status: CancelStatus;
  readonly reasonCode: ReasonCode | null;
  readonly requestedAt: number;
  readonly dispatchedAt: number | null;
  readonly updatedAt: number;
  /** The plugin has stored it durably: it is not sent again. */
  readonly acknowledged: boolean;
  /** Absent: `cancelled_by_api`. */
  readonly cause?: CancelCause;
  /**
   * Unix ms. Until then the cancel waits for its terminal, across restarts. Absent for the cancel of a single
   * order, which is sent at once or not at all.
   */
  readonly waitsUntil?: number;
}

/** Whether the cancel is to be sent as soon as its terminal can take it. */
export function isWaiting(cancel: Cancellation | null): boolean {
  return cancel?.status === 'requested' && cancel.waitsUntil !== undefined;
}

export function isFinalCancel(status: CancelStatus): boolean {
  return cancelStates[status].final;
}

/** The time-out of a dead-man's switch; 0 disarms it. */
export const cancelAfterMs = { min: 5_000, max: 600_000 } as const;
