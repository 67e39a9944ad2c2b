/**
 * Numbers the turns of the event loop. The store tells of commits at the end of a turn, so within one turn nobody
 * can have been told of a change that a read at its begin has not seen.
 */
export class LoopTurns {
  #turn = 0;
  #isCounted = false;

  /** A turn in which nobody asks is not counted. */
  current(): number {
    if (!this.#isCounted) {
      this.#isCounted = true;
      setImmediate(() => {
        this.#isCounted = false;
        this.#turn++;
      });
    }
    return this.#turn;
  }
}
