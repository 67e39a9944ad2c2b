/**
 * The deadlines of an operation whose commit is under way: first for its answer, then for its outcome, which
 * counts as unknown afterwards. One object serves both and may be reused for the next commit, because the hot
 * path needs one for each write of the log.
 */
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { commitAnswerMs } from '../store/storage-health.js';

export interface CommitEvents {
  /** The answer must not wait any longer, unless this call begins the deadline again. */
  readonly late: () => void;
  /** After `staleProcessingMs`. */
  readonly stale: () => void;
}

export class CommitDeadline implements Deadline {
  heapIndex = -1;
  /** Whether `late` was called since the last `begin`. Only the deadline changes it. */
  isLate = false;

  constructor(
    readonly deadlines: Deadlines,
    readonly staleMs: number,
    readonly events: CommitEvents,
  ) {}

  get #answerMs(): number {
    return Math.min(commitAnswerMs, this.staleMs);
  }

  begin(): void {
    this.isLate = false;
    this.#after(this.#answerMs);
  }

  end(): void {
    this.deadlines.remove(this);
  }

  task(): void {
    if (this.isLate) return this.events.stale();
    this.isLate = true;
    this.#after(this.staleMs - this.#answerMs);
    this.events.late();
  }

  #after(delayMs: number): void {
    this.deadlines.set(this, this.deadlines.clock.monotonic() + delayMs);
  }
}
