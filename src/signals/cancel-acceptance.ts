/**
 * Accepting a cancel: the execution's cancel and the idempotency record in one transaction, the 202
 * after its flush, the frame to the terminal after that. When a commit fails the answer is that the
 * outcome is unknown; the cancel stays meant, and is stored and sent once the disk takes writes.
 */
import Type from 'typebox';
import { toIsoTime, type Clock } from '../lib/clock.js';
import { cancelRequestIdOf } from '../lib/ids.js';
import { isoTime, oneOf } from '../lib/json-types.js';
import type { Limits } from '../limits.js';
import type { BookEntry } from './book-entry.js';
import type { ExecutionBook } from './execution-book.js';
import type { Idempotency } from './idempotency.js';

/** The body of the 202. */
export const requestedCancelSchema = Type.Object({
  cancelRequestId: Type.String(),
  orderRef: Type.String(),
  executionId: Type.String(),
  requestId: Type.String(),
  signalId: Type.String(),
  status: oneOf(['requested']),
  requestedAt: isoTime,
});

export interface CancelAcceptanceDeps {
  readonly book: ExecutionBook;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly idempotency: Idempotency;
  /** Told once the cancel is durable. */
  readonly onAccepted: (entry: BookEntry) => void;
}

export class CancelAcceptance {
  readonly #deps: CancelAcceptanceDeps;

  constructor(deps: CancelAcceptanceDeps) {
    this.#deps = deps;
  }

  /** Calls `answer` with the body of the 202, or with undefined while the outcome is unknown. */
  accept(
    entry: BookEntry,
    idempotencyKey: string,
    fingerprint: string,
    answer: (body: string | undefined) => void,
  ): void {
    const { book, clock, limits, idempotency } = this.#deps;
    const { userId, execution } = entry;
    const { executionId, orderRef, requestId, signalId } = execution;
    const now = clock.now();
    const attempt = (execution.cancel?.attempt ?? 0) + 1;
    const cancelRequestId = cancelRequestIdOf(executionId, attempt);
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
    const cancel = {
      cancelRequestId,
      attempt,
      status: 'requested',
      reasonCode: null,
      requestedAt: now,
      dispatchedAt: null,
      updatedAt: now,
      acknowledged: false,
    } as const;
    book.change(
      entry,
      {
        ...execution,
        cancel,
        cancelKeys: [...execution.cancelKeys, idempotencyKey],
        updatedAt: now,
      },
      {
        alongside: {
          put: (batch) => batch.put('idempotency', [userId, idempotencyKey], record),
        },
        done: () => {
          idempotency.settle(userId, idempotencyKey);
          answer(body);
          this.#deps.onAccepted(entry);
        },
        failed: () => {
          idempotency.doubt(userId, idempotencyKey);
          answer(undefined);
        },
      },
    );
  }
}
