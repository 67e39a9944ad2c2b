/**
 * Works through the cycles of retention, slice by slice, in the thread that writes to the index. Owns the cycle
 * under way, which ends with the thread or with an error: a new one finds the rows again.
 */
import { type Clock, systemClock } from '../lib/clock.js';
import type { Reader, Sweeper, Writer } from '../store/store.js';
import type { SweepOrder } from '../store/sweeper.js';
import { completedRequests } from './completed-requests.js';
import {
  expiredCancelKeys,
  expiredIdempotency,
  expiredSessions,
  orphanedSwitches,
} from './expiry.js';
import type { Pass, Slice } from './pass.js';
import { deletedUsers } from './purge.js';
import { revokedKeys } from './revoked-keys.js';

/** Removals after which a slice ends: some 25 ms, in which accepted signals wait to enter the index. */
const removalsPerSlice = 2_048;
/** Time after which a slice ends that has little to remove, or gets little processor time. */
const sliceBudgetMs = 100;

export function createSweeper(clock: Pick<Clock, 'monotonic'> = systemClock): Sweeper {
  let cycle: Pass | undefined;
  let number: number | undefined;
  /** The index, the begin and the removals of the slice that runs now. */
  let index: Reader & Writer;
  let begunAt = 0;
  let removals = 0;
  const slice = {
    get: (collection, key) => index.get(collection, key),
    range: (collection, range) => index.range(collection, range),
    keys: (collection, range) => index.keys(collection, range),
    put: (collection, key, record) => index.put(collection, key, record),
    remove(collection, key) {
      removals++;
      index.remove(collection, key);
    },
    isUsedUp: () => removals >= removalsPerSlice || clock.monotonic() - begunAt >= sliceBudgetMs,
  } satisfies Slice;

  function* cycleOf({ now, limits }: SweepOrder): Pass {
    yield* deletedUsers(slice, now);
    yield* expiredSessions(slice, now);
    yield* revokedKeys(slice, now);
    yield* expiredIdempotency(slice, now, limits);
    yield* orphanedSwitches(slice);
    yield* expiredCancelKeys(slice, now, limits);
    yield* completedRequests(slice, now, limits);
  }

  return (given, order) => {
    if (cycle === undefined || order.cycle !== number) cycle = cycleOf(order);
    number = order.cycle;
    index = given;
    begunAt = clock.monotonic();
    removals = 0;
    let hasEnded = false;
    try {
      while (!hasEnded && !slice.isUsedUp()) hasEnded = cycle.next().done === true;
    } catch (error) {
      cycle = undefined;
      throw error;
    }
    return { hasEnded, removals, spentMs: clock.monotonic() - begunAt };
  };
}
