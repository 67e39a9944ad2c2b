/** The index that follows the log: what readers see, how far it is behind, and what a failure does. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openStore, type StoreOptions } from '../../src/store/lmdb-store.js';
import type { Store } from '../../src/store/store.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';

function setUp(t: Test, options: StoreOptions = {}) {
  const clock = new SimulatedClock();
  const directory = t.testdir({ store: {}, copy: {} });
  const [data, copy] = [join(directory, 'store'), join(directory, 'copy')];
  const store = openStore(data, { clock, segmentBytes: 64 * 1024, ...options });
  t.teardown(() => store.close());
  const put = (key: string, value: number): Promise<void> =>
    store.write((batch) => batch.put('meta', key, value));
  const filled = async (): Promise<void> => {
    await eventually(() => {
      clock.advance(100);
      return store.index().waitingBytes === 0;
    });
  };
  return { clock, store, copy, put, filled };
}

t.test('what the index lacks is counted, with the age of its oldest write', async (t) => {
  const { clock, store, put, filled } = setUp(t);
  t.strictSame(store.index(), { lagMs: 0, waitingBytes: 0, failure: undefined });
  await put('a', 1);
  const { waitingBytes } = store.index();
  t.ok(waitingBytes > 0);
  clock.advance(10);
  await put('b', 1);
  t.equal(store.index().lagMs, 10);
  t.ok(store.index().waitingBytes > waitingBytes);
  await filled();
  t.strictSame(store.index(), { lagMs: 0, waitingBytes: 0, failure: undefined });
});

t.test('a transaction begins after 40 ms, or at once when 128 KiB wait', async (t) => {
  const { clock, store, put } = setUp(t, { segmentBytes: 1024 * 1024 });
  const isFilled = (): boolean => store.index().waitingBytes === 0;
  await put('a', 1);
  clock.advance(39);
  t.equal(clock.timerCount, 1);
  t.notOk(isFilled());
  clock.advance(1);
  await eventually(isFilled);
  await store.write((batch) => {
    for (let i = 0; i < 128; i++) batch.put('meta', `k${i}`, 'x'.repeat(1024));
  });
  await eventually(isFilled);
});

function contentOf(store: Store): unknown {
  const range = { start: 'k', end: 'l' };
  return {
    all: store.range('meta', range),
    first: store.range('meta', { ...range, limit: 2 }),
    last: store.range('meta', { start: 'kz', end: 'k', reverse: true, limit: 2 }),
    keys: store.keys('meta', range),
    one: store.get('meta', 'k3'),
    gone: store.get('meta', 'k2'),
  };
}

t.test('reads are the same before and after the index has it, and in between', async (t) => {
  const { store, put, filled } = setUp(t);
  for (const n of [1, 2, 3, 4]) await put(`k${n}`, n);
  await filled();
  await store.write((batch) => {
    batch.remove('meta', 'k2');
    batch.put('meta', 'k3', 33);
    batch.put('meta', 'k35', 35);
    batch.put('meta', 'k0', 0);
  });
  const before = contentOf(store);
  t.same(store.keys('meta', { start: 'k', end: 'l' }), ['k0', 'k1', 'k3', 'k35', 'k4']);
  t.same(store.range('meta', { start: 'kz', end: 'k', reverse: true, limit: 2 }), [
    { key: 'k4', record: 4 },
    { key: 'k35', record: 35 },
  ]);
  await filled();
  t.strictSame(contentOf(store), before);
});

t.test('below the reserve of the disk the index waits, and goes on by itself', async (t) => {
  let freeBytes = 2 ** 40;
  const failures: string[] = [];
  const diskSpace = () => ({ freeBytes, sizeBytes: 2 ** 40 });
  const { clock, store, copy, put, filled } = setUp(t, {
    diskSpace,
    onIndexFailed: (reason) => failures.push(reason),
  });
  await put('a', 1);
  freeBytes = 0;
  clock.advance(100);
  t.match(store.index().failure, /MB free/);
  t.equal(failures.length, 1);
  t.equal(store.get('meta', 'a'), 1, 'readers see it');
  await t.rejects(store.backup(copy), { name: 'StoreFailure', message: /cannot be filled/ });
  freeBytes = 2 ** 40;
  clock.advance(1_000);
  await filled();
  t.equal(store.index().failure, undefined);
  t.equal(store.get('meta', 'a'), 1);
});

t.test('when the index is too far behind, writes wait, then are refused, then go on', async (t) => {
  let freeBytes = 2 ** 40;
  const { clock, store, filled } = setUp(t, {
    waitingBytesMax: 50_000,
    diskSpace: () => ({ freeBytes, sizeBytes: 2 ** 40 }),
  });
  const put = (key: string): Promise<void> =>
    store.write((batch) => batch.put('meta', key, 'x'.repeat(30_000)));
  await put('a');
  await put('b');
  let isDone = false;
  const held = put('c').then(() => (isDone = true));
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  clock.advance(30);
  t.equal(isDone, false);
  t.equal(store.commitAgeMs(), 30);
  const behind = put('d');
  t.match(store.refusal(), { name: 'WriteRefused', message: /behind the log/ });
  await t.rejects(put('e'), { name: 'WriteRefused' });
  freeBytes = 2 ** 40;
  await filled();
  await Promise.all([held, behind]);
  t.equal(store.refusal(), undefined);
  t.equal(store.get('meta', 'e'), undefined);
  t.not(store.get('meta', 'd'), undefined);
});

t.test(
  'a copy has what was acknowledged before it, and goes on as a store of its own',
  async (t) => {
    const { store, put, copy } = setUp(t);
    await put('a', 1);
    await store.backup(copy);
    const first = openStore(copy);
    t.equal(first.get('meta', 'a'), 1);
    await first.write((batch) => batch.put('meta', 'b', 1));
    await first.close();
    const again = openStore(copy);
    t.strictSame([again.get('meta', 'a'), again.get('meta', 'b')], [1, 1]);
    await again.close();
  },
);
