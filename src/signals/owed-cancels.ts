/**
 * What a cancel of all orders has decided, and the book has not applied yet. The decision is durable before it
 * counts; from then on the book applies what an order is owed before anyone changes that order, and readers see it
 * with its record, so that all of it has happened at once although it is applied bit by bit. Owns the decisions that
 * are not applied in full, at most one of each user; a start reads them from the store.
 */
import { executionIdFromCancel } from '../lib/ids.js';
import type { Execution } from '../model/execution.js';
import type { CancelAllRecord } from '../model/records.js';
import type { Reader, Writer } from '../store/store.js';
import type { Stored } from '../store/write-queue.js';
import { refuseCancel, requestWaitingCancel } from './cancel-moves.js';
import type { Move } from './move.js';
import { deny } from './moves.js';

export interface CancelDecision extends Omit<CancelAllRecord, 'orders'> {
  readonly userId: string;
  readonly cancelAllId: string;
}

/** What each order is owed, by executionId: a cancelRequestId, with a mark if it is refused, or to be denied. */
export type OwedOrders = Map<string, string>;

/** Text, and not an object: thousands are made, kept and written at once. */
export const owes = {
  denial: (executionId: string): string => executionId,
  cancel: (cancelRequestId: string): string => cancelRequestId,
  refusal: (cancelRequestId: string): string => `${refused}${cancelRequestId}`,
} as const;

const refused = 'not_sent ';

/** One decision, until each of its orders has what it is owed. */
export class CancelDebt implements Stored {
  /** Whether its last write left nothing owed, and so no record. */
  isOver = false;
  /** Whether its record is known to be in the store. */
  isDurable = false;
  readonly #onDurable: (() => void)[] = [];
  readonly #taken = new Set<string>();
  /** What readers see of the records that do not show it yet. */
  readonly #shown = new WeakMap<Execution, Execution>();

  /** @param orders all that was decided. */
  constructor(
    readonly decision: CancelDecision,
    readonly orders: OwedOrders,
  ) {}

  becomeDurable(): void {
    this.isDurable = true;
    for (const run of this.#onDurable.splice(0)) run();
  }

  /** Only while it is not durable. */
  onceDurable(run: () => void): void {
    this.#onDurable.push(run);
  }

  take(executionId: string): Move | undefined {
    if (this.#taken.has(executionId)) return undefined;
    const move = this.#moveOf(executionId);
    if (move !== undefined) this.#taken.add(executionId);
    return move;
  }

  /** @returns the same object for the same record. */
  decided(record: Execution): Execution {
    if (!this.isDurable) return record;
    let shown = this.#shown.get(record);
    if (shown === undefined) {
      shown = this.#moveOf(record.executionId)?.(record, this.decision.requestedAt) ?? record;
      this.#shown.set(record, shown);
    }
    return shown;
  }

  /** Where it has been applied, as before a crash, the move changes nothing. */
  #moveOf(executionId: string): Move | undefined {
    const order = this.orders.get(executionId);
    if (order === undefined) return undefined;
    const { cause, requestedAt, trail } = this.decision;
    if (order === executionId) return deny(cause);
    const asked = order.startsWith(refused) ? refuseCancel : requestWaitingCancel;
    return asked(withoutMark(order), requestedAt, cause, trail);
  }

  put(batch: Writer): void {
    const { userId, cancelAllId, ...decision } = this.decision;
    const key: [string, string] = [userId, cancelAllId];
    this.isOver = this.#taken.size === this.orders.size;
    if (this.isOver) batch.remove('cancelAlls', key);
    else if (!this.isDurable) {
      batch.put('cancelAlls', key, { ...decision, orders: [...this.orders.values()] });
    }
  }
}

export class OwedCancels {
  readonly #debts = new Map<string, CancelDebt>();

  /** Reads what was decided and is not applied yet, for all users or for one. Call it before the book reads the orders. */
  load(reader: Reader, ofUserId?: string): CancelDebt[] {
    const range = ofUserId === undefined ? {} : { prefix: [ofUserId] };
    return reader.range('cancelAlls', range).map(({ key, record: { orders, ...decision } }) => {
      const [userId, cancelAllId] = key;
      const debt = new CancelDebt({ ...decision, userId, cancelAllId }, toOwed(orders));
      debt.becomeDurable();
      this.add(debt);
      return debt;
    });
  }

  add(debt: CancelDebt): void {
    if (debt.orders.size > 0) this.#debts.set(debt.decision.userId, debt);
  }

  /** All that was decided is in the records. */
  remove(debt: CancelDebt): void {
    const { userId } = debt.decision;
    if (this.#debts.get(userId) === debt) this.#debts.delete(userId);
  }

  /** @returns the move that the execution is owed, and is owed no more. */
  take(userId: string, executionId: string): Move | undefined {
    if (this.#debts.size === 0) return undefined;
    return this.#debts.get(userId)?.take(executionId);
  }

  /**
   * Waits for a decision of the user that is not on disk yet: what was accepted after the orders that it covers must
   * not be sent meanwhile, since after a crash they would follow.
   * @returns false when there is none; otherwise `then` runs after its flush.
   */
  awaitDecision(userId: string, then: () => void): boolean {
    const debt = this.#debts.get(userId);
    if (debt === undefined || debt.isDurable) return false;
    debt.onceDurable(then);
    return true;
  }

  /** @returns the execution as it is by a decision that its record does not show yet. */
  decided(userId: string, record: Execution): Execution {
    return this.#debts.get(userId)?.decided(record) ?? record;
  }
}

function toOwed(orders: readonly string[]): OwedOrders {
  return new Map(
    orders.map((order) => [executionIdFromCancel(withoutMark(order)) ?? order, order]),
  );
}

function withoutMark(order: string): string {
  return order.startsWith(refused) ? order.slice(refused.length) : order;
}
