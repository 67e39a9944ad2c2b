/**
 * Removes expired records and the rows of deleted users. A cycle of passes over the store begins every minute and
 * runs in slices, in the thread that fills the store's index. Between two of them the thread does what has come
 * meanwhile, so that what is accepted and what is due share it. Owns the number of the current cycle,
 * which a restart begins anew.
 */
import type { Clock, Timer } from '../lib/clock.js';
import type { Store } from '../store/store.js';
import type { RetentionLimits } from './pass.js';
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
  /**
   * How far it is behind, in milliseconds: all that was due as long ago as this has been removed, or has become due
   * before the start.
   */
  lagMs(): number;
  /** Records that were removed since the start. */
  removals(): number;
}

/** For `openStore`: where the sweeper is. */
export const sweeperModule = new URL('./sweeper.js', import.meta.url).href;

const cycleIntervalMs = 60_000;
/** A slice is followed by as much time for what is accepted, which the same disk has to take. */
const restFactor = 1;
const restMsMax = 200;
const sliceGapMsMin = 1;
const sliceGapMsMax = 20;
/** What the index lacks fills memory that all writes share. */
const indexLagMsMax = 1_000;

export function createSweep({ store, clock, limits, onError }: SweepDeps): Sweep {
  const retentionClock = new RetentionClock(clock);
  let cycles = 0;
  /** The one under way, with its begin: `now` in Unix time, `begunAt` monotonic. */
  let cycle:
    | { readonly number: number; readonly now: number; readonly begunAt: number }
    | undefined;
  /** Monotonic begin of the last one that was completed. */
  let completedUpTo = clock.monotonic();
  let removals = 0;
  let spentMs = 0;
  let timer: Timer | undefined;
  let running = false;
  let isUnderWay = false;

  async function slice(): Promise<boolean> {
    cycle ??= { number: ++cycles, now: retentionClock.now(), begunAt: clock.monotonic() };
    const { number, now, begunAt } = cycle;
    try {
      const { swept } = await store.sweep({ cycle: number, now, limits });
      removals += swept.removals;
      spentMs = swept.spentMs;
      if (!swept.hasEnded) return false;
      completedUpTo = begunAt;
      cycle = undefined;
      return true;
    } catch (error) {
      // A new cycle finds the rows again. To continue could store a position behind them.
      cycle = undefined;
      throw error;
    }
  }

  function runLater(delayMs: number): void {
    timer?.cancel();
    if (running) timer = clock.setTimer(delayMs, run);
  }

  function run(): void {
    if (isUnderWay) return runLater(sliceGapMsMax);
    // What it would remove can wait, and is told elsewhere.
    if (store.refusal() !== undefined) return runLater(cycleIntervalMs);
    if (store.index().lagMs > indexLagMsMax) return runLater(sliceGapMsMax);
    isUnderWay = true;
    void slice()
      .then(
        (hasEnded) => {
          const restMs = Math.min(restMsMax, Math.max(sliceGapMsMin, spentMs * restFactor));
          runLater(hasEnded ? cycleIntervalMs : restMs);
        },
        (error: unknown) => {
          onError(error);
          runLater(cycleIntervalMs);
        },
      )
      .finally(() => (isUnderWay = false));
  }

  return {
    start() {
      if (running) return;
      running = true;
      runLater(sliceGapMsMax);
    },
    stop() {
      running = false;
      timer?.cancel();
    },
    slice,
    lagMs: () => clock.monotonic() - completedUpTo,
    removals: () => removals,
  };
}
