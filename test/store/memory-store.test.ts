import t from 'tap';
import { StoreFailure } from '../../src/store/store.js';
import { storeContract } from '../contract/store.js';
import { createMemoryStore } from '../support/memory-store.js';

t.test('the in-memory double keeps the store contract', async (t) => {
  storeContract(t, () => createMemoryStore());
});

t.test('a commit that is made to fail rejects all of its writes and shows none', async (t) => {
  const store = createMemoryStore();
  store.failNextCommits(1);
  const writes = ['a', 'b'].map((key) => store.write((batch) => batch.put('meta', key, 1)));
  for (const write of writes) await t.rejects(write, StoreFailure);
  t.same(store.range('meta'), []);
  await store.write((batch) => batch.put('meta', 'c', 1));
  t.equal(store.get('meta', 'c'), 1);
});

t.test('a commit can fail although its writes arrived', async (t) => {
  const store = createMemoryStore();
  store.failNextCommits(1, 'kept');
  await t.rejects(
    store.write((batch) => batch.put('meta', 'a', 1)),
    StoreFailure,
  );
  t.equal(store.get('meta', 'a'), 1);
});

t.test('a transaction in a commit that fails rejects as the writes do', async (t) => {
  const store = createMemoryStore();
  store.failNextCommits(1);
  await t.rejects(
    store.transact((transaction) => {
      transaction.put('meta', 'a', 1);
    }),
    StoreFailure,
  );
  t.equal(store.get('meta', 'a'), undefined);
});
