import t from 'tap';
import { Counter, Histogram, latencyBounds } from '../../src/lib/instruments.js';

t.test('a counter counts', async (t) => {
  const counter = new Counter();
  counter.add();
  counter.add(4);
  t.equal(counter.value, 5);
});

t.test('an observation falls into the first bucket whose bound it does not exceed', async (t) => {
  const histogram = new Histogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 100]) histogram.observe(value);
  t.strictSame([...histogram.counts], [2, 2, 1, 2]);
  t.equal(histogram.count, 7);
  t.equal(histogram.sum, 114.6);
});

t.test('the latency bounds ascend', async (t) => {
  t.strictSame(
    [...latencyBounds],
    latencyBounds.toSorted((a, b) => a - b),
  );
});
