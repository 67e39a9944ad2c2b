/**
 * The deadline of an operation whose commit is under way: first that of its answer, then that after which its
 * outcome counts as unknown. One object for both, as the hot path makes one for each request.
 */
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import { commitAnswerMs } from '../store/storage-health.js';

export interface CommitDeadline {
  /** The answer must not wait any longer. */
  readonly late: () => void;
  /** After `staleProcessingMs`. */
  readonly stale: () => void;
}

/** @returns what to remove from `deadlines` when the commit has ended. */
export function awaitCommit(
  deadlines: Deadlines,
  staleMs: number,
  { late, stale }: CommitDeadline,
): Deadline {
  const answerMs = Math.min(commitAnswerMs, staleMs);
  const deadline = deadlines.after(answerMs, () => {
    late();
    deadline.task = stale;
    deadlines.set(deadline, deadlines.clock.monotonic() + staleMs - answerMs);
  });
  return deadline;
}
