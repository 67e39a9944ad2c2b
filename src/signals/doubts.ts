/**
 * Acceptances whose outcome is unknown, because their commit failed or hangs. The store decides writes in
 * their order, so once a later write has succeeded, what the store shows of an earlier one is final: a write
 * every second settles them. Lost with the process; the store that the next start reads has the outcome of
 * each.
 */
import type { Deadlines } from '../lib/deadlines.js';
import { StoreFailure, type Store } from '../store/store.js';

const lookIntervalMs = 1_000;

export interface DoubtsDeps<Doubt> {
  readonly store: Store;
  readonly deadlines: Deadlines;
  /** Settles the doubt by what the store shows, and calls `remove`. */
  readonly settle: (doubt: Doubt) => void;
}

export class Doubts<Doubt> {
  readonly #deps: DoubtsDeps<Doubt>;
  /** Each doubt with the place of its write among all acceptances. */
  readonly #numbers = new Map<Doubt, number>();
  #isLooking = false;

  constructor(deps: DoubtsDeps<Doubt>) {
    this.#deps = deps;
  }

  add(doubt: Doubt, number: number): void {
    this.#numbers.set(doubt, number);
    this.#lookLater();
  }

  /** Settles those whose write was begun before that of `number`, which has succeeded. */
  settleBefore(number: number): void {
    if (this.#numbers.size > 0) this.#settleAll((_, each) => each < number);
  }

  remove(doubt: Doubt): void {
    if (this.#numbers.size > 0) this.#numbers.delete(doubt);
  }

  #settleAll(isDecided: (doubt: Doubt, number: number) => boolean): void {
    for (const [doubt, number] of [...this.#numbers]) {
      if (isDecided(doubt, number)) this.#deps.settle(doubt);
    }
  }

  #lookLater(): void {
    if (this.#isLooking || this.#numbers.size === 0) return;
    this.#isLooking = true;
    this.#deps.deadlines.after(lookIntervalMs, () => {
      void this.look().finally(() => {
        this.#isLooking = false;
        this.#lookLater();
      });
    });
  }

  /** Settles the present doubts by a write of its own: a gateway without traffic makes no other. */
  async look(): Promise<void> {
    const { store, deadlines } = this.#deps;
    if (this.#numbers.size === 0) return;
    const before = new Set(this.#numbers.keys());
    await store
      .write((batch) => batch.put('meta', 'probe', deadlines.clock.now()))
      .then(
        () => this.#settleAll((doubt) => before.has(doubt)),
        (error: unknown) => {
          if (!(error instanceof StoreFailure)) throw error;
        },
      );
  }
}
