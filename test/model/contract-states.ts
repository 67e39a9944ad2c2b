/**
 * The state tables of the contract's section 4, written a second time: with the product's own, a test would allow
 * its errors.
 */
type Moves = Readonly<Record<string, readonly string[]>>;

/** What a terminal tells of an order that it has, in the order in which the order passes through. */
const reported = [
  ...['submitted', 'working', 'partially_filled', 'filled', 'completed'],
  ...['cancelled', 'rejected', 'expired'],
];

/** Nobody but the gateway itself can deny. */
export const executionMoves: Moves = {
  queued: ['dispatched', 'denied', 'expired'],
  dispatched: [...reported, 'unknown'],
  submitted: [...reported.slice(1), 'unknown'],
  working: [...reported.slice(2), 'unknown'],
  partially_filled: ['filled', 'cancelled', 'expired', 'unknown'],
  filled: [],
  completed: [],
  cancelled: ['filled'],
  rejected: [],
  denied: [],
  expired: [],
  unknown: reported,
};

export const definitiveEnds = ['filled', 'completed', 'cancelled', 'rejected', 'denied', 'expired'];
/** `unknown` is final too, but correctable. */
export const finalStates = [...definitiveEnds, 'unknown'];
/** Orders that live at the terminal, or may. */
export const cancellable = ['submitted', 'working', 'partially_filled', 'unknown'];

/**
 * `requested` has not left the gateway, so no terminal can reject it; a late fill undoes `cancelled`; a terminal
 * may still report on a cancel that was called `unknown`.
 */
export const cancelMoves: Moves = {
  requested: ['dispatched', 'cancelled', 'too_late', 'not_sent', 'unknown'],
  dispatched: ['pending', 'cancelled', 'rejected', 'too_late', 'unknown'],
  pending: ['cancelled', 'rejected', 'too_late', 'unknown'],
  cancelled: ['too_late'],
  rejected: [],
  too_late: [],
  not_sent: [],
  unknown: ['pending', 'cancelled', 'rejected', 'too_late'],
};

export const openCancels = ['requested', 'dispatched', 'pending'];
/** All but what the gateway alone knows. */
export const reportedCancels = ['pending', 'cancelled', 'rejected', 'too_late', 'unknown'];

/** Status and reason of an open cancel by the end of its order. */
export const cancelEnds: Readonly<Record<string, readonly [string, string | null]>> = {
  filled: ['too_late', 'already_filled'],
  completed: ['too_late', 'already_filled'],
  cancelled: ['cancelled', null],
  rejected: ['too_late', 'already_cancelled'],
  expired: ['too_late', 'already_cancelled'],
};
