/**
 * Bounds how many requests one turn of the event loop answers at once: a client may send thousands in one segment, and
 * the native server handles them one after the other. An answer beyond the bound waits for the next turn; the native
 * server then closes the connection if more of its requests have come (native-notes/http-parser.md). So a client
 * that has one request under way at a time is answered a turn later at most, and a flood gets no further.
 */
import { LoopTurns } from '../lib/loop-turns.js';

/** Refusals of signals, the dearest ones, take four milliseconds together. */
export const answersPerTurnMax = 64;

export class AnswersPerTurn {
  readonly #turns = new LoopTurns();
  #turn = 0;
  #answers = 0;

  /** Numbers the turn, for a request that comes in it. */
  current(): number {
    return this.#turns.current();
  }

  /** Counts an answer. @returns whether it has to wait: more were given in this turn, and its request came in it. */
  isUsedUp(requestTurn: number): boolean {
    const turn = this.#turns.current();
    if (requestTurn !== turn) return false;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#answers = 0;
    }
    return ++this.#answers > answersPerTurnMax;
  }
}
