/**
 * The state tables of the contract's section 4, written a second time: the product's own would allow its
 * errors. One rule is stricter: the terminals never report `unknown`, so no execution with a report becomes
 * `unknown`.
 */
type Moves = Readonly<Record<string, readonly string[]>>;

const evident = [
  'submitted',
  'working',
  'partially_filled',
  'filled',
  'completed',
  'cancelled',
  'rejected',
  'expired',
];
const afterWorking = evident.slice(evident.indexOf('partially_filled'));

const executionMoves: Moves = {
  queued: ['dispatched', 'denied', 'expired'],
  dispatched: [...evident, 'unknown'],
  submitted: [...evident, 'unknown'],
  working: afterWorking,
  partially_filled: ['filled', 'cancelled', 'expired'],
  filled: [],
  completed: [],
  cancelled: ['filled'],
  rejected: [],
  denied: [],
  expired: [],
  unknown: evident,
};

const cancelEnds = ['cancelled', 'rejected', 'too_late', 'unknown'];
const cancelMoves: Moves = {
  requested: ['dispatched', 'not_sent', ...cancelEnds],
  dispatched: ['pending', ...cancelEnds],
  pending: cancelEnds,
  cancelled: ['too_late'],
  rejected: [],
  too_late: [],
  not_sent: [],
  unknown: ['pending', 'cancelled', 'rejected', 'too_late'],
};

export const deliveries = ['not_sent', 'sent', 'confirmed'];
export const definitiveEnds = ['filled', 'completed', 'cancelled', 'rejected', 'denied', 'expired'];
/** `unknown` is final too, but correctable. */
export const finalStates = [...definitiveEnds, 'unknown'];
export const openCancels = ['requested', 'dispatched', 'pending'];

export function executionMayBecome(from: string, to: string): boolean {
  return reaches(executionMoves, from, to);
}

export function cancelMayBecome(from: string, to: string): boolean {
  return reaches(cancelMoves, from, to);
}

/** Allows any number of moves, as the harness does not read every state in between. */
function reaches(moves: Moves, from: string, to: string): boolean {
  const reached = new Set([from]);
  for (const state of reached) for (const next of moves[state] ?? []) reached.add(next);
  return reached.has(to);
}
