import t from 'tap';
import { hourMs, minuteMs } from '../../../src/lib/durations.js';
import { Verdict } from '../verdict.js';
import { DayModel } from './day-model.js';
import { RateModel } from './rate-model.js';
import { ScrapeModel } from './scrape-model.js';

function rulesBroken({ violations }: Verdict): string[] {
  return violations.map(({ rule }) => rule);
}

t.test('a limit that a step loosens or locks is accused, an exact one is not', async (t) => {
  const verdict = new Verdict();
  const model = new RateModel('x', 2, minuteMs, verdict);
  model.granted(0, 1);
  model.granted(1, 2);
  model.refused(2, 3, 60);
  model.granted(minuteMs + 1, minuteMs + 2);
  model.judgeRefusals();
  t.strictSame(rulesBroken(verdict), []);
  model.granted(minuteMs + 1, minuteMs + 2);
  model.granted(minuteMs + 2, minuteMs + 3);
  t.strictSame(rulesBroken(verdict), ['x: no window holds more than the limit']);
  model.refused(5 * minuteMs, 5 * minuteMs + 1, 3_600);
  model.judgeRefusals();
  t.strictSame(rulesBroken(verdict).slice(1), [
    'x: Retry-After is no longer than the window',
    'x: nobody within the limit is refused',
  ]);
});

t.test('a day that begins anew with a step back, or never ends, is accused', async (t) => {
  const verdict = new Verdict();
  const model = new DayModel(1, verdict);
  model.granted(36 * hourMs);
  model.refused(12 * hourMs, 12 * 3_600);
  model.granted(48 * hourMs);
  t.strictSame(rulesBroken(verdict), []);
  model.granted(49 * hourMs);
  model.refused(50 * hourMs, 70 * 3_600);
  t.strictSame(rulesBroken(verdict), [
    'the day holds no more signals than the plan',
    'nobody is refused before the day is full',
    'a full day ends with the midnight of the clock',
  ]);
});

t.test('a scrape with a negative, a falling or a hollow figure is accused', async (t) => {
  const verdict = new Verdict();
  const model = new ScrapeModel(verdict);
  const scrape = (counter: number, buckets: readonly number[], sum: number): string =>
    [
      '# TYPE signalbox_a_total counter',
      `signalbox_a_total ${counter}`,
      '# TYPE signalbox_b_seconds histogram',
      ...buckets.map((value, place) => `signalbox_b_seconds_bucket{le="${place}"} ${value}`),
      `signalbox_b_seconds_sum ${sum}`,
      `signalbox_b_seconds_count ${String(buckets.at(-1))}`,
    ].join('\n');
  model.inspect(scrape(1, [0, 2], 1));
  model.inspect(scrape(2, [0, 2], 1));
  t.strictSame(rulesBroken(verdict), []);
  model.inspect(scrape(1, [3, 2], 90_000));
  t.strictSame(rulesBroken(verdict), [
    'no counter falls',
    'a histogram adds up',
    'no duration is longer than the life',
  ]);
  model.inspect('signalbox_c -1');
  t.equal(rulesBroken(verdict).at(-1), 'no metric is negative');
});
