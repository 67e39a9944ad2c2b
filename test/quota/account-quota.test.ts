import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { requestIdOf, createIdSource } from '../../src/lib/ids.js';
import type { Plan } from '../../src/plans.js';
import { AccountQuota } from '../../src/quota/account-quota.js';
import type { SignalRequest } from '../../src/model/records.js';
import type { Writer } from '../../src/store/store.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { SimulatedGateway, turns, unlimited } from '../support/simulated-gateway.js';

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

t.test('users have quotas of their own', async (t) => {
  const { quota } = setUp();
  const plan = { publicApi: true, signalsPerMinute: 1, signalsPerDay: 10 };
  t.equal(quota.take('u1', plan, noon).granted, true);
  t.equal(quota.take('u1', plan, noon).granted, false);
  t.equal(quota.take('u2', plan, noon).granted, true);
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
  const { take } = restarted();
  t.strictSame(take(), ['signal_rate_limit_exceeded', 60_000]);
  clock.advance(60_000);
  t.equal(take(), 2);
});

t.test('ids that a step back left dated ahead spend no minute that comes later', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 2 });
  clock.stepWall(3_600_000);
  await accept();
  clock.stepWall(-3_600_000);
  for (let i = 0; i < 5; i++) {
    clock.advance(600_000);
    t.type(await accept(), 'number');
  }
  clock.advance(600_000 + 1_000);
  const { take } = restarted();
  t.strictSame([take(), take()], [7, 8]);
  t.match(take(), ['signal_rate_limit_exceeded']);
});

t.test('after a clock that was a month ahead, the quotas count what came since', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 2, signalsPerDay: 5 });
  clock.stepWall(30 * day);
  await accept();
  clock.stepWall(-30 * day);
  for (let i = 0; i < 3; i++) {
    clock.advance(40_000);
    t.type(await accept(), 'number');
  }
  clock.advance(20_000);
  const { take } = restarted();
  t.equal(take(), 5);
  t.match(take(), ['daily_signal_limit_exceeded']);
});

t.test('two that a step back left in one millisecond are free again after a minute', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 2 });
  clock.stepWall(30_000);
  await accept();
  clock.stepWall(-30_000);
  await accept();
  clock.advance(60_001);
  t.equal(restarted().take(), 3);
});

t.test('what crowds into a millisecond is read back to the begin of the minute', async (t) => {
  const { clock, accept, restarted, reads } = setUp({ signalsPerMinute: 1_000 });
  clock.stepWall(3_600_000);
  await accept();
  clock.stepWall(-3_600_000);
  for (let i = 0; i < 600; i++) {
    clock.advance(1_000);
    await accept();
  }
  clock.advance(1_000);
  const { take } = restarted({ signalsPerMinute: 60 });
  reads.records = 0;
  t.type(take(), 'number', 'the one at the edge is free');
  t.match(take(), ['signal_rate_limit_exceeded', 1_000]);
  t.ok(reads.records < 150, `${reads.records} records`);
});

t.test(
  'a record that names an old request as undecided has only a minute’s signals counted',
  async (t) => {
    const store = createMemoryStore();
    const ids = [...Array(1_500).keys()].map((i) =>
      requestIdOf(`01KB${String(i).padStart(22, '0')}`),
    );
    const { request } = acceptedSignal({ userId: 'u1', acceptedAt: noon });
    await store.write((batch) => {
      for (const requestId of ids) {
        const forged = { ...request, requestId, signalsToday: 1, undecidedFrom: ids[0] };
        batch.put('requests', ['u1', requestId], forged);
      }
    });
    const quota = new AccountQuota(store, new SimulatedClock(noon));
    const plan = { publicApi: true, signalsPerMinute: 1_200, signalsPerDay: 2_000 };
    quota.take('u1', plan, noon);
    t.equal(quota.count('u1', 'the next').signalsToday, 1 + 1_200 + 1);
  },
);

t.test('what is in flight or in doubt counts until it is known not to be accepted', (t) => {
  const { take, begin, quota } = setUp({ signalsPerDay: 2 });
  const first = begin();
  begin();
  t.match(take(), ['daily_signal_limit_exceeded']);
  quota.decide('u1', first, false);
  quota.decide('u1', first, false);
  quota.decide('nobody', first, false);
  t.equal(take(), 1, 'as far as is known');
  t.match(take(), ['daily_signal_limit_exceeded']);
  t.end();
});

t.test('what is known only after midnight is of the day before', (t) => {
  const { clock, take, begin, quota } = setUp({ signalsPerDay: 2 });
  const ids = [begin(), begin()];
  clock.advance(day / 2);
  t.equal(take(), 1);
  for (const id of ids) quota.decide('u1', id, id === ids[0]);
  t.equal(take(), 2);
  t.match(take(), ['daily_signal_limit_exceeded']);
  t.end();
});

t.test('a user that was forgotten is read anew', async (t) => {
  const { quota, take } = setUp({ signalsPerDay: 2 });
  t.strictSame([take(), take()], [1, 2]);
  quota.forget('u1');
  t.equal(take(), 1, 'nothing of what it took is on disk');
});

t.test('a change of plan keeps the day’s count, also of what is not on disk yet', async (t) => {
  const { quota, accept, begin, take, restarted } = setUp({
    signalsPerMinute: 10,
    signalsPerDay: 5,
  });
  await accept();
  begin();
  take();
  const larger = restarted({ signalsPerMinute: 20 }, quota);
  t.equal(larger.take(), 3, 'as far as is known');
  t.equal(larger.take(), 4);
  t.match(larger.take(), ['daily_signal_limit_exceeded']);
});

t.test('a change of plan changes the minute’s quota at once', (t) => {
  const { clock, quota, take, restarted } = setUp({ signalsPerMinute: 2 });
  t.strictSame([take(), take()], [1, 2]);
  t.match(take(), ['signal_rate_limit_exceeded']);
  clock.advance(10_000);
  const larger = restarted({ signalsPerMinute: 3 }, quota);
  t.equal(larger.take(), 3);
  t.strictSame(larger.take(), ['signal_rate_limit_exceeded', 50_000]);
  const smaller = restarted({ signalsPerMinute: 1 }, quota);
  t.strictSame(smaller.take(), ['signal_rate_limit_exceeded', 60_000], 'the last of three counts');
  t.end();
});

t.test('a smaller plan counts what the larger one granted', async (t) => {
  const { clock, accept, restarted } = setUp({ signalsPerMinute: 10 });
  for (let i = 0; i < 10; i++) {
    await accept();
    clock.advance(1_000);
  }
  // Seconds 0 to 9 granted one each: with two a minute, one is free when the grant of second 8 is 60 s old.
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

t.test('whatever commits fail, a restart counts exactly what was accepted', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ accept: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 4, arbitrary: fc.record({ turns: fc.integer({ min: 1, max: 4 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ fail: fc.constantFrom('lost' as const, 'kept' as const) }),
    },
    { weight: 1, arbitrary: fc.constant('look' as const) },
    { weight: 2, arbitrary: fc.constant('restart' as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      let gateway = new SimulatedGateway();
      let signals = 0;
      for (const each of [...steps, 'restart' as const]) {
        if (each === 'look') await gateway.pass(1_000);
        else if (each === 'restart') {
          await turns();
          // The clock has to advance: ids of the next life are greater only at a later time.
          gateway.clock.advance(1);
          gateway = gateway.restart();
          const stored = gateway.store.keys('requests').length;
          const { quota } = gateway.core;
          quota.take('u1', unlimited, gateway.clock.now());
          assert.equal(quota.count('u1', 'the next').signalsToday, stored + 1);
          quota.decide('u1', 'the next', false);
        } else if ('turns' in each) await turns(each.turns);
        else if ('fail' in each) gateway.memory.failNextCommits(1, each.fail);
        else {
          for (let i = 0; i < each.accept; i++) {
            const name = `s${++signals}`;
            gateway.accept({ signalId: name, idempotencyKey: name }, () => undefined);
          }
        }
      }
    }),
    { numRuns: 300, interruptAfterTimeLimit: 20_000 },
  );
});

function setUp(change: Partial<Plan> = {}) {
  const store = createMemoryStore();
  const reads = { records: 0 };
  const get = store.get.bind(store);
  store.get = (...asked) => {
    reads.records++;
    return get(...asked);
  };
  const clock = new SimulatedClock(noon);
  const ids = createIdSource(clock);
  const plan: Plan = { publicApi: true, signalsPerMinute: 100, signalsPerDay: 1_000, ...change };
  let quota = new AccountQuota(store, clock);
  let planNow = plan;
  const granted = () => quota.take('u1', planNow, clock.now());
  /** @returns the id of a request that is in flight now. */
  const begin = (): string => {
    const requestId = requestIdOf(ids.ulid());
    assert.ok(granted().granted);
    quota.count('u1', requestId);
    return requestId;
  };
  /** Takes one; if granted, calls `then` with the request. @returns its number of the day, or the refusal. */
  const takeThen = (then: (request: SignalRequest) => void) => {
    const verdict = granted();
    if (!verdict.granted) return [verdict.code, verdict.retryAfterMs];
    const requestId = requestIdOf(ids.ulid());
    const { request } = acceptedSignal({ userId: 'u1', acceptedAt: clock.now() });
    const count = quota.count('u1', requestId);
    then({ ...request, ...count, requestId });
    return count.signalsToday;
  };
  const take = () => takeThen(({ requestId }) => quota.decide('u1', requestId, true));
  /** As `take`, and stores the request. */
  const accept = async () => {
    let stored: Promise<void> | undefined;
    const told = takeThen((request) => {
      const { requestId } = request;
      const put = (batch: Writer) => batch.put('requests', ['u1', requestId], request);
      stored = store.write(put).then(() => quota.decide('u1', requestId, true));
    });
    await stored;
    return told;
  };
  /** Changes the plan, and restarts on the same store unless a survivor is given. */
  const restarted = (change: Partial<Plan> = {}, survivor?: AccountQuota) => {
    quota = survivor ?? new AccountQuota(store, clock);
    planNow = { ...plan, ...change };
    return { take };
  };
  return { clock, quota, plan, take, accept, begin, restarted, reads };
}
