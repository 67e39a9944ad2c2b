/** Heartbeats: what to do when either side is silent. Owns when the counterparty was heard and tested last. */
import type { Clock } from '../lib/clock.js';

export type Beat = 'ended' | 'test' | 'heartbeat' | 'none';

/** Intervals of silence after which the counterparty is tested; after as many more the session ends. */
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
   * Tests the counterparty before it ends the session, even after a pause of this process: what came meanwhile may
   * not be read yet.
   * @param unsentMs milliseconds since our latest message.
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
