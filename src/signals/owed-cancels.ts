/**
 * What a cancel of all orders has decided, and the book has not applied yet. From the decision on, the book
 * applies what an order is owed before any other change of that order; once the decision is durable, readers
 * see it in every record. So it takes effect at once, although it is applied in slices. Owns the decisions
 * that are not applied in full, at most one for each user; a start reads them from the store.
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

/** What each order is owed, by executionId, as `owes` writes it: a cancel, a refused cancel or a denial. */
export type OwedOrders = Map<string, string>;

/** Text rather than an object: thousands are made, kept and written at once. */
export const owes = {
  denial: (executionId: string): string => executionId,
  cancel: (cancelRequestId: string): string => cancelRequestId,
  refusal: (cancelRequestId: string): string => `${refused}${cancelRequestId}`,
} as const;

const refused = 'not_sent ';

/** One decision, until each of its orders has what it is owed. */
export class CancelDebt implements Stored {
  /** Whether the last `put` left nothing owed, and removed the record. */
  isOver = false;
  /** Whether the decision is known to be in the store. */
  isDurable = false;
  readonly #onDurable: (() => void)[] = [];
  readonly #taken = new Set<string>();
  /** What readers see in place of each record that does not show the decision yet. */
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

  /** Call it only while the decision is not durable. */
  onceDurable(run: () => void): void {
    this.#onDurable.push(run);
  }

  take(executionId: string): Move | undefined {
    if (this.#taken.has(executionId)) return undefined;
    const move = this.#moveOf(executionId);
    if (move !== undefined) this.#taken.add(executionId);
    return move;
  }

  /** @returns the execution as the decision leaves it; the same object for the same record. */
  decided(record: Execution): Execution {
    if (!this.isDurable) return record;
    let shown = this.#shown.get(record);
    if (shown === undefined) {
      shown = this.#moveOf(record.executionId)?.(record, this.decision.requestedAt) ?? record;
      this.#shown.set(record, shown);
    }
    return shown;
  }

  /** Applied a second time, as after a crash, the move changes nothing. */
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

  /** Reads what is decided and not applied in full, of all users or of one. Call it before the book's `load`. */
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

  /** Call it when the records show all that was decided. */
  remove(debt: CancelDebt): void {
    const { userId } = debt.decision;
    if (this.#debts.get(userId) === debt) this.#debts.delete(userId);
  }

  /** @returns the move that the execution is owed, once; undefined if it is owed none. */
  take(userId: string, executionId: string): Move | undefined {
    if (this.#debts.size === 0) return undefined;
    return this.#debts.get(userId)?.take(executionId);
  }

  /** Whether a decision of the user is not on disk yet. */
  isDeciding(userId: string): boolean {
    return this.#debts.get(userId)?.isDurable === false;
  }

  /**
   * Waits for a decision of the user that is not on disk yet. A later order must not be sent meanwhile: if a
   * crash lost the decision, the earlier orders that it covers would be sent after the later one.
   * @returns false when there is none; otherwise `then` runs after its flush.
   */
  awaitDecision(userId: string, then: () => void): boolean {
    const debt = this.#debts.get(userId);
    if (debt === undefined || debt.isDurable) return false;
    debt.onceDurable(then);
    return true;
  }

  /** @returns the execution as a durable decision leaves it, whether or not the record shows that yet. */
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
