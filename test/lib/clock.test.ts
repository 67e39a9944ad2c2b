import fc from 'fast-check';
import t from 'tap';
import { every, systemClock, toIsoTime } from '../../src/lib/clock.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test(
  'every: again and again until cancelled, also from within, also after a throw',
  async (t) => {
    const clock = new SimulatedClock();
    let runs = 0;
    const timer = every(clock, 10, () => {
      if (++runs === 2) throw new Error('a bug');
      if (runs === 4) timer.cancel();
    });
    clock.advance(19);
    t.equal(runs, 1);
    t.throws(() => clock.advance(1), /a bug/);
    clock.advance(1_000);
    t.equal(runs, 4);
    t.equal(clock.timerCount, 0);
  },
);

t.test('the system clock: monotonic time never falls, a cancelled timer never fires', async (t) => {
  const before = systemClock.monotonic();
  systemClock.setTimer(0, () => t.fail('was cancelled')).cancel();
  // Node would fire a delay beyond 2^31 - 1 ms at once; held up to that, it waits.
  const far = systemClock.setTimer(2 ** 31, () => t.fail('far too soon'));
  await new Promise<void>((resolve) => {
    const wait = setTimeout(resolve, 5);
    systemClock.setTimer(-5, () => t.pass('a delay of less than nothing is none'));
    wait.ref();
  });
  far.cancel();
  t.ok(systemClock.monotonic() >= before);
  t.ok(Number.isInteger(systemClock.now()));
});

t.test('times in JSON are ISO 8601 UTC with milliseconds', async (t) => {
  t.equal(toIsoTime(Date.UTC(2026, 0, 31, 12)), '2026-01-31T12:00:00.000Z');
});

t.test('every moment that a Date can show is written as a Date writes it', async () => {
  const moment = fc.oneof(
    fc.date({ noInvalidDate: true }).map((date) => date.getTime()),
    fc.integer({ min: 1_770_000_000_000, max: 1_770_200_000_000 }),
    fc.constantFrom(
      0,
      -1,
      86_399_999,
      86_400_000,
      253_402_300_799_999,
      253_402_300_800_000,
      -8.64e15,
    ),
  );
  fc.assert(fc.property(moment, (ms) => toIsoTime(ms) === new Date(ms).toISOString()));
});
