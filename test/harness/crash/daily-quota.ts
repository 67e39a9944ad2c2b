/**
 * The count of a user's acceptances on a UTC day, against the limit that is in force in this life of
 * the gateway. The limit changes with each life, so that every crash is followed by an exact count.
 */
const dayMs = 86_400_000;

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
