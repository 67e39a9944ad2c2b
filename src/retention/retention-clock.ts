/**
 * Wall time for those who destroy what is old. A step forward counts only after it has lasted for an
 * hour, so that a clock that was set wrong and is set right again has cost nobody anything; a step back
 * counts at once. Owns the clocks' readings of the last hour; they end with the process, and a start
 * believes the clock that it finds.
 */
import type { Clock } from '../lib/clock.js';

const settledMs = 3_600_000;
/** Readings closer together than this tell nothing new. */
const readingMs = 30_000;

export class RetentionClock {
  readonly #clock: Clock;
  /** How far wall time was ahead of monotonic time, and when, ascending. */
  #readings: { readonly at: number; readonly aheadMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.now();
  }

  /** Unix milliseconds, never ahead of the wall clock. */
  now(): number {
    const at = this.#clock.monotonic();
    const aheadMs = this.#clock.now() - at;
    this.#readings = this.#readings.filter((reading) => at - reading.at <= settledMs);
    const latest = this.#readings.at(-1);
    if (latest === undefined || at - latest.at >= readingMs) this.#readings.push({ at, aheadMs });
    return at + Math.min(aheadMs, ...this.#readings.map((reading) => reading.aheadMs));
  }
}
