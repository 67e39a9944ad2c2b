import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { requestIdOf, createIdSource } from '../../src/lib/ids.js';
import type { Plan } from '../../src/plans.js';
import { AccountQuota, type QuotaVerdict } from '../../src/quota/account-quota.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const day = 86_400_000;
const noon = Date.UTC(2026, 0, 15, 12);

t.test('per minute: exactly so many in any 60 seconds', async (t) => {
  const { clock, take } = setUp({ signalsPerMinute: 3 });
  t.strictSame([take(), take(), take()], [1, 2, 3]);
  t.strictSame(take(), ['signal_rate_limit_exceeded', 60_000]);
  clock.advance(59_999);
  t.strictSame(take(), ['signal_rate_limit_exceeded', 1]);
  clock.advance(1);
  t.equal(take(), 4);
});

t.test('per day: exactly so many on a UTC day, until midnight', async (t) => {
  const { clock, take } = setUp({ signalsPerDay: 3 });
  t.strictSame([take(), take(), take()], [1, 2, 3]);
  t.strictSame(take(), ['daily_signal_limit_exceeded', day / 2]);
  clock.advance(day / 2 - 1);
  t.strictSame(take(), ['daily_signal_limit_exceeded', 1]);
  clock.advance(1);
  t.equal(take(), 1);
});

t.test('the day is told before the minute, and a refusal takes from neither', async (t) => {
  const { clock, take } = setUp({ signalsPerMinute: 2, signalsPerDay: 2 });
  take();
  take();
  t.strictSame(take(), ['daily_signal_limit_exceeded', day / 2]);
  const minute = setUp({ signalsPerMinute: 1, signalsPerDay: 3 });
  t.equal(minute.take(), 1);
  for (let i = 0; i < 5; i++) t.match(minute.take(), ['signal_rate_limit_exceeded']);
  minute.clock.advance(60_000);
  t.equal(minute.take(), 2);
  clock.advance(0);
});

t.test('users and plans have quotas of their own', async (t) => {
  const { quota } = setUp();
  const plan = { publicApi: true, signalsPerMinute: 1, signalsPerDay: 10 };
  t.equal(quota.take('u1', plan).granted, true);
  t.equal(quota.take('u1', plan).granted, false);
  t.equal(quota.take('u2', plan).granted, true);
});

t.test('both counts survive a restart exactly', async (t) => {
  const { clock, accept, restarted, plan } = setUp({ signalsPerMinute: 4, signalsPerDay: 6 });
  await accept();
  clock.advance(30_000);
  await accept();
  await accept();
  const second = restarted();
  t.equal(second.take(), 4);
  t.strictSame(second.take(), ['signal_rate_limit_exceeded', 30_000]);
  clock.advance(30_000);
  t.equal(second.take(), 5);
  t.match(second.take(), ['signal_rate_limit_exceeded', 30_000]);
  t.equal(plan.signalsPerDay, 6);
});

t.test('a restart on the next day starts at nothing, one on the same day does not', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerDay: 2 });
  await accept();
  await accept();
  t.match(restarted().take(), ['daily_signal_limit_exceeded']);
  clock.advance(day / 2);
  t.equal(restarted().take(), 1);
});

t.test('a clock that steps back gives no fresh day, before and after a restart', async (t) => {
  const { clock, accept, take, restarted } = setUp({ signalsPerDay: 2 });
  clock.advance(day / 2);
  await accept();
  await accept();
  clock.stepWall(-day);
  t.match(take(), ['daily_signal_limit_exceeded']);
  const second = restarted();
  t.match(second.take(), ['daily_signal_limit_exceeded', day]);
  clock.stepWall(2 * day);
  t.equal(second.take(), 1);
});

t.test('a step forward that is taken back keeps nobody out beyond the next midnight', async (t) => {
  const { clock, take } = setUp({ signalsPerDay: 2 });
  clock.stepWall(5 * day);
  t.equal(take(), 1);
  clock.stepWall(-5 * day);
  t.equal(take(), 2);
  t.strictSame(take(), ['daily_signal_limit_exceeded', day / 2]);
  clock.advance(day / 2);
  t.equal(take(), 1);
});

t.test('a clock that steps back before a restart makes no minute longer', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 1 });
  await accept();
  clock.stepWall(-3_600_000);
  t.strictSame(restarted().take(), ['signal_rate_limit_exceeded', 60_000]);
});

t.test('a refund gives back the day’s signal, never more than was taken', async (t) => {
  const { quota, take } = setUp({ signalsPerDay: 2 });
  take();
  take();
  quota.refund('u1');
  t.equal(take(), 2);
  for (let i = 0; i < 5; i++) quota.refund('u1');
  quota.refund('nobody');
  t.strictSame([take(), take()], [1, 2]);
  t.match(take(), ['daily_signal_limit_exceeded']);
});

t.test('a user that was forgotten is read anew', async (t) => {
  const { quota, take } = setUp({ signalsPerDay: 2 });
  t.strictSame([take(), take()], [1, 2]);
  quota.forget('u1');
  t.equal(take(), 1, 'nothing of what it took is on disk');
});

t.test('a change of plan keeps the day’s count, also of what is not on disk yet', async (t) => {
  const { quota, accept, take } = setUp({ signalsPerMinute: 10, signalsPerDay: 5 });
  await accept();
  take();
  take();
  const larger = { publicApi: true, signalsPerMinute: 20, signalsPerDay: 5 };
  t.match(quota.take('u1', larger), { granted: true, signalsToday: 4 });
  t.match(quota.take('u1', larger), { granted: true, signalsToday: 5 });
  t.match(quota.take('u1', larger), { granted: false });
});

t.test('a smaller plan counts what the larger one granted', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 10 });
  for (let i = 0; i < 10; i++) {
    await accept();
    clock.advance(1_000);
  }
  // Seconds 0 to 9 have granted ten; two in any minute are free again when 8 is 60 s ago.
  const second = restarted({ signalsPerMinute: 2 });
  clock.advance(57_999);
  t.strictSame(second.take(), ['signal_rate_limit_exceeded', 1]);
  clock.advance(1);
  t.equal(second.take(), 11);
});

t.test(
  'whatever the times and restarts, no minute and no day gets more than its limit',
  async () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.constant('accept' as const) },
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 70_000 }) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
      { weight: 1, arbitrary: fc.constant('day' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, accept, restarted } = setUp({ signalsPerMinute: 4, signalsPerDay: 9 });
        const granted: number[] = [];
        for (const each of steps) {
          if (each === 'restart') restarted();
          else if (each === 'day') clock.advance(day / 3);
          else if (each !== 'accept') clock.advance(each);
          else {
            const now = clock.now();
            const wasGranted = typeof (await accept()) === 'number';
            const inMinute = granted.filter((at) => at > now - 60_000).length;
            const inDay = granted.filter(
              (at) => Math.floor(at / day) === Math.floor(now / day),
            ).length;
            assert.equal(wasGranted, inMinute < 4 && inDay < 9, `${inMinute} and ${inDay}`);
            if (wasGranted) granted.push(now);
          }
        }
      }),
      { numRuns: 200, interruptAfterTimeLimit: 20_000 },
    );
  },
);

function setUp(change: Partial<Plan> = {}) {
  const store = createMemoryStore();
  const clock = new SimulatedClock(noon);
  const ids = createIdSource(clock);
  const plan: Plan = { publicApi: true, signalsPerMinute: 100, signalsPerDay: 1_000, ...change };
  let quota = new AccountQuota(store, clock);
  let planNow = plan;
  const take = () => told(quota.take('u1', planNow));
  /** Takes and, where it is granted, stores the request that says so. */
  const accept = async () => {
    const verdict = quota.take('u1', planNow);
    if (verdict.granted) {
      const requestId = requestIdOf(ids.ulid());
      const { request } = acceptedSignal({ userId: 'u1', acceptedAt: clock.now() });
      const { signalsToday } = verdict;
      await store.write((batch) => {
        batch.put('requests', ['u1', requestId], { ...request, requestId, signalsToday });
      });
    }
    return told(verdict);
  };
  /** A new life on the same store. */
  const restarted = (smaller: Partial<Plan> = {}) => {
    quota = new AccountQuota(store, clock);
    planNow = { ...plan, ...smaller };
    return { take };
  };
  return { clock, quota, plan, take, accept, restarted };
}

function told(verdict: QuotaVerdict) {
  return verdict.granted ? verdict.signalsToday : [verdict.code, verdict.retryAfterMs];
}
