/**
 * A user's accepted signals of the UTC day, and the daily limit of the current gateway process. The
 * limit changes with each restart, so that the count is checked exactly after every crash.
 */
import { dayMs } from '../../../src/lib/durations.js';

export class DailyQuota {
  limit = Infinity;
  readonly #accepted = new Map<number, number>();

  note(acceptedAt: number): void {
    const day = Math.floor(acceptedAt / dayMs);
    this.#accepted.set(day, (this.#accepted.get(day) ?? 0) + 1);
  }

  get acceptedToday(): number {
    return this.#accepted.get(Math.floor(Date.now() / dayMs)) ?? 0;
  }
}
