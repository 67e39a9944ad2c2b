/**
 * The simulated account: balance in USD and one net position per instrument. Lives as long as the terminal; a
 * restart begins with the start balance and without positions.
 */
import { rounded } from '../lib/decimal.js';
import type { Instrument } from './instruments.js';
import type { Origin } from './terminal-event.js';
import type { Side } from '../plugins/commands.js';

export interface Position {
  readonly instrument: Instrument;
  /** Negative when short. */
  readonly quantity: number;
  readonly averagePrice: number;
  readonly exits: Exits;
}

/** Prices at which the terminal closes the position; they end with it. */
export interface Exits {
  readonly stopLoss?: number | undefined;
  readonly takeProfit?: number | undefined;
  /** The command that set them. */
  readonly origin?: Origin;
}

export interface AccountView {
  readonly currency: 'USD';
  readonly balance: number;
  readonly realizedProfit: number;
  readonly unrealizedProfit: number;
  readonly equity: number;
}

export interface Booking {
  readonly instrument: Instrument;
  readonly side: Side;
  readonly quantity: number;
  readonly price: number;
  readonly exits?: Exits;
}

const startBalance = 100_000;
const flat = { quantity: 0, averagePrice: 0, exits: {} };

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

  /** Books one fill against the net position. `exits`: for the position that it opens or adds to. */
  book({ instrument, side, quantity, price, exits = {} }: Booking): void {
    const before = this.position(instrument) ?? { ...flat, instrument };
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
    const keepsExits = !hasTurned && (isReducing || !hasExits(exits));
    this.#positions.set(instrument.symbol, {
      instrument,
      quantity: after,
      averagePrice,
      exits: keepsExits ? before.exits : exits,
    });
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

function hasExits({ stopLoss, takeProfit }: Exits): boolean {
  return stopLoss !== undefined || takeProfit !== undefined;
}
