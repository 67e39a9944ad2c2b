/**
 * Bounds how many requests one turn of the event loop answers: a client may send thousands in one segment,
 * and the native server handles them one after the other. An answer beyond the bound waits for the next turn;
 * the native server closes its connection if further requests have come on it (native-notes/http-parser.md).
 * So a client that has one request under way at a time is answered at most a turn later, and a flood gets no
 * further.
 */
import { LoopTurns } from '../lib/loop-turns.js';

/** This many refusals of signals, the dearest answers, take four milliseconds. */
export const answersPerTurnMax = 64;

export class AnswersPerTurn {
  readonly #turns = new LoopTurns();
  #turn = 0;
  #answers = 0;

  /** @returns the number of the current turn. */
  current(): number {
    return this.#turns.current();
  }

  /** Counts an answer. @returns whether it must wait: its request came in this turn, which has given its share. */
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
