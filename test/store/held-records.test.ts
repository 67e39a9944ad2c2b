import fc from 'fast-check';
import t, { type Test } from 'tap';
import { holdRecords } from '../../src/store/held-records.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { type Store, StoreFailure } from '../../src/store/store.js';
import { absencesMax } from '../../src/store/shelf.js';
import type { ApiKey, User } from '../../src/model/records.js';
import { storeContract } from '../contract/store.js';
import { anExecution } from '../signals/an-execution.js';
import { createMemoryStore } from '../support/memory-store.js';

t.test('a store that holds records keeps the store contract', async (t) => {
  storeContract(t, () => holdRecords(createMemoryStore()));
  storeContract(t, (t) => holdRecords(openStore(t.testdir())));
});

function aUser(userId: string, email: string): User {
  return {
    userId,
    email,
    plan: 'business',
    passwordHash: 'x'.repeat(97),
    confirmed: true,
    frozen: false,
    tokenGeneration: 1,
    sessionGeneration: 1,
    createdAt: 0,
  };
}

const aKey: ApiKey = {
  id: 7,
  userId: 'u1',
  name: 'bot',
  displayPrefix: 'svc_api_abcdef...',
  scopes: ['signals:write'],
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
  limits: null,
};

interface Counted {
  readonly store: Store;
  /** Reads that reached the store below. */
  readonly reads: () => number;
}

function counted(t: Test): Counted {
  const memory = createMemoryStore();
  let reads = 0;
  const get: Store['get'] = (collection, key) => {
    reads++;
    return memory.get(collection, key);
  };
  const store = holdRecords({ ...memory, get });
  t.teardown(() => store.close());
  return { store, reads: () => reads };
}

t.test('a record that stays the same is read once, and nobody can change it', async (t) => {
  const { store, reads } = counted(t);
  await store.write((batch) => batch.put('users', 'u1', aUser('u1', 'a@b.co')));
  const first = store.get('users', 'u1');
  t.strictSame(first, aUser('u1', 'a@b.co'));
  t.equal(store.get('users', 'u1'), first);
  t.equal(reads(), 1);
  t.ok(Object.isFrozen(first));
});

t.test('a change is seen when its write is told, and not before', async (t) => {
  const { store } = counted(t);
  const email = () => store.get('users', 'u1')?.email;
  for (const next of ['a@b.co', 'b@b.co']) {
    const before = email();
    const flushed = store.write((batch) => batch.put('users', 'u1', aUser('u1', next)));
    t.equal(email(), before);
    await flushed;
    t.equal(email(), next);
    await store.transact((transaction) => {
      transaction.put('users', 'u1', aUser('u1', `in-${next}`));
      t.equal(transaction.get('users', 'u1')?.email, `in-${next}`);
    });
    t.equal(email(), `in-${next}`);
  }
  await store.write((batch) => batch.remove('users', 'u1'));
  t.equal(email(), undefined);
});

t.test('keys of two parts are not mixed up', async (t) => {
  const { store } = counted(t);
  await store.write((batch) => {
    batch.put('openExecutions', ['u1', 'exe_1'], anExecution('queued'));
    batch.put('openExecutions', ['u2', 'exe_1'], anExecution('filled'));
  });
  for (let i = 0; i < 2; i++) {
    t.equal(store.get('openExecutions', ['u1', 'exe_1'])?.status, 'queued');
    t.equal(store.get('openExecutions', ['u2', 'exe_1'])?.status, 'filled');
  }
  await store.write((batch) => batch.remove('openExecutions', ['u1', 'exe_1']));
  t.equal(store.get('openExecutions', ['u1', 'exe_1']), undefined);
  t.equal(store.get('openExecutions', ['u2', 'exe_1'])?.status, 'filled');
});

t.test('an execution that is open no more is looked for once', async (t) => {
  const { store, reads } = counted(t);
  for (let i = 0; i < 3; i++) t.equal(store.get('openExecutions', ['u1', 'exe_1']), undefined);
  t.equal(reads(), 1);
  await store.write((batch) => batch.put('openExecutions', ['u1', 'exe_1'], anExecution('queued')));
  t.equal(store.get('openExecutions', ['u1', 'exe_1'])?.status, 'queued');
});

t.test('whether a key was revoked is looked for once, until it is', async (t) => {
  const { store, reads } = counted(t);
  for (let i = 0; i < 3; i++) t.equal(store.get('apiKeyHashes', ['u1', -7]), undefined);
  t.equal(store.get('apiKeyHashes', ['u1', -8]), undefined);
  t.equal(reads(), 2);
  await store.write((batch) => batch.put('apiKeyHashes', ['u1', -7], 'hash'));
  t.equal(store.get('apiKeyHashes', ['u1', -7]), 'hash');
  t.equal(store.get('apiKeyHashes', ['u1', -8]), undefined);
});

t.test('a key that nobody has is looked for once, until it is made', async (t) => {
  const { store, reads } = counted(t);
  for (let i = 0; i < 3; i++) t.equal(store.get('apiKeys', 'hash'), undefined);
  t.equal(reads(), 1);
  await store.write((batch) => batch.put('apiKeys', 'hash', aKey));
  t.strictSame(store.get('apiKeys', 'hash'), aKey);
  await store.write((batch) => batch.remove('apiKeys', 'hash'));
  for (let i = 0; i < 3; i++) t.equal(store.get('apiKeys', 'hash'), undefined);
});

t.test(
  'who asks for any number of keys that nobody has makes nothing else forgotten',
  async (t) => {
    const { store, reads } = counted(t);
    await store.write((batch) => batch.put('apiKeys', 'hash', aKey));
    store.get('apiKeys', 'hash');
    store.get('apiKeys', 'guess');
    for (let i = 0; i < absencesMax; i++) store.get('apiKeys', `guess ${i}`);
    const before = reads();
    store.get('apiKeys', 'hash');
    store.get('apiKeys', `guess ${absencesMax - 1}`);
    t.equal(reads(), before);
    store.get('apiKeys', 'guess');
    t.equal(reads(), before + 1, 'not held any more');
  },
);

t.test('that there is none takes the memory of its key', async (t) => {
  const { store, reads } = counted(t);
  await store.write((batch) => batch.put('apiKeys', 'hash', aKey));
  store.get('apiKeys', 'hash');
  const length = 1_500;
  const count = (64 * 1024 * 1024) / length;
  for (let i = 0; i < count; i++) store.get('openExecutions', ['u1', String(i).padEnd(length)]);
  const before = reads();
  store.get('apiKeys', 'hash');
  t.equal(reads(), before + 1, 'the memory was used up');
});

t.test('a switch that nobody has touched is looked for once, until somebody does', async (t) => {
  const { store, reads } = counted(t);
  for (let i = 0; i < 3; i++) t.equal(store.get('switches', 'publicApi'), undefined);
  t.equal(reads(), 1);
  await store.write((batch) => batch.put('switches', 'publicApi', { enabled: false }));
  t.strictSame(store.get('switches', 'publicApi'), { enabled: false });
});

t.test(
  'a write that failed may have happened: the next one that is flushed shows it',
  async (t) => {
    const memory = createMemoryStore();
    let isUnknown = true;
    const before = aUser('u1', 'before@b.co');
    const get: Store['get'] = (collection, key) =>
      collection === 'users' && isUnknown ? before : memory.get(collection, key);
    const store = holdRecords({ ...memory, get });
    memory.failNextCommits(1, 'kept');
    const failed = store.write((batch) => batch.put('users', 'u1', aUser('u1', 'after@b.co')));
    t.equal(store.get('users', 'u1')?.email, 'before@b.co');
    await t.rejects(failed, StoreFailure);
    t.equal(store.get('users', 'u1')?.email, 'before@b.co');
    const next = store.write((batch) => batch.put('meta', 'next', 1));
    isUnknown = false;
    await next;
    t.equal(store.get('users', 'u1')?.email, 'after@b.co');
    await store.close();
  },
);

t.test('a write that failed may have touched any number of records', async (t) => {
  const memory = createMemoryStore();
  const store = holdRecords(memory);
  memory.failNextCommits(1);
  const failed = store.write((batch) => {
    for (let i = 0; i < 100_000; i++) batch.remove('openExecutions', ['u1', `exe_${i}`]);
  });
  await t.rejects(failed, StoreFailure);
  await store.close();
});

const ids = ['a', 'b', 'c'];
const collections = ['users', 'openExecutions', 'emails'] as const;
const step = fc.record({
  do: fc.constantFrom('write', 'transact', 'fail', 'keep', 'throw', 'read', 'await'),
  collection: fc.constantFrom(...collections),
  id: fc.constantFrom(...ids),
  removes: fc.boolean(),
});

t.test('what is held is what the store below says, whatever happens between', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const memory = createMemoryStore();
      const store = holdRecords(memory);
      const bug = new Error('bug');
      let number = 0;
      const writes: Promise<unknown>[] = [];
      const read = (from: Store) =>
        ids.flatMap((id) => [
          from.get('users', id)?.email,
          from.get('openExecutions', [id, id])?.instrument,
          from.get('emails', id),
        ]);
      for (const { do: what, collection, id, removes } of steps) {
        const text = `${number++}`;
        const fill = (batch: Parameters<Parameters<Store['write']>[0]>[0]): void => {
          if (removes && collection === 'openExecutions') batch.remove(collection, [id, id]);
          else if (removes) batch.remove(collection, id);
          else if (collection === 'emails') batch.put('emails', id, text);
          else if (collection === 'users') batch.put('users', id, aUser(id, text));
          else batch.put(collection, [id, id], anExecution('working', { instrument: text }));
          if (what === 'throw') throw bug;
        };
        if (what === 'read') read(store);
        else if (what === 'await') await Promise.allSettled(writes.splice(0));
        else {
          if (what === 'fail') memory.failNextCommits(1);
          if (what === 'keep') memory.failNextCommits(1, 'kept');
          const write = what === 'transact' ? store.transact(fill) : store.write(fill);
          // Once a write has succeeded, reads show what it wrote.
          const told = write.then(
            () => t.strictSame(read(store), read(memory)),
            () => undefined,
          );
          writes.push(told);
        }
      }
      await Promise.allSettled(writes);
      memory.failNextCommits(0);
      await store.write((batch) => batch.put('meta', 'last', 1));
      t.strictSame(read(store), read(memory));
      await store.close();
    }),
    { numRuns: 200 },
  );
});
