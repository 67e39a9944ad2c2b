import t from 'tap';
import { watchSleep } from '../../src/lib/sleep-watch.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test('a sleep is told once, with its length', async (t) => {
  const { clock, sleep, told } = setUp();
  clock.advance(10_000);
  sleep(60_000);
  clock.advance(1_000);
  t.strictSame(told, [60_000]);
  clock.advance(10_000);
  t.strictSame(told, [60_000]);
});

t.test(
  'a step of the wall clock, a pause of the process or an uptime that jumps is no sleep',
  async (t) => {
    const { clock, setUptime, told } = setUp();
    clock.stepWall(3_600_000);
    clock.advance(1_000);
    clock.stepWall(-7_200_000);
    clock.advance(1_000);
    setUptime(3_600_000);
    clock.advance(1_000);
    clock.elapse(60_000);
    clock.advance(1_000);
    t.strictSame(told, []);
  },
);

function setUp() {
  const clock = new SimulatedClock();
  const told: number[] = [];
  let aheadMs = 5_000;
  watchSleep(
    clock,
    (ms) => told.push(ms),
    () => clock.monotonic() + aheadMs,
  );
  return {
    clock,
    told,
    setUptime: (ms: number) => (aheadMs = ms),
    sleep: (ms: number) => {
      clock.stepWall(ms);
      aheadMs += ms;
    },
  };
}
