/**
 * Accepts cancels: stores the execution's cancel and the idempotency record in one transaction; the 202
 * follows its flush, and the cancel frame follows the 202. If the commit fails, the bot gets the error
 * "outcome unknown", and the write is retried until it succeeds; then the cancel is sent.
 */
import Type from 'typebox';
import { toIsoTime, type Clock } from '../lib/clock.js';
import { cancelRequestIdOf, type IdSource } from '../lib/ids.js';
import { isoTime } from '../lib/json-types.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { Limits } from '../limits.js';
import type { Trail } from '../model/trail.js';
import type { BookEntry } from './book-entry.js';
import { CommitDeadline } from './commit-deadline.js';
import type { ExecutionBook } from './execution-book.js';
import { boundToCancel, type Idempotency } from './idempotency.js';
import { nextCancelAttempt, requestCancel } from './cancel-moves.js';

/** The body of the 202. */
export const requestedCancelSchema = Type.Object({
  cancelRequestId: Type.String(),
  orderRef: Type.String(),
  executionId: Type.String(),
  requestId: Type.String(),
  signalId: Type.String(),
  status: Type.Literal('requested'),
  requestedAt: isoTime,
});

export interface CancelAcceptanceDeps {
  readonly book: ExecutionBook;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly idempotency: Idempotency;
  /** Sends a durable cancel to the terminal. */
  readonly send: (entry: BookEntry) => void;
}

export class CancelAcceptance {
  readonly #deps: CancelAcceptanceDeps;

  constructor(deps: CancelAcceptanceDeps) {
    this.#deps = deps;
  }

  /** Calls `answer` with the body of the 202; with undefined each time a commit fails or takes too long. */
  accept(
    entry: BookEntry,
    idempotencyKey: string,
    fingerprint: string,
    answer: (body: string | undefined) => void,
    trail: Trail = {},
  ): void {
    const { book, clock, ids, limits, idempotency, deadlines } = this.#deps;
    const { userId, record: execution } = entry;
    const { executionId, orderRef, requestId, signalId } = execution;
    const now = clock.now();
    const cancelRequestId = cancelRequestIdOf(executionId, nextCancelAttempt(execution));
    const body = JSON.stringify({
      cancelRequestId,
      orderRef,
      executionId,
      requestId,
      signalId,
      status: 'requested',
      requestedAt: toIsoTime(now),
    });
    const record = {
      fingerprint,
      requestId,
      answer: body,
      expiresAt: now + limits.idempotencyRetentionMs,
    };
    idempotency.begin(userId, idempotencyKey, fingerprint);
    const deadline = new CommitDeadline(deadlines, limits.staleProcessingMs, {
      late: () => answer(undefined),
      stale: () => idempotency.doubt(userId, idempotencyKey),
    });
    deadline.begin();
    book.apply(entry, requestCancel(cancelRequestId, now, trail), {
      alongside: boundToCancel(userId, idempotencyKey, record, ids.ulid()),
      done: () => {
        deadline.end();
        idempotency.settle(userId, idempotencyKey);
        answer(body);
        this.#deps.send(entry);
      },
      failed: () => {
        idempotency.doubt(userId, idempotencyKey);
        answer(undefined);
      },
    });
  }
}
