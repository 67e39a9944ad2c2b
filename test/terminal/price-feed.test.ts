import t from 'tap';
import { instruments } from '../../src/terminal/instruments.js';
import { parsePriceLine, startRandomWalk } from '../../src/terminal/price-feed.js';
import { SimulatedClock } from '../support/simulated-clock.js';

function walk(seed: number, steps: number, startPrice?: number): Map<string, number[]> {
  const clock = new SimulatedClock();
  const seen = new Map(
    [...instruments].map(([symbol, i]) => [symbol, [startPrice ?? i.startPrice]]),
  );
  const timer = startRandomWalk({
    clock,
    seed,
    tickMs: 250,
    priceOf: (symbol) => seen.get(symbol)?.at(-1) ?? NaN,
    onPrice: (symbol, price) => seen.get(symbol)?.push(price),
  });
  clock.advance(250 * steps);
  timer.cancel();
  clock.advance(10_000);
  return seen;
}

t.test('a seed repeats its walk, and another seed does not', (t) => {
  t.strictSame(walk(7, 50), walk(7, 50));
  t.notSame(walk(7, 50), walk(8, 50));
  t.end();
});

t.test('prices move by whole ticks, at most two at a time', (t) => {
  for (const [symbol, prices] of walk(3, 200)) {
    const { tickSize } = instruments.get(symbol) ?? { tickSize: NaN };
    t.ok(prices.length > 100, `${symbol} moves`);
    const isStep = prices.every((price, index) => {
      const ticks = Math.abs(price - (prices[index - 1] ?? price)) / tickSize;
      return Math.abs(ticks - Math.round(ticks)) < 1e-3 && ticks < 2.001;
    });
    t.ok(isStep, symbol);
  }
  t.end();
});

t.test('a price never falls to zero', (t) => {
  const prices = walk(1, 500, 0.25).get('ES') ?? [];
  t.ok(prices.every((price) => price >= 0.25));
  t.ok(prices.filter((price) => price === 0.25).length > 1);
  t.end();
});

t.test('a line is a symbol and a price', (t) => {
  t.strictSame(parsePriceLine('ES 5001.25'), { symbol: 'ES', price: 5_001.25 });
  t.strictSame(parsePriceLine('  EURUSD\t1.1 \r'), { symbol: 'EURUSD', price: 1.1 });
  for (const line of [
    '',
    'ES',
    'ES x',
    'ES 0',
    'ES -1',
    'ES 1 2',
    'ES Infinity',
    'ES 1.1e18',
    '5000',
  ]) {
    t.equal(parsePriceLine(line), undefined, JSON.stringify(line));
  }
  t.end();
});
