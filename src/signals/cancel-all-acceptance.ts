/**
 * Accepts a cancel of all orders, of a bot or of the operator: waits for orders whose acceptance is under way,
 * then stores the decision, and a bot's idempotency record, in one transaction; the answer follows its flush,
 * and the cancel frames follow the answer. If the commit fails or takes too long, a bot gets the error "outcome
 * unknown", and the write is retried until it succeeds; the time to judge many orders does not count. Owns each
 * user's requests of the last minute.
 */
import type { Clock } from '../lib/clock.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { IdSource } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { Execution } from '../model/execution.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Trail } from '../model/trail.js';
import { BucketMap } from '../quota/token-bucket.js';
import type { StorageHealth } from '../store/storage-health.js';
import { StoreFailure } from '../store/store.js';
import type { Acceptance } from './acceptance.js';
import type { CancelAll } from './cancel-all.js';
import type { CancelAllOrder } from './cancel-judge.js';
import type { CancelAllResult } from './cancelled-orders.js';
import { CommitDeadline, type CommitEvents } from './commit-deadline.js';
import type { ApplyOptions } from './execution-book.js';
import { boundToCancel, type Idempotency } from './idempotency.js';
import { matches, type OrderFilter } from './order-filter.js';

export interface CancelAllRequest {
  readonly userId: string;
  readonly filter: OrderFilter;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly trail: Trail;
}

export interface CancelAllAcceptanceDeps {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly ids: IdSource;
  readonly limits: Pick<
    Limits,
    'idempotencyRetentionMs' | 'staleProcessingMs' | 'cancelAllsPerMinute'
  >;
  readonly idempotency: Idempotency;
  readonly acceptance: Pick<Acceptance, 'afterPending'>;
  readonly cancelAll: CancelAll;
  readonly health: Pick<StorageHealth, 'isHealthy' | 'isOverdue'>;
  readonly trail: TrailLog;
}

export class CancelAllAcceptance {
  readonly #deps: CancelAllAcceptanceDeps;
  readonly #rates: BucketMap<string>;

  constructor(deps: CancelAllAcceptanceDeps) {
    this.#deps = deps;
    this.#rates = new BucketMap(deps.limits.cancelAllsPerMinute, { entriesMax: Infinity });
  }

  /** Takes one request from the user's rate. @returns 0 if granted, else the milliseconds until one is free. */
  take(userId: string): number {
    const now = this.#deps.clock.monotonic();
    const bucket = this.#rates.of(userId, now);
    return bucket.take(now) ? 0 : bucket.retryAfterMs(now);
  }

  /** Calls `answer` with the body of the 202; with undefined when the outcome is not known in time. */
  accept(request: CancelAllRequest, answer: (body: string | undefined) => void): void {
    const { idempotency, limits, clock, ids } = this.#deps;
    const { userId, filter, idempotencyKey, fingerprint, trail } = request;
    const doubt = (): void => {
      idempotency.doubt(userId, idempotencyKey);
      answer(undefined);
    };
    idempotency.begin(userId, idempotencyKey, fingerprint);
    const isMeant = (execution: Execution): boolean => matches(filter, execution);
    const order = { userId, isMeant, cause: 'cancelled_by_api', trail } as const;
    this.#run(order, { late: () => answer(undefined), stale: doubt }, ({ cancelled }) => {
      const body = JSON.stringify(cancelled);
      const record = {
        fingerprint,
        requestId: cancelled.cancelAllId,
        answer: body,
        expiresAt: clock.now() + limits.idempotencyRetentionMs,
      };
      return {
        alongside: boundToCancel(userId, idempotencyKey, record, ids.ulid()),
        done: () => {
          idempotency.settle(userId, idempotencyKey);
          answer(body);
          this.#deps.trail.note('cancel_all', {
            traceId: trail.traceId,
            clientAddress: trail.clientAddress,
            cancelAllId: cancelled.cancelAllId,
            userId,
            keyId: trail.keyId,
            matched: cancelled.matched,
            by: 'user',
          });
        },
        failed: doubt,
      };
    });
  }

  /** Rejects with `StoreFailure` when the commit fails or takes too long. */
  ofOperator(order: CancelAllOrder): Promise<CancelAllResult> {
    return new Promise((resolve, reject) => {
      const failed = (): void => reject(new StoreFailure('the cancels are not on disk yet'));
      this.#run(order, { late: failed, stale: failed }, (result) => ({
        done: () => resolve(result),
        failed,
      }));
    });
  }

  #run(
    order: CancelAllOrder,
    { late, stale }: CommitEvents,
    write: (result: CancelAllResult) => ApplyOptions,
  ): void {
    const { deadlines, limits, acceptance, cancelAll, health } = this.#deps;
    let isWriting = false;
    const deadline = new CommitDeadline(deadlines, limits.staleProcessingMs, {
      late: () => {
        // Before its write, it waits for others or judges orders: only a stuck disk makes it late.
        if (isWriting || health.isOverdue || !health.isHealthy) late();
        else deadline.begin();
      },
      stale,
    });
    deadline.begin();
    acceptance.afterPending(order.userId, () => {
      cancelAll.run(order, (result) => {
        isWriting = true;
        deadline.begin();
        const options = write(result);
        const done = (): void => {
          deadline.end();
          options.done?.();
        };
        return { ...options, done };
      });
    });
  }
}
