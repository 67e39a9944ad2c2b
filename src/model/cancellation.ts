/**
 * The cancel of one execution: its states, their moves (section 4 of the contract), and the rule
 * that a fill which wins the race ends it as `too_late`. An execution shows its latest cancel only.
 * Everything here is pure.
 */
import type { ReasonCode } from './reason-codes.js';

/** `next` lists the moves; a further cancel is refused while the latest one is not final. */
// prettier-ignore
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

/** What a plugin may report of a cancel. */
export const reportableCancelStatuses = [
  'pending',
  'cancelled',
  'rejected',
  'too_late',
  'unknown',
] as const satisfies readonly CancelStatus[];

export type ReportableCancelStatus = (typeof reportableCancelStatuses)[number];

export interface Cancellation {
  readonly cancelRequestId: string;
  /** Counts an execution's cancels from 1. */
  readonly attempt: number;
  readonly status: CancelStatus;
  readonly reasonCode: ReasonCode | null;
  readonly requestedAt: number;
  readonly dispatchedAt: number | null;
  readonly updatedAt: number;
  /** The plugin has it safely noted: it is not sent again. */
  readonly acknowledged: boolean;
}

/** What an execution's own end says of a cancel: the fill won, or the order is gone. */
// prettier-ignore
const endings: Readonly<Record<string, { readonly status: CancelStatus; readonly reasonCode: ReasonCode | null }>> = {
  filled:    { status: 'too_late',  reasonCode: 'already_filled' },
  cancelled: { status: 'cancelled', reasonCode: null },
  completed: { status: 'too_late',  reasonCode: 'already_filled' },
  rejected:  { status: 'too_late',  reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late',  reasonCode: 'already_cancelled' },
};

/** @returns the cancel once its execution stands at `executionStatus`; itself where that ends nothing. */
export function settleCancel(
  cancel: Cancellation,
  executionStatus: string,
  now: number,
): Cancellation {
  const ending = endings[executionStatus];
  if (ending === undefined) return cancel;
  return moveCancel(cancel, ending.status, ending.reasonCode, now) ?? cancel;
}

export function isFinalCancel(status: CancelStatus): boolean {
  return cancelStates[status].final;
}

/** @returns the cancel after the move, or undefined when the table forbids it or nothing changes. */
export function moveCancel(
  cancel: Cancellation,
  to: CancelStatus,
  reasonCode: ReasonCode | null,
  now: number,
): Cancellation | undefined {
  if (!(cancelStates[cancel.status].next as readonly CancelStatus[]).includes(to)) return undefined;
  return { ...cancel, status: to, reasonCode, updatedAt: now };
}
