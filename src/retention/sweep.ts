/**
 * Removes expired records and the rows of deleted users. A cycle of passes over the store runs in slices, in
 * the thread that fills the store's index; the next cycle begins a minute after its end. A slice takes
 * processor time from acceptances, and removals can wait: so a rest follows each slice, the longer the less
 * the sweep is behind. Owns the number of the current cycle, which a restart begins anew.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { minuteMs } from '../lib/durations.js';
import type { Store } from '../store/store.js';
import { idempotencyLagMs } from './expiry.js';
import type { RetentionLimits } from './pass.js';
import type { RetentionClock } from './retention-clock.js';

export interface SweepDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly retentionClock: RetentionClock;
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
   * How far the sweep is behind, in milliseconds: all that was due longer ago has been removed. At the start,
   * as far as the idempotency pass of the last process was.
   */
  lagMs(): number;
  /** Records that were removed since the start. */
  removals(): number;
}

/** URL of the sweeper's module, for `openStore`. */
export const sweeperModule = new URL('./sweeper.js', import.meta.url).href;

const cycleIntervalMs = minuteMs;
/** Ratio of a rest to its slice: `easy` up to its lag, `full` from its lag on, in proportion between them. */
const paces = {
  easy: { lagMs: 2 * minuteMs, restFactor: 9 },
  // The alert fires after an hour.
  full: { lagMs: 20 * minuteMs, restFactor: 1 },
} as const;
/** Longest rest, as after a slice that the machine has held up. */
const restMsMax = 1_000;
const sliceGapMsMin = 1;
const sliceGapMsMax = 20;
/** No slice begins while the index lags by more: what it lacks fills memory that all writes share. */
const indexLagMsMax = 1_000;

export function createSweep(deps: SweepDeps): Sweep {
  const { store, clock, retentionClock, limits, onError } = deps;
  let cycles = 0;
  /** The cycle under way, with its begin: `now` in Unix time, `begunAt` monotonic. */
  let cycle:
    | { readonly number: number; readonly now: number; readonly begunAt: number }
    | undefined;
  /** Monotonic begin of the last completed cycle. */
  let completedUpTo = clock.monotonic() - idempotencyLagMs(store, retentionClock.now(), limits);
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
      // A new cycle finds the rows again. The old one, continued, could store a position beyond them.
      cycle = undefined;
      throw error;
    }
  }

  function lagMs(): number {
    return clock.monotonic() - completedUpTo;
  }

  function restMs(): number {
    return Math.min(restMsMax, Math.max(sliceGapMsMin, spentMs * restFactorAt(lagMs())));
  }

  function runLater(delayMs: number): void {
    timer?.cancel();
    if (running) timer = clock.setTimer(delayMs, run);
  }

  function run(): void {
    if (isUnderWay) return runLater(sliceGapMsMax);
    // While the store refuses writes, which others report, removals can wait.
    if (store.refusal() !== undefined) return runLater(cycleIntervalMs);
    if (store.index().lagMs > indexLagMsMax) return runLater(sliceGapMsMax);
    isUnderWay = true;
    void slice()
      .then(
        (hasEnded) => runLater(hasEnded ? cycleIntervalMs : restMs()),
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
    lagMs,
    removals: () => removals,
  };
}

function restFactorAt(lagMs: number): number {
  const { easy, full } = paces;
  const share = (lagMs - easy.lagMs) / (full.lagMs - easy.lagMs);
  const hurry = Math.min(1, Math.max(0, share));
  return easy.restFactor + hurry * (full.restFactor - easy.restFactor);
}
