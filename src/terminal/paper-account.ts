/**
 * The simulated account: balance in USD and one net position per instrument. Lives as long as the terminal; a
 * restart begins with the start balance and without positions.
 */
import { rounded } from './decimal.js';
import type { Instrument } from './instruments.js';
import type { Side } from './order-request.js';

export interface Position {
  readonly instrument: Instrument;
  /** Negative when short. */
  readonly quantity: number;
  readonly averagePrice: number;
}

export interface AccountView {
  readonly currency: 'USD';
  readonly balance: number;
  readonly realizedProfit: number;
  readonly unrealizedProfit: number;
  readonly equity: number;
}

const startBalance = 100_000;

export class PaperAccount {
  readonly #positions = new Map<string, Position>();
  #realizedProfit = 0;

  /** Positions that are not flat. */
  get positions(): readonly Position[] {
    return [...this.#positions.values()];
  }

  position(instrument: Instrument): Position | undefined {
    return this.#positions.get(instrument.symbol);
  }

  /** Books one fill against the net position. */
  book(instrument: Instrument, side: Side, quantity: number, price: number): void {
    const before = this.position(instrument) ?? { instrument, quantity: 0, averagePrice: 0 };
    const change = side === 'buy' ? quantity : -quantity;
    const after = rounded(before.quantity + change);
    const isReducing = before.quantity * change < 0;
    if (isReducing) {
      const closed = Math.min(Math.abs(before.quantity), quantity);
      const gain = (price - before.averagePrice) * Math.sign(before.quantity);
      this.#realizedProfit = rounded(this.#realizedProfit + closed * gain * instrument.pointValue);
    }
    if (after === 0) {
      this.#positions.delete(instrument.symbol);
      return;
    }
    const hasTurned = before.quantity * after < 0;
    const averagePrice = hasTurned
      ? price
      : isReducing
        ? before.averagePrice
        : rounded((before.averagePrice * before.quantity + price * change) / after);
    this.#positions.set(instrument.symbol, { instrument, quantity: after, averagePrice });
  }

  view(priceOf: (symbol: string) => number): AccountView {
    const unrealizedProfit = rounded(
      this.positions.reduce((sum, { instrument, quantity, averagePrice }) => {
        const gain = priceOf(instrument.symbol) - averagePrice;
        return sum + gain * quantity * instrument.pointValue;
      }, 0),
    );
    const balance = rounded(startBalance + this.#realizedProfit);
    return {
      currency: 'USD',
      balance,
      realizedProfit: this.#realizedProfit,
      unrealizedProfit,
      equity: rounded(balance + unrealizedProfit),
    };
  }
}
