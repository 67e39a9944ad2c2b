/**
 * Notices when lmdb has given up for good. After a failed write of its first pages it refuses every
 * transaction of this process (MDB_PANIC) without ever saying so to whoever waits: writes that come
 * then never end. Only a new process can go on. Owns the timer that runs after a failed commit.
 */
import type { Clock, Timer } from '../lib/clock.js';

/** `StorageHealth` writes every second after a failure: a store that lives has ended some by then. */
const silenceMsMax = 10_000;

export interface CommitWatchDeps {
  readonly clock: Clock;
  /** Told once, when a commit has failed and no other has ended for ten seconds. */
  readonly onSilence: () => void;
}

export class CommitWatch {
  #timer: Timer | undefined;

  constructor(readonly deps: CommitWatchDeps) {}

  /** For the store to call after each commit. */
  noteCommit(succeeded: boolean): void {
    this.stop();
    if (!succeeded) this.#timer = this.deps.clock.setTimer(silenceMsMax, this.deps.onSilence);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
