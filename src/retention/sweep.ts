/**
 * Removes expired records and the rows of deleted users. A cycle of passes over the store runs every minute, in
 * slices that block the event loop for a few milliseconds at most; each slice scans some rows and removes the
 * expired ones in one transaction. Owns the current cycle, which a restart begins anew.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { deletedUsers } from './purge.js';
import { completedRequests, expiredIdempotency, expiredSessions } from './expiry.js';
import type { Store } from '../store/store.js';
import type { Pass, Removal, RetentionLimits } from './pass.js';
import { RetentionClock } from './retention-clock.js';

export interface SweepDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: RetentionLimits;
  /** Called when a slice fails; the sweep then starts a new cycle. */
  readonly onError: (error: unknown) => void;
}

export interface Sweep {
  start(): void;
  /** Starts no further slice; one in flight completes. */
  stop(): void;
  /** Runs one slice. Must not be called while another one runs. @returns whether it completed a cycle. */
  slice(): Promise<boolean>;
}

const cycleIntervalMs = 60_000;
const sliceGapMs = 20;
const sliceBudgetMs = 2;
const rowsPerSlice = 256;
/** A transaction delays group commits while it runs. */
const removalsPerSlice = 32;

export function createSweep({ store, clock, limits, onError }: SweepDeps): Sweep {
  const retentionClock = new RetentionClock(clock);
  let cycle = newCycle();
  let timer: Timer | undefined;
  let running = false;

  function* newCycle(): Pass {
    const now = retentionClock.now();
    yield* deletedUsers(store, now);
    yield* expiredSessions(store, now);
    yield* expiredIdempotency(store, now, limits);
    yield* completedRequests(store, now, limits);
  }

  async function slice(): Promise<boolean> {
    const begunAt = clock.monotonic();
    const removals: Removal[] = [];
    let ended = false;
    for (let rows = 0; rows < rowsPerSlice && removals.length < removalsPerSlice; rows++) {
      if (clock.monotonic() - begunAt >= sliceBudgetMs) break;
      const step = cycle.next();
      if (step.done === true) {
        cycle = newCycle();
        ended = true;
        break;
      }
      if (step.value !== undefined) removals.push(step.value);
    }
    if (removals.length === 0) return ended;
    try {
      await store.transact((transaction) => {
        for (const remove of removals) remove(transaction);
      });
    } catch (error) {
      // A new cycle finds the rows again. To continue could store a position after them.
      cycle = newCycle();
      throw error;
    }
    return ended;
  }

  function runLater(delayMs: number): void {
    if (running) timer = clock.setTimer(delayMs, run);
  }

  function run(): void {
    slice().then(
      (ended) => {
        runLater(ended ? cycleIntervalMs : sliceGapMs);
      },
      (error: unknown) => {
        onError(error);
        runLater(cycleIntervalMs);
      },
    );
  }

  return {
    start() {
      if (running) return;
      running = true;
      runLater(sliceGapMs);
    },
    stop() {
      running = false;
      timer?.cancel();
    },
    slice,
  };
}
