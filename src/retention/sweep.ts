/**
 * Removes expired records and the rows of deleted users. A cycle of passes over the store begins every minute and
 * runs in slices: each searches and removes for a few milliseconds, in one transaction; then it rests for a multiple
 * of that, so that it keeps up with what is due and leaves the event loop to the signals. Owns the current cycle,
 * which a restart begins anew.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { completedRequests } from './completed-requests.js';
import { deletedUsers } from './purge.js';
import {
  expiredCancelKeys,
  expiredIdempotency,
  expiredSessions,
  orphanedSwitches,
} from './expiry.js';
import { revokedKeys } from './revoked-keys.js';
import type { Reader, Store, Writer } from '../store/store.js';
import type { Pass, RetentionLimits, Slice } from './pass.js';
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
}

const cycleIntervalMs = 60_000;
const sliceBudgetMs = 2;
/** Bounds of a slice for a machine on which its time cannot be told. */
const stepsPerSlice = 128;
const removalsPerSlice = 512;
/** A record may hold a payload of 64 KiB: reading the most at once takes six milliseconds, and happens once. */
const rowsPerStep = { min: 1, max: 32 };
/** A step that takes less reads more the next time, one that takes twice as much less. */
const stepMs = 0.25;
/** A slice that took 2 ms is followed by 6 ms for others: a quarter of the loop at most. */
const restFactor = 3;
const sliceGapMsMin = 1;
const sliceGapMsMax = 20;
/** A slice does not wait until the one before it is on disk. */
const slicesUnderWayMax = 8;
/** What the index lacks fills memory that all writes share. */
const indexLagMsMax = 1_000;

export function createSweep({ store, clock, limits, onError }: SweepDeps): Sweep {
  const retentionClock = new RetentionClock(clock);
  /** Monotonic begin of the cycle under way, and of the last one that was completed. */
  let begunAt = clock.monotonic();
  let completedUpTo = begunAt;
  let cycle = newCycle();
  /** The last one that was given up. */
  let failed: Pass | undefined;
  /** Slices that are not on disk yet. */
  let underWay = 0;
  let timer: Timer | undefined;
  let running = false;
  /** Time that the last slice took from the event loop. */
  let spentMs = 0;
  let removals = 0;
  /** Of the slice that runs now. */
  let transaction: Reader & Writer;
  let searchedFrom = 0;
  const current = {
    rowsPerStep: rowsPerStep.max,
    get: (collection, key) => transaction.get(collection, key),
    range: (collection, range) => transaction.range(collection, range),
    keys: (collection, range) => transaction.keys(collection, range),
    put: (collection, key, record) => transaction.put(collection, key, record),
    remove(collection, key) {
      removals++;
      transaction.remove(collection, key);
    },
    isUsedUp: () =>
      removals >= removalsPerSlice || clock.monotonic() - searchedFrom >= sliceBudgetMs,
  } satisfies Slice;

  function* newCycle(): Pass {
    begunAt = clock.monotonic();
    const now = retentionClock.now();
    yield* deletedUsers(current, now);
    yield* expiredSessions(current, now);
    yield* revokedKeys(current, now);
    yield* expiredIdempotency(current, now, limits);
    yield* orphanedSwitches(current);
    yield* expiredCancelKeys(current, now, limits);
    yield* completedRequests(current, now, limits);
  }

  function pace(tookMs: number): void {
    const { min, max } = rowsPerStep;
    if (tookMs > 2 * stepMs) current.rowsPerStep = Math.max(min, current.rowsPerStep >> 1);
    else if (tookMs < stepMs) current.rowsPerStep = Math.min(max, current.rowsPerStep * 2);
  }

  /** @returns whether the cycle is at its end. */
  function search(): boolean {
    searchedFrom = clock.monotonic();
    removals = 0;
    let hasEnded = false;
    let stepFrom = searchedFrom;
    for (let steps = 0; steps < stepsPerSlice && !hasEnded; steps++) {
      hasEnded = cycle.next().done === true;
      const now = clock.monotonic();
      pace(now - stepFrom);
      stepFrom = now;
      if (current.isUsedUp()) break;
    }
    spentMs = stepFrom - searchedFrom;
    return hasEnded;
  }

  /** Runs a slice. Its outcome is that of the transaction, and of those before it in the cycle. */
  function begin(): { readonly hasEnded: boolean; readonly stored: Promise<void> } {
    const begun = cycle;
    let hasEnded = false;
    const stored = store
      .transact((opened) => {
        transaction = opened;
        hasEnded = search();
      })
      .catch((error: unknown) => {
        // A new cycle finds the rows again. To continue could store a position after them.
        if (cycle === begun) cycle = newCycle();
        throw error;
      });
    return { hasEnded, stored };
  }

  function complete(): void {
    completedUpTo = begunAt;
    cycle = newCycle();
  }

  async function slice(): Promise<boolean> {
    const { hasEnded, stored } = begin();
    await stored;
    if (hasEnded) complete();
    return hasEnded;
  }

  function runLater(delayMs: number): void {
    timer?.cancel();
    if (running) timer = clock.setTimer(delayMs, run);
  }

  /** Whether others would wait for what it removes. */
  function isHeld(): boolean {
    return underWay >= slicesUnderWayMax || store.index().lagMs > indexLagMsMax;
  }

  function run(): void {
    // What it would remove can wait, and is told elsewhere.
    if (store.refusal() !== undefined) return runLater(cycleIntervalMs);
    if (isHeld()) return runLater(sliceGapMsMax);
    const begun = cycle;
    const { hasEnded, stored } = begin();
    underWay++;
    if (!hasEnded) {
      runLater(Math.min(sliceGapMsMax, Math.max(sliceGapMsMin, spentMs * restFactor)));
    }
    stored
      .finally(() => underWay--)
      .then(
        () => {
          if (!hasEnded) return;
          complete();
          runLater(cycleIntervalMs);
        },
        (error: unknown) => {
          if (failed === begun) return;
          failed = begun;
          onError(error);
          runLater(cycleIntervalMs);
        },
      );
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
  };
}
