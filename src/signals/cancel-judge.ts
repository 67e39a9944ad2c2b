/**
 * Judges what a cancel of all orders does to each of them. It takes many turns of the event loop for many
 * orders. Its verdicts hold for the turn in which it ends, because it then judges again every order that
 * changed meanwhile.
 */
import { cancelRequestIdOf } from '../lib/ids.js';
import { isFinalCancel, type CancelCause } from '../model/cancellation.js';
import { isOpenOrder, type Execution } from '../model/execution.js';
import type { Trail } from '../model/trail.js';
import type { Reader } from '../store/store.js';
import { walk } from '../store/walk.js';
import { nextCancelAttempt } from './cancel-moves.js';
import type { CancelledOrder, CancelOutcome } from './cancelled-orders.js';
import type { ExecutionBook } from './execution-book.js';
import { owes, type OwedOrders } from './owed-cancels.js';

export interface CancelJudgeDeps {
  readonly store: Reader;
  readonly book: ExecutionBook;
  /** Whether the execution's terminal supports cancels, or is not known. */
  readonly mayCancel: (userId: string, execution: Execution) => boolean;
}

export interface CancelAllOrder {
  readonly userId: string;
  /** The API key that submitted the orders, if only those of one are meant. */
  readonly keyId?: number;
  readonly isMeant: (execution: Execution) => boolean;
  readonly cause: CancelCause;
  readonly trail?: Trail;
}

/** What a cancel of all orders does, as of one turn. */
export class Judgement {
  readonly matched = new Map<string, CancelledOrder>();
  readonly owed: OwedOrders = new Map();
  /** Updated with each verdict, to keep the turn of the decision short. */
  readonly counts = { requested: 0, already_requested: 0, denied: 0, not_sent: 0 };

  /** @param owed what the order is owed, as `owes` writes it; undefined if the order stays as it is. */
  set(order: CancelledOrder, owed: string | undefined): void {
    this.delete(order.executionId);
    this.matched.set(order.executionId, order);
    this.counts[order.outcome]++;
    if (owed !== undefined) this.owed.set(order.executionId, owed);
  }

  delete(executionId: string): void {
    const order = this.matched.get(executionId);
    if (order === undefined) return;
    this.matched.delete(executionId);
    this.owed.delete(executionId);
    this.counts[order.outcome]--;
  }
}

/** Reading an order that waits for its terminal takes about 10 µs. */
const ordersPerTurn = 64;
/** So many orders of other API keys are passed over in the time that one takes to read. */
const passedPerOrder = 256;

export class CancelJudge {
  readonly #deps: CancelJudgeDeps;

  constructor(deps: CancelJudgeDeps) {
    this.#deps = deps;
  }

  /** Calls `decide` in the turn for which the judgement holds. */
  async judge(
    order: CancelAllOrder,
    nextTurn: () => Promise<void>,
    decide: (judgement: Judgement) => void,
  ): Promise<void> {
    const { book } = this.#deps;
    const judgement = new Judgement();
    const watch = book.watch(order.userId);
    let judged = 0;
    for (const executionId of this.#candidates(order)) {
      if (++judged % ordersPerTurn === 0) await nextTurn();
      if (executionId !== undefined) this.#judgeOne(order, executionId, judgement);
    }
    for (const executionId of watch.changed) this.#judgeOne(order, executionId, judgement);
    watch.end();
    decide(judgement);
  }

  /** Yields undefined for orders that are passed over. */
  *#candidates({ userId, keyId }: CancelAllOrder): Generator<string | undefined, void, void> {
    const { book, store } = this.#deps;
    let passed = 0;
    for (const entry of book.walk(userId)) {
      if (keyId === undefined || entry.keyId === keyId) yield entry.executionId;
      else if (++passed % passedPerOrder === 0) yield undefined;
    }
    for (const { key } of walk(store, 'unknownOrders', { prefix: [userId] })) yield key[1];
  }

  #judgeOne(order: CancelAllOrder, executionId: string, judgement: Judgement): void {
    const { userId, keyId, isMeant } = order;
    const entry = this.#deps.book.find(userId, executionId);
    const isOfKey = keyId === undefined || entry?.keyId === keyId;
    if (entry !== undefined && isOfKey && isOpenOrder(entry.record) && isMeant(entry.record)) {
      this.#judgeOrder(userId, entry.record, judgement);
    } else judgement.delete(executionId);
    entry?.unload();
  }

  #judgeOrder(userId: string, execution: Execution, judgement: Judgement): void {
    const { status, cancel, executionId, requestId } = execution;
    const orderRef = execution.orderRef as string;
    const give = (outcome: CancelOutcome, cancelRequestId: string | null, owed?: string): void =>
      judgement.set({ orderRef, executionId, requestId, outcome, cancelRequestId }, owed);
    if (status === 'queued') return give('denied', null, owes.denial(executionId));
    if (cancel !== null && !isFinalCancel(cancel.status)) {
      return give('already_requested', cancel.cancelRequestId);
    }
    const next = cancelRequestIdOf(executionId, nextCancelAttempt(execution));
    if (this.#deps.mayCancel(userId, execution)) return give('requested', next, owes.cancel(next));
    // One refusal is enough: a bot that asks again and again would have each one written.
    if (cancel?.reasonCode === 'terminal_capability_missing') {
      return give('not_sent', cancel.cancelRequestId);
    }
    give('not_sent', next, owes.refusal(next));
  }
}
