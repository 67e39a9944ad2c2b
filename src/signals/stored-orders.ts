/**
 * Cancels the open orders of a user in a store on which no gateway runs, for a command that holds its directory.
 * The cancels leave once a gateway runs and the terminals are there.
 */
import { Deadlines } from '../lib/deadlines.js';
import type { Clock } from '../lib/clock.js';
import type { IdSource } from '../lib/ids.js';
import { takeAll } from '../lib/turn.js';
import type { Limits } from '../limits.js';
import { RetentionClock } from '../retention/retention-clock.js';
import type { Execution } from '../model/execution.js';
import { StoreFailure, type Reader, type Store } from '../store/store.js';
import { WriteQueue } from '../store/write-queue.js';
import { CancelAll } from './cancel-all.js';
import type { CancelAllOrder } from './cancel-judge.js';
import type { CancelAllResult } from './cancelled-orders.js';
import { ExecutionBook } from './execution-book.js';
import { ExecutionTimeouts } from './execution-timeouts.js';
import { OwedCancels } from './owed-cancels.js';

interface StoredOrdersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
}

/** Rejects when the commit fails. */
export function cancelStoredOrders(
  deps: StoredOrdersDeps,
  order: CancelAllOrder,
): Promise<CancelAllResult> {
  const { store, clock } = deps;
  const deadlines = new Deadlines(clock);
  // No timeout is applied: that is for the gateway that starts next.
  deadlines.stop();
  const timeouts = new ExecutionTimeouts({
    ...deps,
    deadlines,
    isConnected: () => false,
    apply: () => undefined,
    release: () => undefined,
  });
  const writer = new WriteQueue(store);
  const owed = new OwedCancels();
  const book = new ExecutionBook({
    ...deps,
    retentionClock: new RetentionClock(clock),
    owed,
    writer,
    timeouts,
    brakes: { stopOf: () => undefined },
    onChange: () => undefined,
  });
  const cancelAll = new CancelAll({
    ...deps,
    owed,
    book,
    mayCancel: (userId, execution) => mayCancel(store, userId, execution),
  });
  const debts = owed.load(store, order.userId);
  takeAll(book.load(order.userId));
  cancelAll.resume(debts);
  return new Promise((resolve, reject) => {
    cancelAll.run(order, (result) => ({
      done: () => {
        cancelAll.stop();
        resolve(result);
      },
      failed: () => reject(new StoreFailure('the cancels could not be stored')),
    }));
  });
}

function mayCancel(reader: Reader, userId: string, execution: Execution): boolean {
  const { platform, instanceId, accountName } = execution;
  if (instanceId === null || accountName === null) return true;
  const source = reader.get('sources', [userId, platform, instanceId, accountName]);
  return source?.capabilities.includes('cancel') !== false;
}
