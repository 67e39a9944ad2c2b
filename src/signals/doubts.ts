/**
 * Acceptances whose outcome is unknown, because their commit failed or hangs. They are looked at again by
 * themselves, every second: the store decides writes in their order, so once a later write has succeeded,
 * what the store shows of an earlier one is final. Lost with the process, as a start settles all of them.
 */
import type { Deadlines } from '../lib/deadlines.js';
import { StoreFailure, type Store } from '../store/store.js';

const lookIntervalMs = 1_000;

export interface DoubtsDeps<Doubt> {
  readonly store: Store;
  readonly deadlines: Deadlines;
  /** The store shows what became of it. Calls `remove`. */
  readonly settle: (doubt: Doubt) => void;
}

export class Doubts<Doubt> {
  readonly #deps: DoubtsDeps<Doubt>;
  /** With the place of its write among all acceptances. */
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

  /** Its outcome has become known. */
  remove(doubt: Doubt): void {
    if (this.#numbers.size > 0) this.#numbers.delete(doubt);
  }

  #settleAll(isDecided: (doubt: Doubt, number: number) => boolean): void {
    for (const [doubt, number] of [...this.#numbers]) {
      if (!isDecided(doubt, number)) continue;
      this.#deps.settle(doubt);
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

  /** Settles those of now, by a write of its own: on a gateway without traffic there is no other. */
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
