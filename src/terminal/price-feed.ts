/**
 * Generates simulated prices: a reproducible random walk, or lines of text such as `ES 5001.25`. The broker
 * holds the current prices.
 */
import { every, type Clock, type Timer } from '../lib/clock.js';
import { rounded } from '../lib/decimal.js';
import { amountMax } from '../plugins/protocol.js';
import { instruments, type Instrument } from './instruments.js';
import { createSeededRandom } from './seeded-random.js';

export interface RandomWalkOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** Milliseconds between two steps. */
  readonly tickMs: number;
  readonly priceOf: (symbol: string) => number;
  readonly onPrice: (symbol: string, price: number) => void;
}

/** A step is at most this many ticks up or down. */
const ticksPerStepMax = 2;

/** Moves the price of every instrument each `tickMs`, by whole ticks and never to zero. */
export function startRandomWalk(options: RandomWalkOptions): Timer {
  const random = createSeededRandom(options.seed);
  const width = 2 * ticksPerStepMax + 1;

  function step({ symbol, tickSize }: Instrument): void {
    const ticks = Math.floor(random() * width) - ticksPerStepMax;
    if (ticks === 0) return;
    const price = rounded(options.priceOf(symbol) + ticks * tickSize);
    options.onPrice(symbol, Math.max(price, tickSize));
  }

  return every(options.clock, options.tickMs, () => {
    for (const instrument of instruments.values()) step(instrument);
  });
}

export interface Price {
  readonly symbol: string;
  readonly price: number;
}

/** Parses a line `SYMBOL PRICE`. @returns undefined when it is invalid. */
export function parsePriceLine(line: string): Price | undefined {
  const [symbol = '', price = '', ...rest] = line.trim().split(/\s+/);
  const value = price === '' ? NaN : Number(price);
  if (rest.length > 0 || !isPrice(value)) return undefined;
  return { symbol, price: value };
}

/** Whether a report can carry the value as a price. */
export function isPrice(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= amountMax;
}
