import t from 'tap';
import { AccountQuota } from '../../src/quota/account-quota.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const plan = (signalsPerMinute: number) => ({
  publicApi: true,
  signalsPerMinute,
  signalsPerDay: 100,
});

function setUp() {
  const clock = new SimulatedClock();
  const quota = new AccountQuota(createMemoryStore(), clock);
  const granted = (signalsPerMinute: number, attempts: number) =>
    Array.from({ length: attempts }, () => quota.take('usr_1', plan(signalsPerMinute))).filter(
      (verdict) => verdict.granted,
    ).length;
  return { clock, quota, granted };
}

t.test('another plan finds all that was granted, also what is not on disk yet', async (t) => {
  const { clock, quota, granted } = setUp();
  t.equal(granted(8, 5), 5);
  t.equal(granted(6, 5), 1);
  t.equal(granted(3, 5), 0, 'a smaller one waits until enough of it is a minute old');
  t.equal(granted(8, 5), 2, 'a larger one grants no more than the difference');
  const verdict = quota.take('usr_1', plan(100));
  t.same(verdict, { granted: true, signalsToday: 9 }, 'and the day counts on');
  clock.advance(60_000);
  t.equal(granted(8, 10), 8);
});

t.test('a smaller plan frees its first signal when it is within its limit again', async (t) => {
  const { clock, quota, granted } = setUp();
  t.equal(granted(4, 2), 2);
  clock.advance(10_000);
  t.equal(granted(4, 2), 2);
  const verdict = quota.take('usr_1', plan(2));
  t.match(verdict, { granted: false, code: 'signal_rate_limit_exceeded', retryAfterMs: 60_000 });
});
