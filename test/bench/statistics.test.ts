import fc from 'fast-check';
import t from 'tap';
import { LatencyHistogram, summarize } from '../../bench/measure/statistics.js';

t.test('the median is the middle sample, or half-way between the two middle ones', async (t) => {
  t.match(summarize([3, 1, 2]), { median: 2, min: 1, max: 3, samples: [3, 1, 2] });
  t.match(summarize([4, 1, 2, 30]), { median: 3, min: 1, max: 30 });
  t.throws(() => summarize([]), /nothing was measured/);
});

/** From 4 µs to two minutes, every magnitude as likely as the others. */
const steps = 1_000_000;
const latency = fc
  .integer({ min: 0, max: steps })
  .map((step) => 0.004 * (120_000 / 0.004) ** (step / steps));
const latencies = fc.array(latency, { minLength: 1, maxLength: 300, size: 'max' });

function histogramOf(samples: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const sample of samples) histogram.record(sample);
  return histogram;
}

t.test('every percentile is within 1% of the exact one, by nearest rank', async () => {
  fc.assert(
    fc.property(latencies, fc.integer({ min: 0, max: 100 }), (samples, p) => {
      const sorted = samples.toSorted((a, b) => a - b);
      const rank = Math.max(1, Math.ceil((p / 100) * sorted.length));
      const exact = sorted[rank - 1] as number;
      return Math.abs(histogramOf(samples).percentile(p) - exact) <= 0.01 * exact;
    }),
  );
});

t.test('through JSON a histogram stays what it was', async (t) => {
  fc.assert(
    fc.property(latencies, (samples) => {
      const sent = histogramOf(samples);
      const come = LatencyHistogram.fromJSON(
        JSON.parse(JSON.stringify(sent)) as ReturnType<LatencyHistogram['toJSON']>,
      );
      t.equal(come.count, sent.count);
      for (const p of [0, 50, 99, 100]) t.equal(come.percentile(p), sent.percentile(p));
    }),
    { numRuns: 20 },
  );
});

t.test(
  'an empty histogram has no percentile, and what is beyond its range counts as its end',
  async (t) => {
    t.ok(Number.isNaN(new LatencyHistogram().percentile(50)));
    const copy = LatencyHistogram.fromJSON(new LatencyHistogram().toJSON());
    copy.record(5);
    t.equal(copy.percentile(50), 5);
    t.ok(histogramOf([1, 1e9]).percentile(100) > 120_000);
  },
);
