import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { Deadlines, type Deadline } from '../../src/lib/deadlines.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test('deadlines fire in order, never early, each once', async (t) => {
  const { clock, deadlines, fired, add } = setUp();
  for (const due of [50, 10, 30, 10, 40]) add(due);
  clock.advance(9.999);
  t.strictSame(fired, []);
  clock.advance(20.001);
  t.strictSame(fired, [10, 10, 30]);
  clock.advance(1_000);
  t.strictSame(fired, [10, 10, 30, 40, 50]);
  t.equal(deadlines.size, 0);
  t.equal(clock.timerCount, 0);
});

t.test('one timer serves them all, and is set anew for an earlier one', async (t) => {
  const { clock, fired, add } = setUp();
  for (let due = 1_000; due > 0; due -= 10) add(due);
  t.equal(clock.timerCount, 1);
  clock.advance(10);
  t.strictSame(fired, [10]);
  t.equal(clock.timerCount, 1);
});

t.test('one that is due already fires in a turn of its own, not within the call', async (t) => {
  const { clock, deadlines, fired } = setUp();
  deadlines.at(-5, () => fired.push(1));
  deadlines.after(-5, () => fired.push(2));
  t.strictSame(fired, []);
  clock.advance(0);
  t.strictSame(fired, [1, 2]);
});

t.test('a task may add and remove others', async (t) => {
  const { clock, deadlines, fired, add } = setUp();
  const doomed = add(20);
  deadlines.at(10, () => {
    deadlines.remove(doomed);
    add(10);
    add(15);
  });
  clock.advance(100);
  t.strictSame(fired, [10, 15]);
});

t.test('a throwing task takes no other down with it', async (t) => {
  const { clock, deadlines, fired, add } = setUp();
  deadlines.at(10, () => {
    throw new Error('a bug');
  });
  add(10);
  add(20);
  t.throws(() => clock.advance(10), /a bug/);
  clock.advance(10);
  t.strictSame(fired, [10, 20]);
});

t.test('a crowd never holds the loop: a turn fires a bounded number', async (t) => {
  const { clock, deadlines } = setUp();
  let turns = 0;
  let firedNow = 0;
  let most = 0;
  const realSetTimer = clock.setTimer.bind(clock);
  clock.setTimer = (delay, task) =>
    realSetTimer(delay, () => {
      turns++;
      firedNow = 0;
      task();
      most = Math.max(most, firedNow);
    });
  for (let i = 0; i < 3_500; i++) deadlines.at(10, () => firedNow++);
  clock.advance(10);
  // Each may change an execution that waits on disk: more of them would take tens of milliseconds.
  t.equal(most, 256);
  t.equal(turns, 14);
  t.equal(deadlines.size, 0);
});

t.test('a crowd of long tasks never holds the loop: a turn fires for a bounded time', async (t) => {
  const { clock, deadlines } = setUp();
  let fired = 0;
  const task = (): void => {
    clock.elapse(1);
    fired++;
  };
  for (let i = 0; i < 9; i++) deadlines.at(10, task);
  clock.advance(10);
  t.equal(fired, 4);
  for (const count of [8, 9]) {
    clock.advance(0);
    t.equal(fired, count);
  }
});

t.test('steps of the wall clock neither fire nor starve a deadline', async (t) => {
  const { clock, fired, add } = setUp();
  add(100);
  clock.stepWall(3_600_000);
  clock.advance(99);
  t.strictSame(fired, []);
  clock.stepWall(-7_200_000);
  clock.advance(1);
  t.strictSame(fired, [100]);
});

t.test('a timer that fires too soon, as over 24 days it does, only sets the next', async (t) => {
  const { clock, deadlines, fired } = setUp();
  const realSetTimer = clock.setTimer.bind(clock);
  clock.setTimer = (delay, task) => realSetTimer(Math.min(delay, 100), task);
  deadlines.at(250, () => fired.push(clock.monotonic()));
  clock.advance(1_000);
  t.strictSame(fired, [250]);
});

t.test('removing what has fired, was removed or was stopped does no harm', async (t) => {
  const { clock, deadlines, fired, add } = setUp();
  const first = add(10);
  const second = add(20);
  const third = add(30);
  const fourth = add(40);
  clock.advance(10);
  deadlines.remove(first);
  deadlines.remove(second);
  deadlines.remove(second);
  deadlines.remove(undefined);
  deadlines.stop();
  deadlines.remove(third);
  clock.advance(100);
  t.strictSame(fired, [10]);
  const late = add(120);
  deadlines.remove(fourth);
  clock.advance(100);
  t.strictSame(fired, [10], 'what is set after the stop does not fall either');
  deadlines.remove(late);
  t.equal(clock.timerCount, 0);
});

t.test(
  'what is a deadline itself is set, set anew, and back in its place once it fired',
  async (t) => {
    const { clock, deadlines, fired, add } = setUp();
    const own: Deadline = { heapIndex: -1, task: () => fired.push(0) };
    for (const due of [10, 20, 30]) add(due);
    deadlines.set(own, 5);
    deadlines.set(own, 25);
    t.equal(deadlines.size, 4);
    clock.advance(100);
    t.strictSame(fired, [10, 20, 0, 30]);
    t.equal(own.heapIndex, -1);
    deadlines.set(own, 150);
    clock.advance(100);
    t.strictSame(fired, [10, 20, 0, 30, 0]);
  },
);

t.test('with random additions, removals and passing time it equals a sorted list', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), value: fc.integer({ min: 0, max: 60 }) }),
    fc.record({ kind: fc.constant('remove' as const), value: fc.nat(1_000) }),
    fc.record({ kind: fc.constant('advance' as const), value: fc.integer({ min: 0, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { clock, deadlines, fired } = setUp();
      let model: { due: number; id: number; deadline: Deadline }[] = [];
      const expected: number[] = [];
      let id = 0;
      for (const { kind, value } of steps) {
        if (kind === 'add') {
          const due = clock.monotonic() + value;
          // Deadlines of the same time have no order: the test compares times, not deadlines.
          model.push({ due, id: id++, deadline: deadlines.after(value, () => fired.push(due)) });
        } else if (kind === 'remove' && model.length > 0) {
          const [gone] = model.splice(value % model.length, 1);
          deadlines.remove(gone?.deadline);
        } else if (kind === 'advance') {
          clock.advance(value);
          const due = model.filter((each) => each.due <= clock.monotonic());
          model = model.filter((each) => each.due > clock.monotonic());
          expected.push(...due.map((each) => each.due).sort((a, b) => a - b));
        }
        assert.equal(deadlines.size, model.length);
        assert(clock.timerCount <= 1);
      }
      assert.deepEqual(fired, expected);
    }),
    { numRuns: 500 },
  );
});

t.test('a large heap keeps its order whatever is removed from its middle', async () => {
  const dues = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 20, maxLength: 200 });
  fc.assert(
    fc.property(dues, fc.array(fc.nat(), { maxLength: 30 }), (all, removals) => {
      const { clock, deadlines, fired, add } = setUp();
      const left = all.map((due) => ({ due, deadline: add(due) }));
      for (const each of removals) {
        if (left.length === 0) break;
        const [gone] = left.splice(each % left.length, 1);
        deadlines.remove(gone?.deadline);
      }
      clock.advance(1_000);
      assert.deepEqual(
        fired,
        left.map(({ due }) => due).sort((a, b) => a - b),
      );
    }),
    { numRuns: 300 },
  );
});

t.test('after a hold, what came meanwhile has a little time before a deadline falls', (t) => {
  const { clock, deadlines, fired, add } = setUp();
  add(10);
  add(20);
  clock.elapse(5_000);
  clock.advance(0);
  add(15);
  const heartbeat = add(30);
  clock.advance(499);
  t.strictSame(fired, []);
  deadlines.remove(heartbeat);
  clock.advance(1);
  t.strictSame(fired, [10, 15, 20]);
  t.equal(clock.timerCount, 0);
  t.end();
});

t.test('a short hold puts off no longer than it lasted', (t) => {
  const { clock, fired, add } = setUp();
  add(10);
  clock.elapse(130);
  clock.advance(0);
  clock.advance(119);
  t.strictSame(fired, []);
  clock.advance(1);
  t.strictSame(fired, [10]);
  t.end();
});

t.test('a long hold that ends just behind a deadline leaves time to read what came in it', (t) => {
  const { clock, deadlines, fired, add } = setUp();
  const heartbeat = add(5_000);
  add(5_001);
  clock.elapse(5_020);
  clock.advance(0);
  deadlines.remove(heartbeat);
  t.strictSame(fired, []);
  clock.advance(20);
  t.strictSame(fired, [5_001]);
  t.end();
});

t.test('one that was due long before it was added is not late by a hold', (t) => {
  const { clock, fired, add } = setUp();
  clock.advance(10_000);
  add(10);
  clock.advance(0);
  t.strictSame(fired, [10]);
  t.end();
});

t.test('a second hold puts off only what fell due in it', (t) => {
  const { clock, deadlines, fired, add } = setUp();
  add(10);
  clock.elapse(5_000);
  clock.advance(50);
  const heartbeat = add(6_000);
  add(7_000);
  clock.elapse(5_000);
  clock.advance(0);
  t.strictSame(fired, [10]);
  deadlines.remove(heartbeat);
  clock.advance(499);
  t.strictSame(fired, [10]);
  clock.advance(1);
  t.strictSame(fired, [10, 7_000]);
  t.equal(clock.timerCount, 0);
  t.end();
});

t.test(
  'of more than one turn takes, none waits a second time on a loop that is held again',
  (t) => {
    const { clock, fired, add } = setUp();
    for (let count = 0; count < 2_500; count++) add(10);
    clock.elapse(5_000);
    clock.advance(0);
    clock.elapse(1_000);
    clock.advance(0);
    t.equal(fired.length, 2_500);
    t.end();
  },
);

t.test('a loop that is held again and again starves nothing', (t) => {
  const { clock, fired, add } = setUp();
  for (let hold = 1; hold <= 5; hold++) {
    add(clock.monotonic() + 10);
    clock.elapse(1_000);
    clock.advance(0);
    t.equal(fired.length, hold - 1);
  }
  t.end();
});

t.test('a hold in which nothing fell due sets no other timer', (t) => {
  const { clock, deadlines, fired, add } = setUp();
  const removed = add(10);
  add(60_000);
  deadlines.remove(removed);
  clock.elapse(1_000);
  clock.advance(0);
  let timers = 0;
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (delayMs, task) => {
    timers++;
    return setTimer(delayMs, task);
  };
  clock.advance(58_000);
  t.equal(timers, 0);
  clock.advance(1_000);
  t.strictSame(fired, [60_000]);
  t.end();
});

function setUp() {
  const clock = new SimulatedClock();
  const deadlines = new Deadlines(clock);
  const fired: number[] = [];
  const add = (due: number) => deadlines.at(due, () => fired.push(due));
  return { clock, deadlines, fired, add };
}
