/**
 * Waits for commits on behalf of the changes in them. All changes of one commit share its promise, its deadline
 * and a list: on the hot path each of its own would cost a tenth of an acceptance. Owns the changes whose commit
 * is under way.
 */
import type { Deadlines } from '../lib/deadlines.js';
import { awaitCommit } from './commit-deadline.js';

export interface SharedCommitsDeps<Change> {
  readonly deadlines: Deadlines;
  readonly staleMs: number;
  /** The answer must not wait any longer: counted from the first change of the commit. */
  readonly late: (change: Change) => void;
  /** After `staleMs`. */
  readonly stale: (change: Change) => void;
  readonly stored: (change: Change) => void;
  readonly failed: (change: Change, error: unknown) => void;
}

interface Commit<Change> {
  readonly stored: Promise<void>;
  /**
   * Emptied when they are told: V8 makes the list in the old space once most lists have survived a scavenge, and a
   * list there keeps all that it holds until the next full collection (native-notes/profile.md).
   */
  readonly changes: Change[];
}

export class SharedCommits<Change> {
  readonly #deps: SharedCommitsDeps<Change>;
  #newest: Commit<Change> | undefined;

  constructor(deps: SharedCommitsDeps<Change>) {
    this.#deps = deps;
  }

  /** @param stored what the store gave for the change: the same promise for all of a commit. */
  add(change: Change, stored: Promise<void>): void {
    if (this.#newest?.stored === stored) this.#newest.changes.push(change);
    else this.#begin({ stored, changes: [change] });
  }

  #begin(commit: Commit<Change>): void {
    const { deadlines, staleMs, late, stale, stored, failed } = this.#deps;
    const { changes } = commit;
    this.#newest = commit;
    const deadline = awaitCommit(deadlines, staleMs, {
      late: () => changes.forEach(late),
      stale: () => changes.forEach(stale),
    });
    const end = (): void => {
      deadlines.remove(deadline);
      if (this.#newest === commit) this.#newest = undefined;
    };
    commit.stored.then(
      () => {
        end();
        for (const change of changes.splice(0)) stored(change);
      },
      (error: unknown) => {
        end();
        for (const change of changes.splice(0)) failed(change, error);
      },
    );
  }
}
