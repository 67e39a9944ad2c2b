/** Heartbeats: what silence of either side asks for. Owns when the counterparty was heard last. */
import type { Clock } from '../lib/clock.js';

export type Beat = 'ended' | 'test' | 'heartbeat' | 'none';

/** Shares of the heartbeat interval without a message: then it is asked for one, then given up. */
const silence = { asked: 1.2, ended: 2.4 } as const;

export class SessionPulse {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #heardAt = 0;
  #isTested = false;

  constructor(clock: Clock, heartBtIntSec: number) {
    this.#clock = clock;
    this.#intervalMs = heartBtIntSec * 1_000;
  }

  heard(): void {
    this.#heardAt = this.#clock.monotonic();
    this.#isTested = false;
  }

  get silentMs(): number {
    return this.#clock.monotonic() - this.#heardAt;
  }

  /** @param unsentMs since the latest message of ours. */
  beat(unsentMs: number): Beat {
    const { silentMs } = this;
    if (silentMs >= silence.ended * this.#intervalMs) return 'ended';
    if (silentMs >= silence.asked * this.#intervalMs && !this.#isTested) {
      this.#isTested = true;
      return 'test';
    }
    return unsentMs >= this.#intervalMs ? 'heartbeat' : 'none';
  }
}
