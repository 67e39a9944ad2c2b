/**
 * Accepts a bot's cancel of all orders: stores what it decides and the idempotency record in one transaction; the
 * 202 follows its flush, and the cancel frames follow it. Orders whose acceptance is under way are waited
 * for. If the commit fails or takes too long, the bot gets the error "outcome unknown", and the write is retried
 * until it succeeds. Owns nothing beyond the requests under way.
 */
import type { Clock } from '../lib/clock.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { IdSource } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Trail } from '../model/trail.js';
import type { Acceptance } from './acceptance.js';
import type { CancelAll } from './cancel-all.js';
import { CommitDeadline } from './commit-deadline.js';
import type { Idempotency } from './idempotency.js';
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
  readonly limits: Pick<Limits, 'idempotencyRetentionMs' | 'staleProcessingMs'>;
  readonly idempotency: Idempotency;
  readonly acceptance: Pick<Acceptance, 'afterPending'>;
  readonly cancelAll: CancelAll;
  readonly trail: TrailLog;
}

export class CancelAllAcceptance {
  readonly #deps: CancelAllAcceptanceDeps;

  constructor(deps: CancelAllAcceptanceDeps) {
    this.#deps = deps;
  }

  /** Calls `answer` with the body of the 202; with undefined when the outcome is not known in time. */
  accept(request: CancelAllRequest, answer: (body: string | undefined) => void): void {
    const { deadlines, idempotency, limits, acceptance } = this.#deps;
    const { userId, idempotencyKey, fingerprint } = request;
    const doubt = (): void => {
      idempotency.doubt(userId, idempotencyKey);
      answer(undefined);
    };
    idempotency.begin(userId, idempotencyKey, fingerprint);
    const deadline = new CommitDeadline(deadlines, limits.staleProcessingMs, {
      late: () => answer(undefined),
      stale: doubt,
    });
    deadline.begin();
    acceptance.afterPending(userId, () => {
      this.#cancel(request, doubt, (body) => {
        deadline.end();
        idempotency.settle(userId, idempotencyKey);
        answer(body);
      });
    });
  }

  #cancel(request: CancelAllRequest, failed: () => void, done: (body: string) => void): void {
    const { cancelAll, clock, ids, limits } = this.#deps;
    const { userId, filter, idempotencyKey, fingerprint, trail } = request;
    const order = {
      userId,
      isMeant: matches.bind(undefined, filter),
      cause: 'cancelled_by_api',
      trail,
    } as const;
    cancelAll.run(order, ({ cancelled }) => {
      const body = JSON.stringify(cancelled);
      const cancelKey: [string, string] = [userId, ids.ulid()];
      const record = {
        fingerprint,
        requestId: cancelled.cancelAllId,
        answer: body,
        expiresAt: clock.now() + limits.idempotencyRetentionMs,
      };
      return {
        alongside: {
          put: (batch) => {
            batch.put('idempotency', [userId, idempotencyKey], record);
            batch.put('cancelKeys', cancelKey, idempotencyKey);
          },
        },
        done: () => {
          done(body);
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
        failed,
      };
    });
  }
}
