/**
 * What becomes of the writes that were handed to lmdb. lmdb puts all writes of one event turn into
 * one transaction and gives them one promise; this turns it into one promise of ours, so that a
 * write costs no promise and no closure of its own. Owns the count of commits under way.
 *
 * Outcomes are told at the end of a loop turn, never from within a socket's callback, where lmdb
 * may hear of them too: the native server corks the one socket whose callback runs, and every header
 * of an answer to another one would then be a system call of its own (`native-notes/backpressure.md`).
 */
import { errorText } from '../lib/error-text.js';
import type { Clock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import { StoreFailure } from './store.js';

export interface GroupCommitDeps {
  readonly clock: Clock;
  /** Seconds from a turn's first write until the flush. */
  readonly commitLatency: Histogram | undefined;
  /** Told of the outcome of every commit. */
  readonly onCommit: ((ok: boolean) => void) | undefined;
}

export interface GroupCommit {
  /** @param committed what lmdb returned for a write. @returns the promise of its whole turn. */
  readonly follow: (committed: Promise<boolean>) => Promise<void>;
  /** Counts a transaction among the commits under way. */
  settle<T>(transaction: Promise<T>): Promise<T>;
  /** Resolves when no commit is under way. */
  idle(): Promise<void>;
}

export function createGroupCommit(deps: GroupCommitDeps): GroupCommit {
  let lastCommitted: Promise<boolean> | undefined;
  let lastFlushed: Promise<void> = Promise.resolve();
  let underWay = 0;
  let waiting: (() => void)[] = [];

  /** `ok` is undefined for what never came to a commit. */
  function settled(ok: boolean | undefined): void {
    if (ok !== undefined) deps.onCommit?.(ok);
    underWay--;
    if (underWay > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  }

  return {
    follow(committed) {
      if (committed === lastCommitted) return lastFlushed;
      const startedAt = deps.clock.monotonic();
      underWay++;
      lastCommitted = committed;
      lastFlushed = committed.then(
        async () => {
          deps.commitLatency?.observe((deps.clock.monotonic() - startedAt) / 1000);
          await endOfTurn();
          settled(true);
        },
        async (error: unknown) => {
          const failure = await commitFailure(error);
          await endOfTurn();
          settled(false);
          throw failure;
        },
      );
      // A long turn gets two promises from lmdb, of which the writes that began it see only the
      // second: without this, the failure of the first would end the process.
      lastFlushed.catch(ignore);
      return lastFlushed;
    },

    async settle(transaction) {
      underWay++;
      let ok: boolean | undefined;
      try {
        const result = await transaction;
        await endOfTurn();
        ok = true;
        return result;
      } catch (error) {
        // Rolled back by its own work, it says nothing of the disk.
        if (error instanceof StoreFailure) ok = false;
        throw error;
      } finally {
        settled(ok);
      }
    },

    idle: () =>
      underWay === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}

/** The check phase: every socket that was ready in this turn has had its callback. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function ignore(): void {
  // The same failure rejects the promise of the write.
}

/**
 * lmdb rejects a write with an error that carries the reason as yet another promise, `commitError`,
 * whose rejection is handled nowhere else and would end the process.
 */
export async function commitFailure(error: unknown): Promise<StoreFailure> {
  let cause = error;
  if (error instanceof Error && 'commitError' in error) {
    try {
      await error.commitError;
    } catch (reason) {
      cause = reason;
    }
  }
  return new StoreFailure(`the commit failed: ${errorText(cause)}`, { cause });
}
