/**
 * Waits for commits on behalf of the changes in them. The changes of one commit share its promise, its deadline
 * and a list, except for those that come after its deadline: a set for each change would cost a tenth of an
 * acceptance on the hot path. Owns the changes whose commit is under way.
 */
import type { Deadlines } from '../lib/deadlines.js';
import { CommitDeadline } from './commit-deadline.js';

export interface SharedCommitsDeps<Change> {
  readonly deadlines: Deadlines;
  readonly staleMs: number;
  /** The answer must not wait any longer. The time counts from the first change of the commit. */
  readonly late: (change: Change) => void;
  /** After `staleMs`. */
  readonly stale: (change: Change) => void;
  readonly stored: (change: Change) => void;
  readonly failed: (change: Change, error: unknown) => void;
}

/**
 * Reused for later commits. Once most lists of earlier commits have survived a scavenge, V8 allocates a new
 * one in the old space, with all that the same function allocates. There they keep what they refer to, such
 * as the commit's promise, until the next full collection (native-notes/profile.md).
 */
interface Commit<Change> {
  /** Emptied once each change is told the outcome. */
  readonly changes: Change[];
  stored: Promise<void> | undefined;
  readonly deadline: CommitDeadline;
  readonly succeeded: () => void;
  readonly failed: (error: unknown) => void;
}

export class SharedCommits<Change> {
  readonly #deps: SharedCommitsDeps<Change>;
  #newest: Commit<Change> | undefined;
  readonly #spare: Commit<Change>[] = [];

  constructor(deps: SharedCommitsDeps<Change>) {
    this.#deps = deps;
  }

  /** @param stored what the store returned for the change: the same promise for all changes of a commit. */
  add(change: Change, stored: Promise<void>): void {
    const newest = this.#newest;
    // A commit that was told late gets no other answer before it ends: the change would wait with it.
    const isShared = newest?.stored === stored && !newest.deadline.isLate;
    const commit = isShared ? newest : this.#begin(stored);
    commit.changes.push(change);
    this.#newest = commit;
  }

  #begin(stored: Promise<void>): Commit<Change> {
    const commit = this.#spare.pop() ?? this.#make();
    commit.stored = stored;
    commit.deadline.begin();
    stored.then(commit.succeeded, commit.failed);
    return commit;
  }

  #make(): Commit<Change> {
    const { deadlines, staleMs, late, stale, stored, failed } = this.#deps;
    const changes: Change[] = [];
    const commit: Commit<Change> = {
      changes,
      stored: undefined,
      deadline: new CommitDeadline(deadlines, staleMs, {
        late: () => changes.forEach(late),
        stale: () => changes.forEach(stale),
      }),
      succeeded: () => this.#end(commit, stored),
      failed: (error) => this.#end(commit, (change) => failed(change, error)),
    };
    return commit;
  }

  #end(commit: Commit<Change>, tell: (change: Change) => void): void {
    commit.deadline.end();
    commit.stored = undefined;
    for (const change of commit.changes) tell(change);
    commit.changes.length = 0;
    this.#spare.push(commit);
  }
}
