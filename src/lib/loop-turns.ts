/**
 * Numbers the turns of the event loop. The store tells of commits at the end of a turn, so a read at the begin of a
 * turn has seen every change that a client can know of within it.
 */
export class LoopTurns {
  #turn = 0;
  #isCounted = false;

  /** A turn in which it is not called is not counted. */
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
