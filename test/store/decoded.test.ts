import t from 'tap';
import { openStore } from '../../src/store/lmdb-store.js';
import type { User } from '../../src/model/records.js';
import { anExecution } from '../signals/an-execution.js';

function user(userId: string, email: string): User {
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

t.test('a record that stays the same is decoded once', async (t) => {
  const store = openStore(t.testdir());
  await store.write((batch) => batch.put('users', 'u1', user('u1', 'a@b.co')));
  const first = store.get('users', 'u1');
  t.strictSame(first, user('u1', 'a@b.co'));
  t.equal(store.get('users', 'u1'), first);
  t.ok(Object.isFrozen(first), 'whoever has it cannot change it for the others');
  t.equal(store.get('users', 'u2'), undefined);
  await store.close();
});

t.test(
  'a change holds at the next get, also one of the same length, and so does a removal',
  async (t) => {
    const store = openStore(t.testdir());
    for (const email of ['a@b.co', 'b@b.co', 'longer@b.co']) {
      await store.write((batch) => batch.put('users', 'u1', user('u1', email)));
      t.equal(store.get('users', 'u1')?.email, email);
      await store.transact((transaction) => {
        transaction.put('users', 'u1', user('u1', `in-${email}`));
        t.equal(transaction.get('users', 'u1')?.email, `in-${email}`);
      });
      t.equal(store.get('users', 'u1')?.email, `in-${email}`);
    }
    await store.write((batch) => batch.remove('users', 'u1'));
    t.equal(store.get('users', 'u1'), undefined);
    await store.close();
  },
);

t.test('records of other collections and users are not mixed up', async (t) => {
  const store = openStore(t.testdir());
  await store.write((batch) => {
    batch.put('users', 'same', user('same', 'a@b.co'));
    batch.put('users', 'other', user('other', 'b@b.co'));
    batch.put('switches', 'publicApi', { enabled: false });
  });
  for (let i = 0; i < 3; i++) {
    t.equal(store.get('users', 'same')?.email, 'a@b.co');
    t.equal(store.get('users', 'other')?.email, 'b@b.co');
    t.strictSame(store.get('switches', 'publicApi'), { enabled: false });
  }
  await store.close();
});

t.test('a request and its executions too are the same object until they change', async (t) => {
  const store = openStore(t.testdir());
  const put = (status: 'queued' | 'working') =>
    store.write((batch) => {
      batch.put('openExecutions', ['u1', 'exe_1'], anExecution(status));
      batch.put('openExecutions', ['u2', 'exe_1'], anExecution('filled'));
    });
  await put('queued');
  const first = store.get('openExecutions', ['u1', 'exe_1']);
  t.equal(store.get('openExecutions', ['u2', 'exe_1'])?.status, 'filled');
  t.equal(store.get('openExecutions', ['u1', 'exe_1']), first);
  await put('working');
  t.equal(store.get('openExecutions', ['u1', 'exe_1'])?.status, 'working');
  await store.close();
});
