/**
 * Accepts signals: stores request, executions, idempotency record and signalId in one transaction; the 202
 * and the submit frames follow its flush. Owns the acceptances in flight: the signalIds that they reserve,
 * and the in-doubt acceptances, whose commit failed with an unknown outcome. Both end with the process.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { executionIdOf, orderRefOf, requestIdOf, type IdSource } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { SignalRequest, User } from '../model/records.js';
import { StoreFailure, type Store, type Writer } from '../store/store.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { Counter } from '../lib/instruments.js';
import type { Envelope } from './envelope.js';
import { isFinal, type Execution } from '../model/execution.js';
import type { AccountQuota } from '../quota/account-quota.js';
import type { Announcer } from './announcer.js';
import type { BookEntry } from './book-entry.js';
import type { ExecutionBook } from './execution-book.js';
import type { Idempotency } from './idempotency.js';
import type { Target } from './routing.js';

export interface SignalSubmission {
  readonly user: User;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly envelope: Envelope;
  /** The payload's JSON text as the bot sent it. */
  readonly payload: string;
  readonly targets: readonly Target[];
  /** Whether the target's plugin is connected now, so that the submit frame can be sent after the flush. */
  readonly isConnected: (target: Target) => boolean;
  readonly signalsToday: number;
}

export interface Accepted {
  readonly request: SignalRequest;
  readonly executions: readonly Execution[];
  /** Body of the 202. */
  readonly answer: string;
}

export interface AcceptanceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly idempotency: Idempotency;
  readonly book: ExecutionBook;
  readonly announcer: Announcer;
  readonly quota: AccountQuota;
  readonly signalsAccepted: Counter;
  /** Sends durable executions to their terminals; called in the order of acceptance. */
  readonly dispatch: (
    userId: string,
    request: SignalRequest,
    entries: readonly BookEntry[],
  ) => void;
}

interface Pending {
  readonly submission: SignalSubmission;
  readonly accepted: Accepted;
}

export class Acceptance {
  readonly #deps: AcceptanceDeps;
  readonly #takenSignalIds = new Set<string>();
  #doubts: Pending[] = [];

  constructor(deps: AcceptanceDeps) {
    this.#deps = deps;
  }

  isSignalIdTaken(userId: string, signalId: string): boolean {
    return (
      this.#takenSignalIds.has(`${userId} ${signalId}`) ||
      this.#deps.store.get('signalIds', [userId, signalId]) !== undefined
    );
  }

  /**
   * Stores the signal and calls `answer` once: after the flush, or with undefined when the outcome is unknown.
   * Dispatches the signal afterwards.
   */
  accept(submission: SignalSubmission, answer: (accepted: Accepted | undefined) => void): void {
    const { store, idempotency, deadlines, limits } = this.#deps;
    const { user, idempotencyKey, fingerprint, envelope } = submission;
    const accepted = this.#prepare(submission);
    const pending = { submission, accepted };
    let isAnswered = false;
    const answerOnce = (outcome: Accepted | undefined): void => {
      if (!isAnswered) answer(outcome);
      isAnswered = true;
    };
    const doubt = (): void => {
      idempotency.doubt(user.userId, idempotencyKey);
      answerOnce(undefined);
    };
    idempotency.begin(user.userId, idempotencyKey, fingerprint);
    this.#takenSignalIds.add(`${user.userId} ${envelope.signalId}`);
    const stale = deadlines.after(limits.staleProcessingMs, doubt);
    store
      .write((batch) => this.#put(batch, pending))
      .then(
        () => {
          deadlines.remove(stale);
          this.resolveDoubts();
          this.#settle(pending);
          answerOnce(accepted);
          this.#enter(user.userId, accepted);
        },
        (error: unknown) => {
          deadlines.remove(stale);
          this.#doubts.push(pending);
          doubt();
          if (!(error instanceof StoreFailure)) throw error;
        },
      );
  }

  #put(batch: Writer, { submission, accepted }: Pending): void {
    const { userId } = submission.user;
    const { request, executions, answer } = accepted;
    batch.put('requests', [userId, request.requestId], request);
    batch.put('signalIds', [userId, request.signalId], request.requestId);
    batch.put('idempotency', [userId, submission.idempotencyKey], {
      fingerprint: submission.fingerprint,
      requestId: request.requestId,
      answer,
      expiresAt: request.acceptedAt + this.#deps.limits.idempotencyRetentionMs,
    });
    for (const execution of executions) {
      const place = isFinal(execution.status) ? 'finalExecutions' : 'openExecutions';
      batch.put(place, [userId, execution.executionId], execution);
    }
  }

  /** Adds durable executions to the book, publishes them and dispatches them. */
  #enter(userId: string, { request, executions }: Accepted): void {
    const { book, announcer, dispatch, signalsAccepted } = this.#deps;
    signalsAccepted.add();
    const entries: BookEntry[] = [];
    for (const execution of executions) {
      if (execution.status === 'queued') entries.push(book.add(userId, execution));
      announcer.announce(userId, undefined, execution);
    }
    dispatch(userId, request, entries);
  }

  /** Resolves in-doubt acceptances from the store. Call it after a later write has succeeded, not before. */
  resolveDoubts(): void {
    const doubts = this.#doubts;
    this.#doubts = [];
    for (const pending of doubts) {
      const { user } = pending.submission;
      const { request } = pending.accepted;
      this.#settle(pending);
      if (this.#deps.store.get('requests', [user.userId, request.requestId]) === undefined) {
        this.#deps.quota.refund(user.userId);
      } else {
        this.#enter(user.userId, pending.accepted);
      }
    }
  }

  #settle({ submission }: Pending): void {
    const { user, idempotencyKey, envelope } = submission;
    this.#deps.idempotency.settle(user.userId, idempotencyKey);
    this.#takenSignalIds.delete(`${user.userId} ${envelope.signalId}`);
  }

  #prepare(submission: SignalSubmission): Accepted {
    const { envelope, targets } = submission;
    const acceptedAt = this.#deps.clock.now();
    const requestId = requestIdOf(this.#deps.ids.ulid());
    const request: SignalRequest = {
      requestId,
      signalId: envelope.signalId,
      acceptedAt,
      ts: envelope.ts,
      expiresAt: envelope.ts + envelope.ttlMs,
      platform: envelope.platform,
      type: envelope.type,
      cmd: envelope.cmd,
      instanceId: envelope.instanceId ?? null,
      payload: submission.payload,
      idempotencyKey: submission.idempotencyKey,
      executionCount: targets.length,
      signalsToday: submission.signalsToday,
    };
    const order = orderTerms(envelope);
    const executions = targets.map((target, index): Execution => {
      const executionId = executionIdOf(requestId, index);
      return {
        executionId,
        requestId,
        signalId: envelope.signalId,
        platform: target.platform,
        instanceId: target.instanceId,
        accountName: target.accountName,
        status: target.deniedFor === null ? 'queued' : 'denied',
        reasonCode: target.deniedFor,
        delivery: 'not_sent',
        orderRef: order === undefined ? null : orderRefOf(executionId),
        side: order?.side ?? null,
        executionType: order?.executionType ?? null,
        instrument: order?.instrument ?? null,
        quantity: order?.quantity ?? null,
        limitPrice: order?.limitPrice ?? null,
        filledQuantity: order === undefined ? null : 0,
        remainingQuantity: order?.quantity ?? null,
        averageFillPrice: null,
        fills: [],
        native: null,
        createdAt: acceptedAt,
        dispatchedAt: null,
        confirmedAt: null,
        updatedAt: acceptedAt,
        cancel: null,
        cancelKeys: [],
        expiresAt: request.expiresAt,
        maySend: target.deniedFor === null && submission.isConnected(target),
      };
    });
    const answer = JSON.stringify({
      requestId,
      signalId: envelope.signalId,
      status: 'accepted',
      acceptedAt: toIsoTime(acceptedAt),
    });
    return { request, executions, answer };
  }
}

/**
 * @returns the documented fields of an order-submit payload; null for a field that is absent or of another
 * type.
 */
function orderTerms({ type, cmd, payload }: Envelope) {
  if (type !== 'order' || cmd !== 'submit') return undefined;
  const terms = payload as Readonly<Record<string, unknown>>;
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const number = (value: unknown) => (Number.isFinite(value) ? (value as number) : null);
  return {
    side: text(terms['side']),
    executionType: text(terms['executionType']),
    instrument: text(terms['instrument']),
    quantity: number(terms['quantity']),
    limitPrice: number(terms['limitPrice']),
  };
}
