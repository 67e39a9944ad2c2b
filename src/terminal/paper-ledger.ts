/**
 * The ledger of the paper broker: current prices, account, and the events that report their changes. One
 * price per instrument, no spread, no fees, no margin. Lives as long as the terminal.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import type { BrokerListener } from './broker-listener.js';
import { instruments, type Instrument } from './instruments.js';
import { PaperAccount, type Booking, type Position } from './paper-account.js';
import { originOf, type Origin } from './terminal-event.js';

export interface Trade extends Booking {
  readonly fillId: string;
}

export class PaperLedger {
  readonly #clock: Clock;
  readonly #send: BrokerListener['event'];
  readonly #account = new PaperAccount();
  #exitCount = 0;
  readonly #prices = new Map(
    [...instruments].map(([symbol, { startPrice }]) => [symbol, startPrice]),
  );

  constructor(clock: Clock, send: BrokerListener['event']) {
    this.#clock = clock;
    this.#send = send;
  }

  get positions(): readonly Position[] {
    return this.#account.positions;
  }

  /** @returns NaN for an unknown instrument. */
  priceOf(symbol: string): number {
    return this.#prices.get(symbol) ?? NaN;
  }

  setPrice({ symbol }: Instrument, price: number): void {
    this.#prices.set(symbol, price);
  }

  /** Books a fill and sends the events of its changes. */
  book(trade: Trade, origin: Origin): void {
    const { fillId, instrument, side, quantity, price } = trade;
    const { symbol } = instrument;
    const filledAt = toIsoTime(this.#clock.now());
    this.#account.book(trade);
    this.#send({
      event: 'execution_update',
      data: { fillId, instrument: symbol, side, quantity, price, filledAt },
      rawText: `Fill ${side} ${quantity} ${symbol} at ${price}`,
      ...originOf(origin),
    });
    this.#send({
      event: 'position_update',
      data: this.#positionView(instrument),
      ...originOf(origin),
    });
    this.#send({ event: 'account_update', data: this.#accountView() });
  }

  /** Closes a net position at the simulated price. @returns a description; undefined without a position. */
  close(instrument: Instrument, fillId: string, origin: Origin): string | undefined {
    const position = this.#account.position(instrument);
    if (position === undefined) return undefined;
    const { symbol } = instrument;
    const side = position.quantity > 0 ? 'sell' : 'buy';
    const quantity = Math.abs(position.quantity);
    const price = this.priceOf(symbol);
    this.book({ fillId, instrument, side, quantity, price }, origin);
    return `${side} ${quantity} ${symbol} at ${price} closed the position.`;
  }

  /** Closes the position if the price has reached its stop loss or take profit. */
  takeExit(instrument: Instrument): void {
    const { quantity = 0, exits = {} } = this.#account.position(instrument) ?? {};
    const { stopLoss, takeProfit, origin } = exits;
    const price = this.priceOf(instrument.symbol);
    const gainAt = (exit = NaN): number => (price - exit) * Math.sign(quantity);
    const exit = gainAt(stopLoss) <= 0 ? 'Stop loss' : gainAt(takeProfit) >= 0 ? 'Take profit' : '';
    if (exit === '' || origin === undefined) return;
    const fillId = `${origin.executionId}-exit-${++this.#exitCount}`;
    const text = `${exit}: ${this.close(instrument, fillId, origin)}`;
    this.#send({
      event: 'terminal_message',
      data: { text, level: 'info' },
      rawText: text,
      ...originOf(origin),
    });
  }

  snapshot(): { readonly account: object; readonly positions: readonly object[] } {
    return {
      account: this.#accountView(),
      positions: this.positions.map(({ instrument }) => this.#positionView(instrument)),
    };
  }

  #positionView(instrument: Instrument): object {
    const {
      quantity = 0,
      averagePrice = null,
      exits = {},
    } = this.#account.position(instrument) ?? {};
    const { stopLoss, takeProfit } = exits;
    return withoutUndefined({
      instrument: instrument.symbol,
      side: quantity > 0 ? 'long' : quantity < 0 ? 'short' : 'flat',
      quantity: Math.abs(quantity),
      averagePrice,
      marketPrice: this.priceOf(instrument.symbol),
      stopLoss,
      takeProfit,
    });
  }

  #accountView(): object {
    return this.#account.view((symbol) => this.priceOf(symbol));
  }
}
