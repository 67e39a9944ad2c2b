/** Heartbeats: what silence of either side asks for. Owns when the counterparty was heard last. */
import type { Clock } from '../lib/clock.js';

export type Beat = 'ended' | 'test' | 'heartbeat' | 'none';

/** Intervals without a message, after which it is asked for one; as many without an answer, and it is given up. */
const silentIntervals = 1.2;

export class SessionPulse {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #heardAt = 0;
  #testedAt: number | undefined;

  constructor(clock: Clock, heartBtIntSec: number) {
    this.#clock = clock;
    this.#intervalMs = heartBtIntSec * 1_000;
  }

  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    this.#testedAt = undefined;
  }

  get silentMs(): number {
    return this.#clock.monotonic() - this.#heardAt;
  }

  /**
   * It is asked before it is given up also after a pause of this process, when what it sent meanwhile is not read yet.
   * @param unsentMs since the latest message of ours.
   */
  beat(unsentMs: number): Beat {
    const now = this.#clock.monotonic();
    const patienceMs = silentIntervals * this.#intervalMs;
    if (this.#testedAt === undefined && this.silentMs >= patienceMs) {
      this.#testedAt = now;
      return 'test';
    }
    if (this.#testedAt !== undefined && now - this.#testedAt >= patienceMs) return 'ended';
    return unsentMs >= this.#intervalMs ? 'heartbeat' : 'none';
  }
}
