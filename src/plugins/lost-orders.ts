/**
 * Gives up the orders of sources that were removed as long unseen: no terminal is left to report on these
 * orders, so they become `unknown`, and no longer count as open. A terminal that returns corrects them. Owns
 * its timer.
 */
import { every, type Clock, type Timer } from '../lib/clock.js';
import { hourMs } from '../lib/durations.js';
import { slicesOf } from '../lib/slices.js';
import { nextTurn } from '../lib/turn.js';
import type { SourceEntries } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import { becomeUnknown } from '../signals/moves.js';
import type { Registry } from './registry.js';

export interface LostOrdersDeps {
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly registry: Registry;
}

/** Entries given up in one turn of the event loop: a few milliseconds. */
const entriesPerTurn = 256;

export class LostOrders {
  readonly #deps: LostOrdersDeps;
  #timer: Timer | undefined;

  constructor(deps: LostOrdersDeps) {
    this.#deps = deps;
  }

  /** Looks for lost orders once an hour from now on. */
  begin(): void {
    this.#timer = every(this.#deps.clock, hourMs, () => void this.#giveUp());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #giveUp(): Promise<void> {
    for (const source of this.#deps.book.sources()) {
      if (!this.#isLost(source)) continue;
      for (const entries of slicesOf([...source.entries.values()], entriesPerTurn)) {
        await nextTurn();
        if (this.#timer === undefined || !this.#isLost(source)) break;
        for (const entry of entries) {
          if (entry.load() === undefined) continue;
          const moved = this.#deps.book.apply(entry, becomeUnknown('disconnected_after_send'));
          if (moved === undefined) entry.unload();
        }
      }
    }
  }

  #isLost({ userId, source }: SourceEntries): boolean {
    return source !== '' && this.#deps.registry.find(userId, source) === undefined;
  }
}
