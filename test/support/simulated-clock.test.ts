import t from 'tap';
import { SimulatedClock } from './simulated-clock.js';

t.test('timers fire in the order in which they are due, each at its own time', async (t) => {
  const clock = new SimulatedClock(1_000);
  const fired: [string, number, number][] = [];
  const set = (name: string, delayMs: number, then?: () => void): void => {
    clock.setTimer(delayMs, () => {
      fired.push([name, clock.now(), clock.monotonic()]);
      then?.();
    });
  };
  set('late', 30);
  set('early', 10, () => {
    set('nested', 5);
  });
  set('same', 10);
  set('beyond', 31);
  clock.advance(30);
  t.same(fired, [
    ['early', 1_010, 10],
    ['same', 1_010, 10],
    ['nested', 1_015, 15],
    ['late', 1_030, 30],
  ]);
  t.equal(clock.timerCount, 1);
});

t.test('a cancelled timer does not fire', async (t) => {
  const clock = new SimulatedClock();
  clock.setTimer(1, () => t.fail('it fired')).cancel();
  clock.advance(10);
  t.equal(clock.timerCount, 0);
});

t.test('a step of the wall clock moves no timer', async (t) => {
  const clock = new SimulatedClock(0);
  let fired = false;
  clock.setTimer(10, () => {
    fired = true;
  });
  clock.stepWall(3_600_000);
  t.equal(clock.now(), 3_600_000);
  t.equal(clock.monotonic(), 0);
  clock.advance(9);
  t.notOk(fired);
  clock.advance(1);
  t.ok(fired);
  t.equal(clock.now(), 3_600_010);
});

t.test('a task that moves the clock further is not undone', async (t) => {
  const clock = new SimulatedClock(0);
  clock.setTimer(1, () => clock.advance(10));
  clock.advance(2);
  t.same([clock.monotonic(), clock.now()], [11, 11]);
  clock.setTimer(1, () => clock.elapse(10));
  clock.advance(2);
  t.same([clock.monotonic(), clock.now()], [22, 22]);
});
