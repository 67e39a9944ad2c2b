/**
 * Carries out stops where no gateway runs, as stops.ts does, but in the store itself: what a stop has ended
 * stays ended even if the stop is over before the next start.
 */
import { Brakes } from '../auth/brakes.js';
import type { Clock } from '../lib/clock.js';
import { slicesOf } from '../lib/slices.js';
import type { Store } from '../store/store.js';
import { applyMove, recoverAndStop } from './moves.js';
import { OwedCancels } from './owed-cancels.js';
import { asOfCopy, sendable } from './sendable.js';
import { placeOf, putRecord, recordOf } from './stored-execution.js';

const rowsPerTransaction = 256;

/** @param userId undefined for all users. */
export async function enforceOnDisk(store: Store, clock: Clock, userId?: string): Promise<void> {
  const covered = [...stoppedKeys(store, clock.now(), userId)];
  const owed = new OwedCancels();
  owed.load(store, userId);
  const isCopy = store.isCopy();
  for (const keys of slicesOf(covered, rowsPerTransaction)) {
    await store.transact((transaction) => {
      const brakes = new Brakes(transaction);
      for (const key of keys) {
        const found = recordOf(transaction, ...key);
        const stop = found && brakes.stopOf(key[0], found.keyId);
        if (found === undefined || stop === undefined) continue;
        // Applies what a cancel of all orders has decided first, as the execution book does.
        const move = owed.take(...key);
        const read = isCopy ? asOfCopy(found) : found;
        const decided = (move && applyMove(read, move, clock.now())) ?? read;
        const stopped = applyMove(decided, recoverAndStop(stop), clock.now()) ?? decided;
        putRecord(transaction, key, stopped, placeOf(found));
      }
    });
  }
}

function* stoppedKeys(
  store: Store,
  now: number,
  userId: string | undefined,
): Generator<[string, string]> {
  const brakes = new Brakes(store);
  for (const { key, record } of sendable(store, now, userId)) {
    if (brakes.stopOf(key[0], record.keyId) !== undefined) yield key;
  }
}
