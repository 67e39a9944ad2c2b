/**
 * Cancels all open orders of a user that match a filter: denies those that have not been sent, and requests a
 * cancel of every other one that has none under way. One turn and one write decide on all of them; thousands
 * of orders are then changed over many turns of the event loop. Owns the runs that are under way: a user's
 * runs follow one another.
 */
import type { Clock } from '../lib/clock.js';
import { cancelAllIdOf, type IdSource } from '../lib/ids.js';
import { nextTurn } from '../lib/turn.js';
import type { Stored } from '../store/write-queue.js';
import { cancelledOrders, type CancelAllResult } from './cancelled-orders.js';
import { CancelJudge, type CancelAllOrder, type CancelJudgeDeps } from './cancel-judge.js';
import type { ApplyOptions, SettleOptions } from './execution-book.js';
import { CancelDebt, type OwedCancels } from './owed-cancels.js';

export interface CancelAllDeps extends CancelJudgeDeps {
  readonly owed: OwedCancels;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** Orders changed by one write: with all that follows its flush, a few milliseconds of the event loop. */
const ordersPerSlice = 64;

export class CancelAll {
  readonly #deps: CancelAllDeps;
  readonly #judge: CancelJudge;
  /** The user's latest run, by userId; it resolves when all that it decided is on disk. */
  readonly #running = new Map<string, Promise<void>>();
  #isStopped = false;

  constructor(deps: CancelAllDeps) {
    this.#deps = deps;
    this.#judge = new CancelJudge(deps);
  }

  /** Finishes what an earlier process decided. Call it once the book has read the orders. */
  resume(debts: readonly CancelDebt[]): void {
    for (const debt of debts) {
      this.#inTurn(debt.decision.userId, async () => {
        await this.#nextTurn();
        await this.#finish(debt);
      });
    }
  }

  /** Leaves what is decided and not finished to the next start. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @param write called once, with the decision; returns what is stored with it and what runs afterwards. */
  run(order: CancelAllOrder, write: (result: CancelAllResult) => ApplyOptions): void {
    const { clock, ids, owed: debts } = this.#deps;
    const { userId, cause, trail = {} } = order;
    this.#inTurn(userId, async () => {
      let finished: Promise<void> | undefined;
      await this.#judge.judge(order, this.#nextTurn, ({ matched, owed, counts }) => {
        const requestedAt = clock.now();
        const cancelAllId = cancelAllIdOf(ids.ulid());
        const debt = new CancelDebt({ userId, cancelAllId, cause, requestedAt, trail }, owed);
        debts.add(debt);
        const cancelled = cancelledOrders(cancelAllId, requestedAt, [...matched.values()]);
        finished = this.#finish(debt, write({ cancelled, counts }));
      });
      await finished;
    });
  }

  /** Resolves when every run that was requested before this call is decided, applied and on disk. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #inTurn(userId: string, run: () => Promise<void>): void {
    const before = this.#running.get(userId);
    const running = before === undefined ? run() : before.then(run);
    this.#running.set(userId, running);
    void running.then(() => {
      if (this.#running.get(userId) === running) this.#running.delete(userId);
    });
  }

  /** Changes the orders, slice by slice. `options` go with the first slice, which makes the decision durable. */
  async #finish(debt: CancelDebt, options: ApplyOptions = {}): Promise<void> {
    const executionIds = debt.orders.keys();
    const { alongside } = options;
    await this.#settleSome(debt, executionIds, {
      ...options,
      alongside: alongside === undefined ? debt : both(alongside, debt),
    });
    debt.becomeDurable();
    while (!debt.isOver) {
      await this.#nextTurn();
      await this.#settleSome(debt, executionIds, { alongside: debt });
    }
    this.#deps.owed.remove(debt);
  }

  /** Resolves after the flush. */
  #settleSome(
    { decision: { userId } }: CancelDebt,
    executionIds: Iterator<string, undefined>,
    options: SettleOptions,
  ): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        options.done?.();
        resolve();
      };
      const slice = take(executionIds, ordersPerSlice);
      this.#deps.book.settleAll(userId, slice, { ...options, done });
    });
  }

  /** Never resolves after `stop`. */
  readonly #nextTurn = (): Promise<void> =>
    new Promise((resolve) => {
      void nextTurn().then(() => {
        if (!this.#isStopped) resolve();
      });
    });
}

function both(one: Stored, other: Stored): Stored {
  return {
    put(batch) {
      one.put(batch);
      other.put(batch);
    },
  };
}

function* take(from: Iterator<string, undefined>, count: number): Generator<string, void, void> {
  for (let i = 0; i < count; i++) {
    const next = from.next();
    if (next.done === true) return;
    yield next.value;
  }
}
