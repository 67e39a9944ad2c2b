import t, { type Test } from 'tap';
import {
  addUser,
  deleteUser,
  findUser,
  isPublicApiEnabled,
  revokeKeyAsOperator,
  revokeSessions,
  setPublicApi,
  setUser,
  suspendUser,
  type NewUser,
} from '../../src/auth/accounts.js';
import { authenticateApiKey, createApiKey, revokeApiKey } from '../../src/auth/api-key.js';
import { createIdSource } from '../../src/lib/ids.js';
import { collections } from '../../src/store/key-layout.js';
import type { SourceRecord, User } from '../../src/model/records.js';
import { WriteRefused } from '../../src/store/store.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const now = Date.UTC(2026, 0, 1);
const email = 'Trader@Example.com';
const source: SourceRecord = {
  platform: 'terminal_a',
  instanceId: 'desk-1',
  accountName: 'Sim101',
  capabilities: ['submit'],
  software: { name: 'test', version: '1' },
  lastSeq: 0,
  lastSeenAt: now,
};

function setUp(t: Test) {
  const store = createMemoryStore();
  t.teardown(() => store.close());
  const ids = createIdSource(new SimulatedClock());
  const add = (request: Partial<NewUser> = {}) =>
    addUser(store, ids, {
      email,
      plan: 'business',
      passwordHash: '$old',
      confirmed: true,
      now,
      ...request,
    });
  const makeKey = async (user: User) => {
    const request = { user, name: 'bot', expiresAt: null, activeMax: 5, now };
    const made = await createApiKey(store, { ...request, scopes: ['signals:read'] });
    if (typeof made === 'string') throw new Error(made);
    return made;
  };
  return { store, add, makeKey };
}

t.test('a user is kept with the email as given and found in any letters', async (t) => {
  const { store, add } = setUp(t);
  const user = (await add({ email: `  ${email} ` })) as User;
  t.match(user, {
    userId: /^usr_[0-9A-Z]{26}$/,
    email,
    plan: 'business',
    passwordHash: '$old',
    confirmed: true,
    frozen: false,
    createdAt: now,
  });
  for (const text of [email, 'trader@example.com', ' TRADER@EXAMPLE.COM\n']) {
    t.strictSame(findUser(store, text), user, text);
  }
  t.equal(findUser(store, 'other@example.com'), undefined);
});

t.test('an email is taken once, whatever its letters, also by simultaneous calls', async (t) => {
  const { store, add } = setUp(t);
  const results = await Promise.all([add(), add({ email: 'trader@example.com' }), add()]);
  t.equal(results.filter((result) => result === 'email_taken').length, 2);
  t.equal(store.range('users').length, 1);
});

t.test('what is no email is refused, and nothing is stored', async (t) => {
  const { store, add } = setUp(t);
  for (const text of ['', 'trader', 'a b@example.com', `${'a'.repeat(309)}@example.com`]) {
    t.equal(await add({ email: text }), 'invalid_email', text);
  }
  t.strictSame(store.range('users'), []);
});

t.test('users lie in the order of creation', async (t) => {
  const { store, add } = setUp(t);
  for (const name of ['zoe', 'adam', 'mia']) await add({ email: `${name}@example.com` });
  t.strictSame(
    store.range('users').map(({ record }) => record.email),
    ['zoe@example.com', 'adam@example.com', 'mia@example.com'],
  );
});

t.test('only what is given changes, and no credential ends', async (t) => {
  const { store, add } = setUp(t);
  const user = (await add()) as User;
  t.strictSame(await setUser(store, email, { frozen: true }), { ...user, frozen: true });
  t.strictSame(await setUser(store, email, { plan: 'basic', confirmed: false }), {
    ...user,
    frozen: true,
    plan: 'basic',
    confirmed: false,
  });
  const thawed = await setUser(store, email, { frozen: false, plan: undefined });
  t.strictSame(thawed, { ...user, plan: 'basic', confirmed: false });
  t.strictSame(findUser(store, email), thawed);
});

t.test('a new password ends user tokens and sessions', async (t) => {
  const { store, add } = setUp(t);
  const user = (await add()) as User;
  t.strictSame(await setUser(store, email, { passwordHash: '$new' }), {
    ...user,
    passwordHash: '$new',
    tokenGeneration: user.tokenGeneration + 1,
    sessionGeneration: user.sessionGeneration + 1,
  });
});

t.test('revoking sessions ends sessions alone', async (t) => {
  const { store, add } = setUp(t);
  const user = (await add()) as User;
  const after = await revokeSessions(store, email);
  t.strictSame(after, { ...user, sessionGeneration: user.sessionGeneration + 1 });
});

t.test('deleting removes the user, the email, keys and sources, and marks the rest', async (t) => {
  const { store, add, makeKey } = setUp(t);
  const user = (await add()) as User;
  const other = (await add({ email: 'other@example.com' })) as User;
  const { key: revoked } = await makeKey(user);
  const { key } = await makeKey(user);
  const kept = await makeKey(other);
  await revokeApiKey(store, user.userId, revoked.id, now);
  await store.write((batch) => {
    batch.put('apiKeyUses', revoked.id, now);
    batch.put('apiKeyUses', key.id, now);
    for (const { userId } of [user, other]) {
      batch.put('sources', [userId, 'terminal_a', 'desk-1', 'Sim101'], source);
    }
  });

  t.strictSame(await deleteUser(store, 'TRADER@example.com', now + 7), user);
  t.equal(store.get('meta', `purge:${user.userId}`), now + 7);
  for (const collection of collections) {
    if (collection === 'meta') continue;
    t.notMatch(JSON.stringify(store.range(collection)), user.userId, collection);
  }
  t.strictSame(store.range('apiKeyUses'), []);
  t.ok(authenticateApiKey(store, kept.secret, now), "another user's key stays");
  t.equal(store.range('sources').length, 1);
  t.not(((await add()) as User).userId, user.userId, 'the email is free again, for a new user');
});

t.test('a user that does not exist cannot be changed', async (t) => {
  const { store } = setUp(t);
  t.equal(await setUser(store, email, { frozen: true }), undefined);
  t.equal(await revokeSessions(store, email), undefined);
  t.equal(await suspendUser(store, email), undefined);
  t.equal(await deleteUser(store, email, now), undefined);
  t.equal(await revokeKeyAsOperator(store, 1, now), undefined);
});

t.test("the operator revokes anyone's key by its id", async (t) => {
  const { store, add, makeKey } = setUp(t);
  const user = (await add()) as User;
  const { key, secret } = await makeKey(user);
  t.equal(await revokeKeyAsOperator(store, key.id + 1, now), undefined);
  t.equal(await revokeKeyAsOperator(store, key.id, now), user.userId);
  t.equal(authenticateApiKey(store, secret, now), undefined);
  t.equal(await revokeKeyAsOperator(store, key.id, now), user.userId, 'again is no error');
});

t.test('the Public API is enabled until it is disabled', async (t) => {
  const { store } = setUp(t);
  t.equal(isPublicApiEnabled(store), true);
  await setPublicApi(store, false);
  t.equal(isPublicApiEnabled(store), false);
  await setPublicApi(store, true);
  t.equal(isPublicApiEnabled(store), true);
});

t.test('what stops somebody is stored in the reserve of a disk, and nothing else is', async (t) => {
  const { store, add, makeKey } = setUp(t);
  const { id } = (await makeKey((await add()) as User)).key;
  store.refuseWrites(true);
  await t.rejects(setUser(store, email, { plan: 'basic' }), WriteRefused);
  await t.resolves(setUser(store, email, { frozen: true }));
  await t.rejects(setUser(store, email, { frozen: false }), WriteRefused);
  await t.resolves(revokeSessions(store, email));
  await t.resolves(setPublicApi(store, false));
  await t.resolves(revokeKeyAsOperator(store, id, now));
});
