import t from 'tap';
import { dayMs, hourMs, minuteMs } from '../../src/lib/durations.js';
import { RetentionClock } from '../../src/retention/retention-clock.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test('it goes with the wall clock while nobody sets it', async (t) => {
  const clock = new SimulatedClock();
  const time = new RetentionClock(clock);
  for (let i = 0; i < 200; i++) {
    clock.advance(61_000);
    t.equal(time.now(), clock.now());
  }
});

t.test('it follows a step back at once', async (t) => {
  const clock = new SimulatedClock();
  const time = new RetentionClock(clock);
  clock.stepWall(-5 * hourMs);
  t.equal(time.now(), clock.now());
});

t.test('it follows a step forward when that has lasted for an hour', async (t) => {
  const clock = new SimulatedClock();
  const time = new RetentionClock(clock);
  const before = clock.now();
  clock.advance(minuteMs);
  clock.stepWall(5 * hourMs);
  t.equal(time.now(), before + minuteMs);
  clock.advance(hourMs);
  t.equal(time.now(), before + minuteMs + hourMs);
  clock.advance(1);
  t.equal(time.now(), clock.now());
});

t.test('it follows no step forward sooner because nobody asked it for hours', async (t) => {
  const clock = new SimulatedClock();
  const time = new RetentionClock(clock);
  clock.advance(3 * hourMs);
  const before = clock.now();
  clock.stepWall(40 * dayMs);
  t.equal(time.now(), before);
  clock.advance(hourMs);
  t.equal(time.now(), before + hourMs);
  clock.advance(1);
  t.equal(time.now(), clock.now());
});
