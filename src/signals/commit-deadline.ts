/**
 * The deadline of an operation whose commit is under way: first that of its answer, then that after which its
 * outcome counts as unknown. One object for both, which may be used again for the next commit: the hot path needs
 * one for each write of the log.
 */
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { commitAnswerMs } from '../store/storage-health.js';

export interface CommitEvents {
  /** The answer must not wait any longer, unless this begins the deadline again. */
  readonly late: () => void;
  /** After `staleProcessingMs`. */
  readonly stale: () => void;
}

export class CommitDeadline implements Deadline {
  heapIndex = -1;
  #isLate = false;

  constructor(
    readonly deadlines: Deadlines,
    readonly staleMs: number,
    readonly events: CommitEvents,
  ) {}

  get #answerMs(): number {
    return Math.min(commitAnswerMs, this.staleMs);
  }

  /** The commit is under way from now on. */
  begin(): void {
    this.#isLate = false;
    this.#after(this.#answerMs);
  }

  /** The commit has ended. */
  end(): void {
    this.deadlines.remove(this);
  }

  task(): void {
    if (this.#isLate) return this.events.stale();
    this.#isLate = true;
    this.#after(this.staleMs - this.#answerMs);
    this.events.late();
  }

  #after(delayMs: number): void {
    this.deadlines.set(this, this.deadlines.clock.monotonic() + delayMs);
  }
}
