import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { type Deadline, Deadlines } from '../../src/lib/deadlines.js';
import { SharedCommits } from '../../src/signals/shared-commits.js';
import { StoreFailure } from '../../src/store/store.js';
import { commitAnswerMs } from '../../src/store/storage-health.js';
import { turns } from '../support/simulated-gateway.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const staleMs = 60_000;

function waiting() {
  const clock = new SimulatedClock();
  const deadlines = new Deadlines(clock);
  const told: string[] = [];
  const commits = new SharedCommits<string>({
    deadlines,
    staleMs,
    late: (change) => told.push(`${change} late`),
    stale: (change) => told.push(`${change} stale`),
    stored: (change) => told.push(`${change} stored`),
    failed: (change, error) => told.push(`${change} ${(error as Error).message}`),
  });
  return { clock, deadlines, told, commits };
}

function commit() {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

t.test('what shares a commit is told in its order, with one deadline for all', async (t) => {
  const { deadlines, told, commits } = waiting();
  const [first, second] = [commit(), commit()];
  commits.add('a', first.promise);
  commits.add('b', first.promise);
  commits.add('c', second.promise);
  t.equal(deadlines.size, 2);
  first.resolve();
  await turns();
  t.strictSame(told, ['a stored', 'b stored']);
  second.resolve();
  await turns();
  t.strictSame(told, ['a stored', 'b stored', 'c stored']);
  t.equal(deadlines.size, 0);
});

t.test('a commit that hangs is told late, then stale, and still of its outcome', async (t) => {
  const { clock, told, commits } = waiting();
  const { promise, resolve } = commit();
  commits.add('a', promise);
  clock.advance(commitAnswerMs - 1);
  commits.add('b', promise);
  t.strictSame(told, []);
  clock.advance(1);
  t.strictSame(told, ['a late', 'b late']);
  clock.advance(staleMs - commitAnswerMs);
  t.strictSame(told.slice(2), ['a stale', 'b stale']);
  resolve();
  await turns();
  t.strictSame(told.slice(4), ['a stored', 'b stored']);
});

t.test(
  'a commit that is the second to hang is told late and stale as the first one was',
  async (t) => {
    const { clock, told, commits } = waiting();
    const hanging = (change: string): Promise<void> => {
      const { promise, resolve } = commit();
      commits.add(change, promise);
      clock.advance(staleMs);
      resolve();
      return turns();
    };
    await hanging('a');
    await hanging('b');
    t.strictSame(told, ['a late', 'a stale', 'a stored', 'b late', 'b stale', 'b stored']);
  },
);

t.test(
  'a change that joins a commit which is late is told late and stale in its own time',
  async (t) => {
    const { clock, told, commits } = waiting();
    const { promise, resolve } = commit();
    commits.add('a', promise);
    clock.advance(commitAnswerMs);
    commits.add('b', promise);
    clock.advance(commitAnswerMs);
    t.strictSame(told, ['a late', 'b late']);
    clock.advance(staleMs);
    t.strictSame(told.slice(2), ['a stale', 'b stale']);
    resolve();
    await turns();
    t.strictSame(told.slice(4), ['a stored', 'b stored']);
  },
);

t.test('a commit that fails is told to each of its changes, and to no other', async (t) => {
  const { clock, told, commits } = waiting();
  const { promise, reject } = commit();
  commits.add('a', promise);
  commits.add('b', promise);
  commits.add('c', Promise.resolve());
  reject(new StoreFailure('full'));
  await turns();
  t.strictSame(told.sort(), ['a full', 'b full', 'c stored']);
  clock.advance(staleMs);
  t.equal(told.length, 3);
});

t.test('a commit whose outcome was told holds none of its changes', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept: Deadline[] = [];
  class KeptDeadlines extends Deadlines {
    override set(deadline: Deadline, due: number): void {
      super.set(deadline, due);
      kept.push(deadline);
    }
  }
  const ignore = () => undefined;
  const commits = new SharedCommits<object>({
    deadlines: new KeptDeadlines(new SimulatedClock()),
    staleMs,
    late: ignore,
    stale: ignore,
    stored: ignore,
    failed: ignore,
  });
  const { promise, resolve } = commit();
  const [succeeding, failing] = [addedTo(promise), addedTo(Promise.reject(new Error('full')))];
  await turns();
  collect();
  t.not(succeeding.deref(), undefined, 'nothing was told yet');
  await turns();
  resolve();
  await turns();
  collect();
  t.equal(kept.length, 2);
  t.strictSame([succeeding.deref(), failing.deref()], [undefined, undefined]);

  function addedTo(stored: Promise<void>): WeakRef<object> {
    const change = { payload: 'of a signal' };
    commits.add(change, stored);
    return new WeakRef(change);
  }
});
