/**
 * Which refusals an operation may get, and when: everything else is a violation. `settles` says
 * whether the operation is over with it; if not, its outcome stays open.
 */
import type { Operation } from './operation.js';

/** What is going on around the gateway. */
export interface Circumstances {
  isDiskDead: boolean;
  isDraining: boolean;
  /** The operator may have closed the Public API. */
  mayBeClosed: boolean;
}

interface Refusal {
  readonly settles: boolean;
  readonly mayCome: (operation: Operation, now: Circumstances) => boolean;
}

const isCancel = ({ name }: Operation): boolean => name.kind === 'cancel';

/** The daily limit is judged where the count is known. */
export const refusals: Readonly<Record<string, Refusal>> = {
  request_in_progress: { settles: false, mayCome: ({ attempts }) => attempts > 1 },
  idempotency_outcome_unknown: { settles: false, mayCome: (_, now) => now.isDiskDead },
  signal_processing_failed: { settles: false, mayCome: (_, now) => now.isDiskDead },
  shutting_down: { settles: false, mayCome: (_, now) => now.isDraining },
  invalid_signal: { settles: true, mayCome: ({ name }) => Date.now() >= name.expiresAt },
  duplicate_signal_id: { settles: true, mayCome: ({ name }) => name.kind === 'signal' },
  daily_signal_limit_exceeded: { settles: true, mayCome: ({ name }) => name.kind === 'signal' },
  order_not_cancellable: { settles: true, mayCome: isCancel },
  cancel_already_in_progress: { settles: true, mayCome: isCancel },
  terminal_unavailable: { settles: true, mayCome: isCancel },
};
