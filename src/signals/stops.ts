/**
 * Carries out stops: denies the executions that a freeze, a halt or a revoked key covers and that were not sent.
 * A stop counts from its own commit on, since `holds` is asked before every submit frame; the denials follow, and
 * a restart denies what is left of them. Owns the runs that deny, and whether the process ends.
 */
import type { Brakes } from '../auth/brakes.js';
import { slicesOf } from '../lib/slices.js';
import { nextTurn } from '../lib/turn.js';
import type { BookEntry } from './book-entry.js';
import type { ExecutionBook } from './execution-book.js';
import { stopSending } from './moves.js';

export interface StopsDeps {
  readonly brakes: Brakes;
  readonly book: ExecutionBook;
}

/** Entries denied in one turn of the event loop: a few milliseconds. */
const entriesPerTurn = 256;
/** Entries of other API keys that are passed over in one turn: a millisecond. */
const passedPerTurn = 16_384;

export class Stops {
  readonly #deps: StopsDeps;
  /** The latest run for a user, or for all under the name ''. */
  readonly #runs = new Map<string, Promise<void>>();
  #isStopped = false;

  constructor(deps: StopsDeps) {
    this.#deps = deps;
  }

  /** Whether no submit frame of the execution may be sent. If so, denies it or ends its redelivery. */
  holds(entry: BookEntry): boolean {
    return this.#end(entry, () => undefined) !== 'allowed';
  }

  /**
   * Denies what is stopped, of one user or of all; of one API key, if its revocation is the stop. Call it after the
   * commit of a stop and before that of its end: what a stop has ended stays ended. A user's runs follow one another:
   * a bot that revokes the same key again and again must not have a slice of each denied in every turn.
   * Resolves when the denials are on disk, or the disk refuses them.
   */
  async enforce(userId?: string, keyId?: number): Promise<void> {
    const whose = userId ?? '';
    const before = this.#runs.get(whose);
    const run = this.#enforceAfter(before, userId, keyId);
    this.#runs.set(whose, run);
    try {
      await run;
    } finally {
      if (this.#runs.get(whose) === run) this.#runs.delete(whose);
    }
  }

  async #enforceAfter(
    before: Promise<void> | undefined,
    userId: string | undefined,
    keyId: number | undefined,
  ): Promise<void> {
    // The caller of that run is told of its failure.
    await before?.catch(() => undefined);
    let slice: BookEntry[] = [];
    let passed = 0;
    for (const entry of this.#deps.book.walk(userId)) {
      if (keyId === undefined || entry.keyId === keyId) slice.push(entry);
      else passed++;
      if (slice.length < entriesPerTurn && passed < passedPerTurn) continue;
      await this.#enforceOn(slice);
      await nextTurn();
      slice = [];
      passed = 0;
    }
    await this.#enforceOn(slice);
  }

  /** Denies what an earlier process has left. */
  async resume(left: readonly BookEntry[]): Promise<void> {
    for (const entries of slicesOf(left, entriesPerTurn)) {
      // In a turn of its own: the core may be in the middle of its load.
      await nextTurn();
      if (this.#isStopped) return;
      await this.#enforceOn(entries);
    }
  }

  /** The process ends: what `resume` has not reached is left to the next start. */
  stop(): void {
    this.#isStopped = true;
  }

  #enforceOn(entries: readonly BookEntry[]): Promise<void> {
    return new Promise((resolve) => {
      let open = 1;
      const settle = (): void => {
        if (--open === 0) resolve();
      };
      for (const entry of entries) {
        if (entry.load() === undefined) continue;
        if (this.#end(entry, settle) === 'ended') open++;
        else entry.unload();
      }
      settle();
    });
  }

  #end(entry: BookEntry, settled: () => void): 'allowed' | 'held' | 'ended' {
    const { brakes, book } = this.#deps;
    // A cancel of all orders covered the execution, which is now denied or has a cancel.
    if (book.settle(entry)) return 'held';
    const reason = brakes.stopOf(entry.userId, entry.record.keyId);
    if (reason === undefined) return 'allowed';
    const ended = book.apply(entry, stopSending(reason), { done: settled, failed: settled });
    return ended === undefined ? 'held' : 'ended';
  }
}
