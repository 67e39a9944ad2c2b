/**
 * Wall time for retention. A step forward takes effect after one hour, so that a temporarily wrong clock does
 * not delete records; a step back takes effect at once. Holds the clock offsets of the last hour and the one before; a
 * restart trusts the current wall clock.
 */
import type { Clock } from '../lib/clock.js';
import { hourMs } from '../lib/durations.js';

const windowMs = hourMs;
/** Minimum interval of the samples. */
const sampleIntervalMs = 30_000;

export class RetentionClock {
  readonly #clock: Clock;
  /** Wall time minus monotonic time, with the monotonic time of the sample, ascending. */
  #samples: { readonly at: number; readonly offsetMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.now();
  }

  /** Unix milliseconds, never ahead of the wall clock. */
  now(): number {
    const at = this.#clock.monotonic();
    const offsetMs = this.#clock.now() - at;
    // An offset holds until the next sample: if nobody asked for an hour, the last one is all that is known.
    this.#samples = this.#samples.filter(
      (_, i) => at - (this.#samples[i + 1]?.at ?? at) <= windowMs,
    );
    const latest = this.#samples.at(-1);
    if (latest === undefined || at - latest.at >= sampleIntervalMs) {
      this.#samples.push({ at, offsetMs });
    }
    return at + Math.min(offsetMs, ...this.#samples.map((sample) => sample.offsetMs));
  }
}
