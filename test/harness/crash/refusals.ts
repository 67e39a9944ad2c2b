/**
 * The refusals that an operation may get, and when; any other is a violation. `settles`: the refusal is
 * final; otherwise the operation stays open.
 */
import {
  commitAnswerMs,
  commitLookMs,
  commitOverdueMs,
} from '../../../src/store/storage-health.js';
import type { Operation } from './operation.js';
import { stopKinds, type Stops } from './stops.js';

/** Conditions under which the gateway may refuse. */
export interface Conditions {
  isDiskDead: boolean;
  isDraining: boolean;
  /** The operator may have closed the Public API. */
  mayBeClosed: boolean;
  readonly stops: Stops;
}

interface Refusal {
  readonly settles: (operation: Operation) => boolean;
  readonly mayCome: (operation: Operation, now: Conditions) => boolean;
}

/**
 * The answers of a commit are due together, `commitAnswerMs` after its first change, and others join it until the commit
 * before it is seen to hang.
 */
const unknownAfterMs = commitAnswerMs - commitOverdueMs - 2 * commitLookMs;

const always = (): boolean => true;
const never = (): boolean => false;
const isCancel = ({ name }: Operation): boolean => name.kind === 'cancel';

/** Refusal by a stop. It is final unless another attempt is under way, which may still be accepted. */
const stopped = (code: string): Refusal => ({
  settles: ({ underWay }) => underWay === 0,
  mayCome: (operation, { stops }) =>
    operation.name.kind === 'signal' && stops.mayRefuse(code, operation, operation.sentAt),
});

/** The ledger checks the daily limit itself. */
export const refusals: Readonly<Record<string, Refusal>> = {
  request_in_progress: { settles: never, mayCome: ({ attempts }) => attempts > 1 },
  // An earlier attempt was answered with `signal_processing_failed`.
  idempotency_outcome_unknown: { settles: never, mayCome: ({ attempts }) => attempts > 1 },
  signal_processing_failed: {
    settles: never,
    mayCome: ({ firstSentAt }, now) => now.isDiskDead || Date.now() - firstSentAt >= unknownAfterMs,
  },
  // On a busy machine a commit may take so long that it counts as one that hangs.
  storage_unavailable: { settles: never, mayCome: () => true },
  shutting_down: { settles: never, mayCome: (_, now) => now.isDraining },
  invalid_signal: { settles: always, mayCome: ({ name }) => Date.now() >= name.expiresAt },
  duplicate_signal_id: { settles: always, mayCome: ({ name }) => name.kind === 'signal' },
  daily_signal_limit_exceeded: { settles: always, mayCome: ({ name }) => name.kind === 'signal' },
  order_not_cancellable: { settles: always, mayCome: isCancel },
  cancel_already_in_progress: { settles: always, mayCome: isCancel },
  [stopKinds.halt.refusal]: stopped(stopKinds.halt.refusal),
  [stopKinds.freeze.refusal]: stopped(stopKinds.freeze.refusal),
  // Final for a first attempt only: an earlier one may have been accepted before the revocation.
  [stopKinds.revocation.refusal]: {
    ...stopped(stopKinds.revocation.refusal),
    settles: ({ attempts }) => attempts === 1,
  },
  terminal_unavailable: { settles: always, mayCome: isCancel },
};
