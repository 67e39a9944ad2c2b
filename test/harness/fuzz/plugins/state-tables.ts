/**
 * The state tables of PROTOCOL.md and the contract, written a second time, independent of the
 * product's.
 */
const ends = ['filled', 'completed', 'cancelled', 'rejected', 'expired', 'unknown'];

export const executionMoves: Readonly<Record<string, readonly string[]>> = {
  queued: [],
  dispatched: ['submitted', 'working', 'partially_filled', ...ends],
  submitted: ['working', 'partially_filled', ...ends],
  working: ['partially_filled', ...ends],
  partially_filled: ['filled', 'cancelled', 'expired', 'unknown'],
  filled: [],
  completed: [],
  cancelled: ['filled'],
  rejected: [],
  denied: [],
  expired: [],
  unknown: ['submitted', 'working', 'partially_filled', ...ends.slice(0, -1)],
};

export const cancelMoves: Readonly<Record<string, readonly string[]>> = {
  dispatched: ['pending', 'cancelled', 'rejected', 'too_late', 'unknown'],
  pending: ['cancelled', 'rejected', 'too_late', 'unknown'],
  cancelled: ['too_late'],
  rejected: [],
  too_late: [],
  unknown: ['pending', 'cancelled', 'rejected', 'too_late'],
};

/** Status and reason of a pending cancel by the end of its order. */
export const cancelEnds: Readonly<Record<string, readonly [string, string | null]>> = {
  filled: ['too_late', 'already_filled'],
  completed: ['too_late', 'already_filled'],
  cancelled: ['cancelled', null],
  rejected: ['too_late', 'already_cancelled'],
  expired: ['too_late', 'already_cancelled'],
};

export const cancellable: readonly string[] = [
  'submitted',
  'working',
  'partially_filled',
  'unknown',
];
