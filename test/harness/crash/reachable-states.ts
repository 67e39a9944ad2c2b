/**
 * What a reader that does not read every state may see next. One rule is stricter than the contract: the terminals
 * never report `unknown`, so no order that is working becomes `unknown`.
 */
import { cancelMoves, executionMoves } from '../../model/contract-states.js';

type Moves = typeof executionMoves;

const neverUnknown = ['working', 'partially_filled'];
const terminalMoves: Moves = Object.fromEntries(
  Object.entries(executionMoves).map(([from, next]) => [
    from,
    next.filter((to) => to !== 'unknown' || !neverUnknown.includes(from)),
  ]),
);

export function executionMayBecome(from: string, to: string): boolean {
  return reaches(terminalMoves, from, to);
}

export function cancelMayBecome(from: string, to: string): boolean {
  return reaches(cancelMoves, from, to);
}

function reaches(moves: Moves, from: string, to: string): boolean {
  const reached = new Set([from]);
  for (const state of reached) for (const next of moves[state] ?? []) reached.add(next);
  return reached.has(to);
}
