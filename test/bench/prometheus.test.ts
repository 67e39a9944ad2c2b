import t from 'tap';
import { between, quantile, readHistogram } from '../../bench/measure/prometheus.js';

const scrape = (counts: readonly number[]) =>
  ['0.001', '0.002', '+Inf']
    .map((le, i) => `flush_seconds_bucket{le="${le}"} ${counts[i]}`)
    .concat('flush_seconds_count 9', 'other_flush_seconds_bucket{le="+Inf"} 7')
    .join('\n');

t.test('what lies between two scrapes is their difference, bucket by bucket', async (t) => {
  const before = readHistogram(scrape([1, 2, 2]), 'flush_seconds');
  const after = readHistogram(scrape([5, 16, 17]), 'flush_seconds');
  t.same(between(before, after), { bounds: [0.001, 0.002, Infinity], counts: [4, 10, 1] });
  t.throws(() => readHistogram(scrape([1, 1, 1]), 'accept_seconds'), /no histogram/);
});

t.test('a quantile is even within its bucket', async (t) => {
  const bounds = [0.001, 0.002, Infinity];
  t.equal(quantile({ bounds, counts: [0, 10, 0] }, 0.5), 0.0015);
  t.equal(quantile({ bounds, counts: [4, 0, 0] }, 0.5), 0.0005);
  t.equal(quantile({ bounds, counts: [0, 0, 5] }, 0.5), 0.002, 'beyond the last bound: the bound');
  t.ok(Number.isNaN(quantile({ bounds, counts: [0, 0, 0] }, 0.5)));
});
