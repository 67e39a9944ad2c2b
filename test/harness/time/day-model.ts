/**
 * A model of the daily limit under a clock that is stepped: the count starts at 0 on each later day,
 * goes on when the clock is set back, and refuses no signal beyond the next midnight of the clock.
 */
import { dayMs } from '../../../src/lib/durations.js';
import type { Verdict } from '../verdict.js';

/** This close to midnight the day of an answer is uncertain. */
const nearMs = 60_000;
/** Longest time between this process's reading of the clock and the gateway's. */
const toleranceMs = 5_000;

/** Send no request while this is true. */
export function isNearMidnight(now: number): boolean {
  const sinceMs = now % dayMs;
  return sinceMs < nearMs || sinceMs > dayMs - nearMs;
}

export class DayModel {
  #day = -Infinity;
  #count = 0;

  constructor(
    readonly capacity: number,
    readonly verdict: Verdict,
  ) {}

  /** `acceptedAt`: the gateway's wall time, in Unix ms. */
  granted(acceptedAt: number): void {
    this.#enter(Math.floor(acceptedAt / dayMs));
    this.#count++;
    const rule = 'the day holds no more signals than the plan';
    this.verdict.hold(rule, this.#count <= this.capacity, () => [acceptedAt, this.#count]);
  }

  /** `now`: the gateway's wall time, in Unix ms. */
  refused(now: number, retryAfterSeconds: number): void {
    const leftMs = dayMs - (now % dayMs);
    this.#enter(Math.floor(now / dayMs));
    const rule = 'nobody is refused before the day is full';
    this.verdict.hold(rule, this.#count === this.capacity, () => [now, this.#count]);
    this.verdict.hold(
      'a full day ends with the midnight of the clock',
      Math.abs(retryAfterSeconds * 1000 - leftMs) < toleranceMs,
      () => [now, retryAfterSeconds],
    );
  }

  #enter(day: number): void {
    if (day > this.#day) this.#count = 0;
    this.#day = day;
  }
}
