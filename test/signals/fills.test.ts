import t from 'tap';
import type { Fill } from '../../src/model/execution.js';
import {
  type Fills,
  averageOf,
  fillsWith,
  isComplete,
  remainingAfter,
  sumOf,
} from '../../src/signals/fills.js';
import { report } from '../../src/signals/moves.js';
import { aFill, anExecution, roomFor } from './an-execution.js';

/** @returns the fills together, in a list of at most `listedMax`. */
function allOf(fills: readonly Fill[], listedMax = Infinity): Fills {
  let all: Fills = { fills: [] };
  for (const fill of fills) all = fillsWith(all, fill, roomFor(listedMax)) as Fills;
  return all;
}

const quantities = (...each: number[]) => each.map((quantity, i) => aFill(`f${i}`, quantity, 0.7));
const tenths = (count: number) => quantities(...Array.from({ length: count }, () => 0.1));

t.test('a fill of the whole fills the order, with fifteen digits', async (t) => {
  for (const quantity of [123456.78901234, 1_000_000_000_001, 1234567.00000001, 9.00000000000001]) {
    const order = { quantity, remainingQuantity: quantity };
    const filled = { status: 'filled', filledQuantity: quantity, remainingQuantity: 0 };
    const fill = aFill('f1', quantity);
    for (const status of ['cancelled', 'working'] as const) {
      const told = status === 'working' ? 'cancelled' : 'working';
      const move = report({ status: told, fill }, roomFor(Infinity));
      t.match(move(anExecution(status, order), 1), filled, `${quantity}, told when ${status}`);
    }
  }
});

t.test('fractions that make a whole fill it, and one unit less does not', async (t) => {
  for (const { fills, quantity, isWhole } of [
    { fills: quantities(0.1, 0.2), quantity: 0.3, isWhole: true },
    { fills: tenths(1_000), quantity: 100, isWhole: true },
    { fills: quantities(123456.789, 0.00001234), quantity: 123456.78901234, isWhole: true },
    { fills: quantities(1e12), quantity: 1e12 + 1, isWhole: false },
    { fills: quantities(123456.78901233), quantity: 123456.78901234, isWhole: false },
    { fills: quantities(9.00000000000001), quantity: 9.00000000000002, isWhole: false },
  ]) {
    for (const listedMax of [Infinity, 1]) {
      const order = anExecution('working', { quantity });
      const sum = sumOf(allOf(fills, listedMax));
      t.equal(isComplete(order, sum), isWhole, `${sum} of ${quantity}`);
      t.equal(remainingAfter(order, sum) === 0, isWhole);
      if (isWhole) t.equal(sum, quantity);
    }
  }
  const many = allOf(tenths(3_000));
  t.equal(sumOf(many), 300);
  t.equal(averageOf(many), 0.7);
  const values = [0.25, 1e16, -1e16].map((price, i) => aFill(`f${i}`, 1, price));
  t.equal(averageOf(allOf([...values, aFill('f3', 1, 0.75)])), 0.25, 'also of a price below zero');
});

t.test('a total that its terminal has added up with an error is all of the quantity', async (t) => {
  const order = anExecution('working', { quantity: 0.8 });
  t.equal(isComplete(order, 0.7 + 0.1), true);
});

t.test('fills beyond the largest number have no average, and a sum that is one', async (t) => {
  const { MAX_VALUE } = Number;
  const fills = quantities(MAX_VALUE, MAX_VALUE, 1);
  for (const listedMax of [Infinity, 1]) {
    t.equal(sumOf(allOf(fills, listedMax)), Infinity);
    t.equal(averageOf(allOf(fills, listedMax)), null);
  }
});

t.test('after a fill that is not listed none is, whatever the limit has become', async (t) => {
  const before = allOf(quantities(1, 2), 1);
  const after = fillsWith(before, aFill('f2', 3), roomFor(10));
  t.match(after, { fills: { length: 1 }, unlistedFills: { count: 2, quantity: 5 } });
});

t.test('what remains has no more digits than the order', async (t) => {
  for (const [quantity, filled, remaining] of [
    [1000.3, 1000.2, 0.1],
    [123456.78901234, 123456.78901233, 0.00000001],
    [0.3, 0.1, 0.2],
    [1e12 + 1, 1e12, 1],
    [1e-8, 9e-9, 1e-9],
    [1e300, 9e299, 1e299],
    [0, 1, 0],
  ] as const) {
    const order = anExecution('working', { quantity });
    t.equal(remainingAfter(order, filled), remaining, `${filled} of ${quantity}`);
  }
});
