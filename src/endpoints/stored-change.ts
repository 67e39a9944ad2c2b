/**
 * Makes a change that is answered after its commit: refuses it while the disk takes no changes, and answers
 * in time when the commit hangs.
 */
import type { Deadlines } from '../lib/deadlines.js';
import type { Exchange } from '../http/exchange.js';
import type { Failure } from '../http/error-body.js';
import { commitAnswerMs, probeIntervalMs, type StorageHealth } from '../store/storage-health.js';
import { StoreFailure, WriteRefused, type TransactOptions } from '../store/store.js';

export interface StoredChangeDeps {
  readonly deadlines: Deadlines;
  readonly storage: StorageHealth;
}

/** Answers that nothing was stored, or will be: a retry is safe, with the same Idempotency-Key or a new one. */
export function failUnstored(exchange: Exchange, failure: Failure = {}): void {
  exchange.fail('storage_unavailable', { ...failure, retryAfter: probeIntervalMs / 1000 });
}

/**
 * Makes the change, unless the disk takes no changes now.
 * @param failUnconfirmed answers when the commit failed or takes too long, so that the change may still happen.
 * @param options how the change is written.
 * @returns its result, once it is on disk; undefined when the exchange has its answer.
 */
export async function storeChange<Result>(
  { deadlines, storage }: StoredChangeDeps,
  exchange: Exchange,
  failUnconfirmed: (exchange: Exchange) => void,
  change: () => Promise<Result>,
  options?: TransactOptions,
): Promise<Result | undefined> {
  if (storage.refuses(options)) {
    failUnstored(exchange);
    return undefined;
  }
  const deadline = deadlines.after(commitAnswerMs, () => failUnconfirmed(exchange));
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    if (error instanceof WriteRefused) failUnstored(exchange);
    else failUnconfirmed(exchange);
    return undefined;
  } finally {
    deadlines.remove(deadline);
  }
}
