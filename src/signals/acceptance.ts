/**
 * Accepts signals: stores request, executions, idempotency record and signalId in one transaction; the 202
 * and the submit frames follow its flush. Owns the acceptances in flight and those in doubt, whose
 * commit failed or hangs; both reserve their signalIds, and end with the process.
 */
import { requestIdOf, type IdSource } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { SignalRequest } from '../model/records.js';
import { StoreFailure, type Store, type Writer, WriteRefused } from '../store/store.js';
import type { Deadlines } from '../lib/deadlines.js';
import type { Counter } from '../lib/instruments.js';
import { PairMap } from '../lib/pair-map.js';
import { isFinal } from '../model/execution.js';
import type { AccountQuota } from '../quota/account-quota.js';
import { acceptedOf, type SignalSubmission } from './accepted-signal.js';
import type { Announcer } from './announcer.js';
import type { BookEntry } from './book-entry.js';
import { Doubts } from './doubts.js';
import type { ExecutionBook } from './execution-book.js';
import type { Idempotency } from './idempotency.js';
import { orderCount } from './open-orders.js';
import { type Answer, PendingSignal } from './pending-signal.js';
import { SharedCommits } from './shared-commits.js';

export interface AcceptanceDeps {
  readonly store: Store;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly idempotency: Idempotency;
  readonly book: ExecutionBook;
  readonly announcer: Announcer;
  readonly quota: AccountQuota;
  readonly signalsAccepted: Counter;
  /** Sends durable executions to their terminals; called in the order of acceptance. */
  readonly dispatch: (request: SignalRequest, entries: readonly BookEntry[]) => void;
}

/** A caller of `afterPending`, with the acceptances that it still waits for. */
interface Barrier {
  readonly open: Set<PendingSignal>;
  readonly then: () => void;
}

export class Acceptance {
  readonly #deps: AcceptanceDeps;
  readonly #doubts: Doubts<PendingSignal>;
  readonly #commits: SharedCommits<PendingSignal>;
  #begun = 0;
  /** In flight or in doubt, by userId and signalId. */
  readonly #pending = new PairMap<PendingSignal>();
  #barriers: Barrier[] = [];

  constructor(deps: AcceptanceDeps) {
    this.#deps = deps;
    this.#doubts = new Doubts({ ...deps, settle: (pending) => this.#settleFromStore(pending) });
    this.#commits = new SharedCommits({
      deadlines: deps.deadlines,
      staleMs: deps.limits.staleProcessingMs,
      late: (pending) => pending.answer('signal_processing_failed'),
      stale: (pending) => this.#doubt(pending),
      stored: (pending) => this.#stored(pending),
      failed: (pending, error) => this.#failed(pending, error),
    });
  }

  /** Settles what is in doubt now, by a write to the store. */
  settleDoubts(): Promise<void> {
    return this.#doubts.look();
  }

  /**
   * @returns the request that has the signalId, without a requestId while its acceptance is in flight or in
   * doubt; undefined if the signalId is free.
   */
  holderOf(userId: string, signalId: string): { readonly requestId?: string } | undefined {
    if (this.#pending.get(userId, signalId) !== undefined) return {};
    const requestId = this.#deps.store.get('signalIds', [userId, signalId]);
    return requestId === undefined ? undefined : { requestId };
  }

  /**
   * Stores the signal and calls `answer` once: after the flush, or when there is no flush in time. Dispatches the
   * signal afterwards.
   */
  accept(submission: SignalSubmission, answer: Answer): void {
    const { store, idempotency, quota, ids } = this.#deps;
    const { user, idempotencyKey, fingerprint, envelope } = submission;
    const requestId = requestIdOf(ids.ulid());
    const accepted = acceptedOf(submission, requestId, quota.count(user.userId, requestId));
    const openOrders = orderCount(accepted.executions);
    const pending = new PendingSignal(submission, accepted, answer, ++this.#begun, openOrders);
    idempotency.begin(user.userId, idempotencyKey, fingerprint);
    this.#pending.set(user.userId, envelope.signalId, pending);
    this.#countOrders(pending, 1);
    const stored = store.write((batch) => this.#put(batch, pending));
    this.#commits.add(pending, stored);
  }

  #stored(pending: PendingSignal): void {
    this.#doubts.settleBefore(pending.number);
    this.#settleAsAccepted(pending);
  }

  #failed(pending: PendingSignal, error: unknown): void {
    if (error instanceof WriteRefused) {
      this.#settleAsNothing(pending);
      pending.answer('storage_unavailable');
      return;
    }
    this.#doubt(pending);
    if (!(error instanceof StoreFailure)) throw error;
  }

  #doubt(pending: PendingSignal): void {
    const { user, idempotencyKey } = pending.submission;
    this.#deps.idempotency.doubt(user.userId, idempotencyKey);
    this.#doubts.add(pending, pending.number);
    pending.answer('signal_processing_failed');
  }

  /** Runs `then` once every acceptance of the user that is in flight or in doubt now has an outcome. */
  afterPending(userId: string, then: () => void): void {
    const open = new Set<PendingSignal>();
    for (const pending of this.#pending.values()) {
      if (pending.submission.user.userId === userId) open.add(pending);
    }
    if (open.size === 0) then();
    else this.#barriers.push({ open, then });
  }

  #end(pending: PendingSignal): void {
    const { user, envelope } = pending.submission;
    this.#countOrders(pending, -1);
    this.#pending.delete(user.userId, envelope.signalId);
    if (this.#barriers.length === 0) return;
    const passed = this.#barriers.filter(({ open }) => open.delete(pending) && open.size === 0);
    this.#barriers = this.#barriers.filter(({ open }) => open.size > 0);
    for (const { then } of passed) then();
  }

  #put(batch: Writer, { submission, accepted }: PendingSignal): void {
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
  #enter({ submission, accepted }: PendingSignal): void {
    const { targets, user } = submission;
    const { userId } = user;
    const { request, executions } = accepted;
    const { book, announcer, dispatch, signalsAccepted } = this.#deps;
    signalsAccepted.add();
    const entries: BookEntry[] = [];
    for (const [index, execution] of executions.entries()) {
      if (execution.status === 'queued')
        entries.push(book.add(userId, execution, targets[index]?.sourceKey));
      announcer.announce(userId, undefined, execution);
    }
    dispatch(request, entries);
  }

  #settleFromStore(pending: PendingSignal): void {
    const { userId } = pending.submission.user;
    const { requestId } = pending.accepted.request;
    const request = this.#deps.store.get('requests', [userId, requestId]);
    if (request === undefined) this.#settleAsNothing(pending);
    else this.#settleAsAccepted(pending);
  }

  #settleAsAccepted(pending: PendingSignal): void {
    this.#settle(pending, true);
    pending.answer(pending.accepted);
    this.#enter(pending);
    this.#end(pending);
  }

  /** The signal was not accepted: frees its key, its signalId and its place in the day's quota. */
  #settleAsNothing(pending: PendingSignal): void {
    this.#settle(pending, false);
    this.#end(pending);
  }

  #settle(pending: PendingSignal, isAccepted: boolean): void {
    const { user, idempotencyKey } = pending.submission;
    // A doubt that stayed would be settled again, and free the key that a retry has taken meanwhile.
    this.#doubts.remove(pending);
    this.#deps.quota.decide(user.userId, pending.accepted.request.requestId, isAccepted);
    this.#deps.idempotency.settle(user.userId, idempotencyKey);
  }

  /** Counts the signal's open orders for its API key until the book counts them. */
  #countOrders({ submission, openOrders }: PendingSignal, sign: 1 | -1): void {
    const { keyId } = submission.trail;
    if (keyId !== undefined) this.#deps.book.openOrders.add(keyId, sign * openOrders);
  }
}
