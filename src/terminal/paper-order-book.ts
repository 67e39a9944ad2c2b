/**
 * The paper broker's open orders: fills them, at once or in parts, and cancels them. Keeps the final status
 * of recent orders, so that a late cancel gets the correct result. Orders end with the process and can be
 * restored from the journal.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { isFinal } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import type { BrokerListener } from './broker-listener.js';
import { type CancelEvidence, type KnownExecution, unknownOrder } from './journal-state.js';
import { isFault, type TimeInForce } from '../plugins/commands.js';
import type { Instrument } from './instruments.js';
import { readPaperCommand, type OrderRequest } from './order-request.js';
import type { PaperLedger } from './paper-ledger.js';
import {
  addFill,
  describe,
  evidenceOf,
  isMarketable,
  isReached,
  newOrder,
  nextPieceOf,
  orderStates,
  remainingOf,
  resumed,
  viewOf,
  type OrderStatus,
  type PaperOrder,
} from './paper-order.js';
import { originOf, type Origin } from './terminal-event.js';

export interface PaperOrderBookDeps {
  readonly clock: Clock;
  readonly listener: BrokerListener;
  readonly ledger: PaperLedger;
  readonly partialFills: number;
}

/** Between two partial fills of an order. */
const pieceMs = 100;
const endedOrdersMax = 10_000;
/** A snapshot must fit into one frame. */
const snapshotOrdersMax = 200;

/** The result of a cancel that comes after the end of its order, by the order's final status. */
// oxfmt-ignore
const lateCancels: Readonly<Record<string, CancelEvidence>> = {
  filled:    { status: 'too_late',  reasonCode: 'already_filled' },
  cancelled: { status: 'cancelled', reasonCode: 'already_cancelled' },
  rejected:  { status: 'too_late',  reasonCode: 'already_cancelled' },
  expired:   { status: 'too_late',  reasonCode: 'already_cancelled' },
};

export class PaperOrderBook {
  readonly #deps: PaperOrderBookDeps;
  readonly #orders = new Map<string, PaperOrder>();
  readonly #ended = new Map<string, string>();
  #lastOrderNumber = 0;

  constructor(deps: PaperOrderBookDeps) {
    this.#deps = deps;
  }

  place(origin: Origin, request: OrderRequest): void {
    const { clock, partialFills } = this.#deps;
    const orderId = `paper-${++this.#lastOrderNumber}`;
    const order = newOrder(origin, request, { orderId, partialFills, now: clock.now() });
    this.#enter(order);
    this.#sendUpdate(order);
    this.#advance(order);
  }

  /** Fills the orders that the new price reaches, oldest first. */
  priceMoved(instrument: Instrument): void {
    for (const order of [...this.#orders.values()]) {
      if (order.request.instrument === instrument) this.#advance(order);
    }
    this.#deps.ledger.takeExit(instrument);
  }

  cancel(cancelRequestId: string, executionId: string): void {
    const { listener } = this.#deps;
    const order = this.#orders.get(executionId);
    if (order === undefined) {
      const ending = this.#ended.get(executionId) ?? '';
      return listener.cancelReport(cancelRequestId, lateCancels[ending] ?? unknownOrder);
    }
    this.#end(order, 'cancelled', 'cancelled_by_api');
    const native = { orderId: order.orderId, state: orderStates.cancelled };
    listener.cancelReport(cancelRequestId, { status: 'cancelled', native });
  }

  /** @returns the number of cancelled orders. */
  cancelAll(): number {
    const orders = [...this.#orders.values()];
    for (const order of orders) this.#end(order, 'cancelled', 'cancelled_by_api');
    return orders.length;
  }

  /** Stores the final status of an order. */
  remember(executionId: string, ending: string): void {
    this.#ended.set(executionId, ending);
    if (this.#ended.size <= endedOrdersMax) return;
    const [oldest] = this.#ended.keys();
    this.#ended.delete(oldest as string);
  }

  /** Restores the orders of an earlier process. */
  restore(executions: readonly KnownExecution[]): void {
    for (const known of executions) {
      if (known.submit.orderRef === undefined) continue;
      if (!isFinal(known.status)) this.#reopen(known);
      else this.remember(known.executionId, known.status);
    }
    for (const order of [...this.#orders.values()]) this.#advance(order);
  }

  snapshot(): { readonly orders: readonly object[]; readonly ordersOmitted: number } {
    const shown = [...this.#orders.values()].slice(0, snapshotOrdersMax);
    return {
      orders: shown.map((order) => ({ ...viewOf(order), ...originOf(order) })),
      ordersOmitted: this.#orders.size - shown.length,
    };
  }

  stop(): void {
    for (const order of this.#orders.values()) stopTimers(order);
  }

  #enter(order: PaperOrder): void {
    const { clock } = this.#deps;
    this.#orders.set(order.executionId, order);
    if (order.endsAt === undefined) return;
    const leftMs = Math.max(0, order.endsAt - clock.now());
    order.dayTimer = clock.setTimer(leftMs, () => this.#expire(order));
  }

  #reopen(known: KnownExecution): void {
    const { submit, native } = known;
    const command = readPaperCommand(submit);
    if (isFault(command) || command.name !== 'order/submit') return;
    const orderId = native?.orderId ?? `paper-${++this.#lastOrderNumber}`;
    const { partialFills } = this.#deps;
    const order = newOrder(submit, command.request, {
      orderId,
      partialFills,
      now: known.updatedAt,
    });
    this.#enter(resumed(order, known));
    const orderNumber = Number(/\d+$/.exec(orderId)?.[0] ?? 0);
    this.#lastOrderNumber = Math.max(this.#lastOrderNumber, orderNumber);
  }

  /** Triggers and fills the order as far as price and time allow; reports it when it begins to rest. */
  #advance(order: PaperOrder): void {
    const { clock, ledger, listener } = this.#deps;
    if (order.pieceTimer !== undefined) return;
    if (order.endsAt !== undefined && clock.now() >= order.endsAt) return this.#expire(order);
    const { instrument, timeInForce } = order.request;
    const price = ledger.priceOf(instrument.symbol);
    const wasWaiting = !order.isTriggered;
    order.isTriggered ||= isReached(order.request, price);
    const isNews = order.status === 'submitted' || (wasWaiting && order.isTriggered);
    if (isMarketable(order, price)) {
      this.#fillPiece(order);
      ledger.takeExit(instrument);
    } else if (order.isTriggered && isImmediate(timeInForce)) this.#expire(order);
    else if (isNews) {
      order.status = 'working';
      listener.report(order.executionId, evidenceOf(order));
      this.#sendUpdate(order);
    }
  }

  #fillPiece(order: PaperOrder): void {
    const { clock, listener, ledger } = this.#deps;
    const { instrument, side, timeInForce, stopLoss, takeProfit } = order.request;
    const price = ledger.priceOf(instrument.symbol);
    const quantity = nextPieceOf(order);
    addFill(order, { price, quantity });
    const isDone = remainingOf(order) === 0;
    order.status = isDone ? 'filled' : 'partially_filled';

    const fillId = `${order.executionId}-${order.fillCount}`;
    const fill = { fillId, price, quantity, filledAt: toIsoTime(clock.now()) };
    listener.report(order.executionId, { ...evidenceOf(order), fill });
    this.#sendUpdate(order);
    const exits = { stopLoss, takeProfit, origin: originOf(order) };
    ledger.book({ fillId, instrument, side, quantity, price, exits }, order);
    if (isDone) return this.#leave(order);
    if (isImmediate(timeInForce)) return this.#expire(order);
    order.pieceTimer = clock.setTimer(pieceMs, () => {
      order.pieceTimer = undefined;
      this.#advance(order);
    });
  }

  #expire(order: PaperOrder): void {
    this.#end(order, 'expired', 'time_in_force_expired');
  }

  #end(order: PaperOrder, status: OrderStatus, reasonCode: ReasonCode): void {
    order.status = status;
    this.#deps.listener.report(order.executionId, evidenceOf(order, reasonCode));
    this.#sendUpdate(order);
    this.#leave(order);
  }

  /** Removes an ended order. */
  #leave(order: PaperOrder): void {
    stopTimers(order);
    this.#orders.delete(order.executionId);
    this.remember(order.executionId, order.status);
  }

  #sendUpdate(order: PaperOrder): void {
    this.#deps.listener.event({
      event: 'order_update',
      data: viewOf(order),
      rawText: describe(order),
      ...originOf(order),
    });
  }
}

/** Fills at once or not at all, from the moment that the order may trade. */
function isImmediate(timeInForce: TimeInForce): boolean {
  return timeInForce === 'ioc' || timeInForce === 'fok';
}

function stopTimers({ pieceTimer, dayTimer }: PaperOrder): void {
  pieceTimer?.cancel();
  dayTimer?.cancel();
}
