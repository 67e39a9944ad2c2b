import t from 'tap';
import { createKeyUses, usesPerWrite } from '../../src/auth/api-key-uses.js';
import { StoreFailure, type Store } from '../../src/store/store.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test('a use is known at once and on disk after the interval, in one batch', async (t) => {
  const { store, clock, writes } = await setUp();
  const uses = createKeyUses(store, clock);
  t.equal(uses.lastUsedAt(store, 1), null);
  uses.touch(key(1), 100);
  uses.touch(key(2), 200);
  uses.touch(key(1), 300);
  t.equal(uses.lastUsedAt(store, 1), 300);
  t.equal(writes.length, 0, 'a request writes nothing');
  clock.advance(10_000);
  await Promise.all(writes);
  t.equal(writes.length, 1);
  t.strictSame(store.range('apiKeyUses'), [
    { key: 1, record: 300 },
    { key: 2, record: 200 },
  ]);
  t.equal(uses.lastUsedAt(store, 1), 300);
  clock.advance(10_000);
  t.equal(writes.length, 1, 'nothing new, nothing written');
  await uses.stop();
});

t.test('what was used while a batch was being written is in the next', async (t) => {
  const { store, clock } = await setUp();
  const uses = createKeyUses(store, clock);
  uses.touch(key(1), 100);
  const flushed = uses.flush();
  uses.touch(key(1), 150);
  await flushed;
  t.equal(uses.lastUsedAt(store, 1), 150);
  await uses.flush();
  t.equal(store.get('apiKeyUses', 1), 150);
  await uses.stop();
});

t.test('a failed batch is neither forgotten nor a crash', async (t) => {
  const { store, clock, writes, failing } = await setUp();
  const uses = createKeyUses(store, clock);
  uses.touch(key(1), 100);
  failing.failNextCommits(2);
  clock.advance(10_000);
  await Promise.allSettled(writes);
  t.equal(uses.lastUsedAt(store, 1), 100);
  await t.rejects(uses.flush(), StoreFailure);
  clock.advance(10_000);
  await Promise.allSettled(writes);
  t.equal(store.get('apiKeyUses', 1), 100);
  await uses.stop();
});

t.test(
  'the uses of many keys are written in slices, and those behind a failed one stay',
  async (t) => {
    const { store, clock, writes, failing } = await setUp(2 * usesPerWrite + 1);
    const uses = createKeyUses(store, clock);
    const written = (): number => store.range('apiKeyUses').length;
    for (let id = 1; id <= 2 * usesPerWrite + 1; id++) uses.touch(key(id), 100);
    const flushed = uses.flush();
    await writes[0];
    t.equal(written(), usesPerWrite);
    failing.failNextCommits(1);
    await t.rejects(flushed, StoreFailure);
    t.equal(written(), usesPerWrite);
    await uses.stop();
    t.equal(written(), 2 * usesPerWrite + 1);
  },
);

t.test('stopping writes what is left and ends the timer', async (t) => {
  const { store, clock, writes } = await setUp();
  const uses = createKeyUses(store, clock);
  uses.touch(key(1), 100);
  await uses.stop();
  t.equal(store.get('apiKeyUses', 1), 100);
  uses.touch(key(1), 200);
  clock.advance(60_000);
  t.equal(writes.length, 1);
});

t.test(
  'the last use of a key that is gone leaves nothing; that of a revoked one stays',
  async (t) => {
    const { store, clock, failing } = await setUp();
    const uses = createKeyUses(store, clock);
    for (const id of [1, 2, 3]) uses.touch(key(id), 100);
    await failing.write((batch) => {
      batch.remove('apiKeyHashes', ['u1', 1]);
      batch.remove('apiKeyHashes', ['u1', 2]);
      batch.put('apiKeyHashes', ['u1', -2], 'hash 2');
    });
    await uses.stop();
    t.strictSame(store.range('apiKeyUses'), [
      { key: 2, record: 100 },
      { key: 3, record: 100 },
    ]);
  },
);

function key(id: number) {
  return { id, userId: 'u1' };
}

/** A store with keys of u1, from 1 on, whose writes can be counted, awaited and made to fail. */
async function setUp(keys = 3) {
  const inner = createMemoryStore();
  await inner.write((batch) => {
    for (let id = 1; id <= keys; id++) batch.put('apiKeyHashes', ['u1', id], `hash ${id}`);
  });
  const clock = new SimulatedClock();
  const writes: Promise<unknown>[] = [];
  const store: Store = {
    ...inner,
    transact(work) {
      const written = inner.transact(work);
      writes.push(written);
      return written;
    },
  };
  return { store, clock, writes, failing: inner };
}
