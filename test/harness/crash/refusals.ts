/**
 * The refusals that an operation may get, and when; any other is a violation. `settles`: the refusal is
 * final; otherwise the operation stays open.
 */
import type { Operation } from './operation.js';

/** Conditions under which the gateway may refuse. */
export interface Conditions {
  isDiskDead: boolean;
  isDraining: boolean;
  /** The operator may have closed the Public API. */
  mayBeClosed: boolean;
}

interface Refusal {
  readonly settles: boolean;
  readonly mayCome: (operation: Operation, now: Conditions) => boolean;
}

const isCancel = ({ name }: Operation): boolean => name.kind === 'cancel';

/** The ledger checks the daily limit itself. */
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
