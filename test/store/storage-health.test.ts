import t, { type Test } from 'tap';
import { every } from '../../src/lib/clock.js';
import { commitLookMs, StorageHealth } from '../../src/store/storage-health.js';
import { StoreFailure, type Store } from '../../src/store/store.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns } from '../support/simulated-gateway.js';

t.test('healthy until a commit fails, and again once one succeeds', async (t) => {
  const { health, recoveries } = setUp();
  t.equal(health.isHealthy, true);
  health.noteCommit(true);
  t.equal(recoveries(), 0, 'success is no news');
  health.noteCommit(false);
  health.noteCommit(false);
  t.equal(health.isHealthy, false);
  health.noteCommit(true);
  t.equal(health.isHealthy, true);
  t.equal(recoveries(), 1);
});

t.test('after a failure a small write is tried every second until one succeeds', async (t) => {
  const { clock, memory, health, probes, recoveries } = setUp();
  memory.failNextCommits(3);
  health.noteCommit(false);
  clock.advance(999);
  t.equal(probes(), 0);
  clock.advance(1);
  t.equal(probes(), 1);
  await turns();
  for (const expected of [2, 3]) {
    clock.advance(1_000);
    t.equal(probes(), expected);
    await turns();
    t.equal(health.isHealthy, false);
  }
  clock.advance(1_000);
  await turns();
  t.equal(health.isHealthy, true);
  t.equal(recoveries(), 1);
  clock.advance(60_000);
  t.equal(probes(), 4);
  t.equal(clock.timerCount, 0);
});

t.test('traffic that succeeds first makes the probe needless', async (t) => {
  const { clock, health, probes } = setUp();
  health.noteCommit(false);
  health.noteCommit(true);
  clock.advance(10_000);
  t.equal(probes(), 0);
});

t.test('failures that alternate with successes leave one probe, not many', async (t) => {
  const { clock, health, recoveries } = setUp();
  for (let i = 0; i < 10; i++) {
    health.noteCommit(false);
    t.equal(clock.timerCount, 1);
    health.noteCommit(true);
  }
  t.equal(recoveries(), 10);
});

t.test('a try that reaches the disk and is no recovery is not the last one', async (t) => {
  const { clock, health, memory } = setUp();
  let isInReserve = true;
  health.watch({
    ...memory,
    async write(fill) {
      await memory.write(fill);
      health.noteCommit(!isInReserve);
    },
  });
  health.noteCommit(false);
  clock.advance(1_000);
  await turns();
  t.equal(health.isHealthy, false);
  isInReserve = false;
  clock.advance(1_000);
  await turns();
  t.equal(health.isHealthy, true);
});

t.test('once it is stopped, nothing is tried any more', async (t) => {
  const { clock, health, probes } = setUp();
  health.noteCommit(false);
  health.stop();
  t.equal(clock.timerCount, 0);
  health.noteCommit(true);
  health.noteCommit(false);
  t.equal(clock.timerCount, 0);
  clock.advance(10_000);
  t.equal(probes(), 0);
});

t.test('who listens for recovery finds it healthy, and may write', async (t) => {
  const { health, store } = setUp();
  const seen: boolean[] = [];
  health.onRecovery(() => {
    seen.push(health.isHealthy);
    void store.write((batch) => batch.put('meta', 'x', 1));
  });
  health.noteCommit(false);
  health.noteCommit(true);
  await turns();
  t.strictSame(seen, [true]);
  t.equal(store.get('meta', 'x'), 1);
});

t.test('the time of the last commit is that of the last one that succeeded', async (t) => {
  const { health, clock } = setUp();
  t.equal(health.committedAt, undefined);
  health.noteCommit(true);
  const first = clock.now();
  clock.advance(5_000);
  health.noteCommit(false);
  t.equal(health.committedAt, first);
  clock.advance(100);
  health.noteCommit(true);
  t.equal(health.committedAt, clock.now());
});

function setUp() {
  const clock = new SimulatedClock();
  const memory = createMemoryStore();
  const health = new StorageHealth(clock);
  let probes = 0;
  let recoveries = 0;
  const store: Store = {
    ...memory,
    write: (fill) => {
      probes++;
      const written = memory.write(fill);
      written.then(
        () => health.noteCommit(true),
        (error: unknown) => {
          if (error instanceof StoreFailure) health.noteCommit(false);
        },
      );
      return written;
    },
  };
  health.watch(store);
  health.onRecovery(() => recoveries++);
  return { clock, memory, health, store, probes: () => probes, recoveries: () => recoveries };
}

t.test('a commit that hangs is overdue after two seconds, and told once', async (t) => {
  const { clock, memory, health, told } = setUpLooks(t);
  t.equal(health.commitAgeMs, 0);
  const release = memory.hang();
  const written = memory.write((batch) => batch.put('meta', 'x', 1));
  clock.advance(1_000);
  const later = memory.transact((transaction) => transaction.put('meta', 'y', 1));
  clock.advance(1_000);
  t.equal(health.isOverdue, false);
  t.equal(health.refuses(), false);
  clock.advance(commitLookMs);
  t.equal(health.commitAgeMs, 2_000 + commitLookMs, 'the oldest counts');
  t.equal(health.refuses(), true);
  t.strictSame(told, [true]);
  clock.advance(1_000);
  release();
  await Promise.all([written, later]);
  t.equal(health.commitAgeMs, 0);
  t.equal(health.refuses(), false);
  clock.advance(commitLookMs);
  t.strictSame(told, [true, false]);
});

t.test('a commit does not hang because the event loop was blocked', async (t) => {
  const { clock, memory, health, told } = setUpLooks(t);
  const release = memory.hang();
  const written = memory.write((batch) => batch.put('meta', 'x', 1));
  clock.elapse(60_000);
  clock.advance(0);
  t.equal(health.commitAgeMs, 60_000);
  t.equal(health.refuses(), false, 'its end may be among what the loop reads next');
  clock.advance(2_000);
  t.equal(health.refuses(), false);
  clock.advance(commitLookMs);
  t.equal(health.refuses(), true, 'two seconds of a loop that ran');
  t.strictSame(told, [true]);
  release();
  await written;
});

t.test('what the loop has seen of one commit does not count for the next', async (t) => {
  const { clock, memory, health } = setUpLooks(t);
  for (let i = 0; i < 3; i++) {
    const release = memory.hang();
    const written = memory.write((batch) => batch.put('meta', 'x', i));
    clock.advance(1_900);
    t.equal(health.refuses(), false);
    release();
    await written;
  }
});

/** Calls `look` as often as the gateway does, until the test ends. */
function setUpLooks(t: Test) {
  const clock = new SimulatedClock();
  const memory = createMemoryStore(clock);
  const told: boolean[] = [];
  const health = new StorageHealth(clock, { onOverdue: (isOverdue) => told.push(isOverdue) });
  health.watch(memory);
  const look = every(clock, commitLookMs, () => health.look());
  t.teardown(() => look.cancel());
  return { clock, memory, health, told };
}

t.test('without traffic, too, a store that would refuse writes is not healthy', async (t) => {
  const { clock, memory, health } = setUpLooks(t);
  memory.watchCommits(health.noteCommit);
  clock.advance(commitLookMs);
  t.equal(health.isHealthy, true);
  memory.refuseWrites(true);
  clock.advance(commitLookMs);
  t.equal(health.isHealthy, false);
  memory.refuseWrites(false);
  for (let seconds = 0; seconds < 2; seconds++) {
    clock.advance(1_000);
    await turns();
  }
  t.equal(health.isHealthy, true);
});

t.test('changes are refused while the store refuses writes', (t) => {
  const memory = createMemoryStore();
  const health = new StorageHealth(new SimulatedClock());
  t.equal(health.refuses(), false, 'before it watches a store');
  health.watch(memory);
  memory.refuseWrites(true);
  t.equal(health.refuses(), true);
  t.equal(health.refuses({ usesReserve: true }), false, 'but for those that use the reserve');
  memory.refuseWrites(false);
  t.equal(health.refuses(), false);
  t.end();
});
