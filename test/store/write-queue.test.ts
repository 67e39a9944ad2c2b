import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { WriteQueue, type Stored } from '../../src/store/write-queue.js';
import { createMemoryStore } from '../support/memory-store.js';
import { turns } from '../support/simulated-gateway.js';

t.test('writes are done in order, after their flush', async (t) => {
  const { store, writer, write, done } = setUp();
  write(1);
  write(2);
  t.strictSame(done, []);
  t.equal(store.get('apiKeyUses', 1), undefined);
  await writer.settled();
  t.strictSame(done, [1, 2]);
  t.equal(store.get('apiKeyUses', 2), 2);
});

t.test('one commit is under way at a time; what comes meanwhile joins the next', async (t) => {
  const { writer, write, commits } = setUp();
  write(1);
  for (const each of [2, 3, 4]) write(each);
  await writer.settled();
  t.equal(commits(), 2);
});

t.test('who waits for what was written does not wait for what comes after', async (t) => {
  const { writer, write, done } = setUp();
  let isSettled = false as boolean;
  write(1);
  write(2);
  const settled = writer.settled().then(() => (isSettled = true));
  for (let each = 3; !isSettled && each < 100; each++) {
    write(each);
    await turns(1);
  }
  await settled;
  t.ok(done.length < 50, `${done.length}`);
  t.match(done, [1, 2]);
});

t.test('when a commit fails nothing behind it goes ahead, and all is tried again', async (t) => {
  const { store, writer, write, done, failed } = setUp();
  store.failNextCommits(1);
  write(1);
  write(2);
  await turns();
  t.strictSame([done, failed], [[], [1, 2]]);
  t.equal(writer.backlog, 2 + 2);
  t.equal(store.get('apiKeyUses', 2), undefined);
  writer.retry();
  await writer.settled();
  t.strictSame(done, [1, 2]);
  t.equal(writer.backlog, 0);
});

t.test('after a failure a later write only waits, and is told so', async (t) => {
  const { store, writer, write, done, failed, commits } = setUp();
  store.failNextCommits(1);
  write(1);
  await turns();
  for (const each of [2, 3]) write(each);
  t.strictSame(failed, [1], 'not within the call');
  await turns();
  t.equal(commits(), 1, 'one try, whatever comes');
  t.strictSame([done, failed], [[], [1, 2, 3]]);
  store.failNextCommits(1);
  writer.retry();
  await turns();
  t.strictSame([done, failed], [[], [1, 2, 3, 1, 2, 3]]);
  writer.retry();
  await writer.settled();
  t.strictSame(done, [1, 2, 3]);
  t.equal(commits(), 3);
  write(4);
  await writer.settled();
  t.strictSame(done, [1, 2, 3, 4], 'and then it goes on by itself');
});

t.test(
  'what waits is in order, also what came while the failed commit was under way',
  async (t) => {
    const { store, writer, write, done } = setUp();
    store.failNextCommits(1);
    for (const each of [1, 2, 3]) write(each);
    await turns();
    write(4);
    t.equal(writer.backlog, 4 + 4);
    writer.retry();
    await writer.settled();
    t.strictSame(done, [1, 2, 3, 4]);
  },
);

t.test('a retry writes what is true then', async (t) => {
  const { store, writer } = setUp();
  let truth = 1;
  store.failNextCommits(1);
  writer.write({ records: [{ put: (batch) => batch.put('apiKeyUses', 7, truth) }] });
  await turns();
  truth = 2;
  writer.retry();
  await writer.settled();
  t.equal(store.get('apiKeyUses', 7), 2);
});

t.test('a record is put once per commit, however many writes of its group name it', async (t) => {
  const { store, writer, write } = setUp();
  let puts = 0;
  const record: Stored = {
    put: (batch) => batch.put('apiKeyUses', 9, ++puts),
  };
  const done: string[] = [];
  write(1);
  writer.write({ records: [record], done: () => done.push('first') });
  writer.write({ records: [record], done: () => done.push('second') });
  await writer.settled();
  t.equal(puts, 1);
  t.strictSame(done, ['first', 'second'], 'and each write hears of it');
  store.failNextCommits(1);
  writer.write({ records: [record] });
  await turns();
  writer.retry();
  await writer.settled();
  t.equal(puts, 3);
  t.equal(store.get('apiKeyUses', 9), 3);
});

t.test('settled: when nothing is under way, also when the disk refuses', async (t) => {
  const { store, writer, write, done } = setUp();
  await writer.settled();
  store.failNextCommits(1_000);
  write(1);
  await writer.settled();
  t.strictSame(done, []);
  store.failNextCommits(0);
  writer.write({
    records: [{ put: (batch) => batch.put('apiKeyUses', 2, 2) }],
    done: () => write(3),
  });
  writer.retry();
  await writer.settled();
  t.strictSame(done, [1, 3], 'what a write sets off is waited for too');
});

t.test('an error that is no failure of the disk is a bug, and not swallowed', async (t) => {
  const { writer } = setUp();
  const thrown = new Promise((resolve) => process.once('unhandledRejection', resolve));
  writer.write({
    records: [
      {
        put: () => {
          throw new TypeError('a bug');
        },
      },
    ],
  });
  t.match(await thrown, { message: 'a bug' });
});

t.test('whatever fails, each write is done once, in order, and is on disk by then', async () => {
  const step = fc.constantFrom('write', 'write', 'write', 'again', 'fail', 'turn', 'retry');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
      const { store, writer, write, done } = setUp();
      let number = 0;
      let truth = 0;
      const record: Stored = { put: (batch) => batch.put('apiKeyUses', -1, truth) };
      for (const each of steps) {
        if (each === 'write') write(++number);
        else if (each === 'again') {
          truth++;
          writer.write({ records: [record] });
        } else if (each === 'fail') store.failNextCommits(1);
        else if (each === 'retry') writer.retry();
        else await turns(1);
      }
      for (let i = 0; i < 4; i++) {
        await writer.settled();
        writer.retry();
      }
      await writer.settled();
      assert.deepEqual(
        done,
        Array.from({ length: number }, (_, i) => i + 1),
      );
      assert.equal(store.get('apiKeyUses', -1) ?? 0, truth);
      assert.equal(writer.backlog, 0);
    }),
    { numRuns: 300 },
  );
});

function setUp() {
  const store = createMemoryStore();
  let count = 0;
  const writer = new WriteQueue({
    ...store,
    write: (fill) => {
      count++;
      return store.write(fill);
    },
  });
  const done: number[] = [];
  const failed: number[] = [];
  const write = (number: number): void => {
    writer.write({
      records: [{ put: (batch) => batch.put('apiKeyUses', number, number) }],
      done: () => {
        assert.equal(store.get('apiKeyUses', number), number, 'done before the flush');
        done.push(number);
      },
      failed: () => failed.push(number),
    });
  };
  return { store, writer, write, done, failed, commits: () => count };
}
