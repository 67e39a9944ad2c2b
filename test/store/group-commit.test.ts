import t from 'tap';
import { createGroupCommit } from '../../src/store/group-commit.js';
import { StoreFailure } from '../../src/store/store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const outcomes = {
  'that succeeded': { committed: () => Promise.resolve(true), told: ['flushed', true] },
  'that failed': {
    committed: () => Promise.reject(new Error('no space')),
    told: [StoreFailure.name, false],
  },
};

for (const [name, { committed, told }] of Object.entries(outcomes)) {
  t.test(`the outcome of a commit ${name} is told at the end of a turn, not before`, async (t) => {
    const heard: unknown[] = [];
    const commits = createGroupCommit({
      clock: new SimulatedClock(),
      commitLatency: undefined,
      onCommit: (ok) => heard.push(ok),
    });
    commits.follow(committed()).then(
      () => heard.unshift('flushed'),
      (error: unknown) => heard.unshift((error as Error).name),
    );
    for (let i = 0; i < 50; i++) await Promise.resolve();
    t.strictSame(heard, [], 'whatever callback this is, it goes to its end');
    await new Promise(setImmediate);
    t.strictSame(heard, told);
    await commits.idle();
  });
}

t.test('a transaction is told at the end of a turn as well', async (t) => {
  const commits = createGroupCommit({
    clock: new SimulatedClock(),
    commitLatency: undefined,
    onCommit: undefined,
  });
  let result: string | undefined;
  const settled = commits.settle(Promise.resolve('done')).then((value) => (result = value));
  for (let i = 0; i < 50; i++) await Promise.resolve();
  t.equal(result, undefined);
  t.equal(await settled, 'done');
});
