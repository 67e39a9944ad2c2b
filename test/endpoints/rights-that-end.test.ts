/**
 * Rights end everywhere: for each endpoint that changes something and each way in which a right can end, a
 * request whose body comes after that end gets what a request after it gets, and changes nothing.
 */
import { join } from 'node:path';
import t from 'tap';
import { createApiKey, listApiKeys, revokeApiKey } from '../../src/auth/api-key.js';
import { deleteUser, setUser, suspendUser } from '../../src/auth/accounts.js';
import { createSession } from '../../src/auth/session-token.js';
import { authenticateUser, createUserTokens } from '../../src/auth/user-token.js';
import { systemClock } from '../../src/lib/clock.js';
import type { Reader, Store } from '../../src/store/store.js';
import type { HashPool } from '../../src/workers/hash-pool.js';
import { WallClock } from '../harness/time/wall-clock.js';
import { signal } from '../support/api.js';
import { report, tell } from '../support/frames.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { loginEndpoint } from '../support/login-endpoint.js';
import { createMemoryStore } from '../support/memory-store.js';
import { RawClient } from '../support/raw-client.js';
import { user as someUser } from '../support/simulated-gateway.js';
import { socketFolder } from '../support/socket-folder.js';

const files = socketFolder(t);
const clock = new WallClock(join(files, 'clock'));
const gateway = await startTestGateway(t, { users: 80, environment: clock.environment });

/** Lifetime of the key in the row about expiry; user tokens outlive it. */
const lifeMs = 3_600_000;

const endings: Record<string, (user: TestUser) => Promise<unknown>> = {
  'the key is revoked': ({ keyId }) => gateway.command('key', 'revoke', String(keyId)),
  'the key expires': () => clock.set(lifeMs),
  'the user is frozen': ({ email }) => gateway.command('user', 'set', email, '--frozen', 'true'),
  'the plan has no Public API': ({ email }) =>
    gateway.command('user', 'set', email, '--plan', 'basic'),
  'the password is replaced': ({ email }) =>
    gateway.commandWithInput('another long password\n', 'user', 'set', email, '--password-stdin'),
  'the user is deleted': ({ email }) => gateway.command('user', 'delete', email),
  'the user is moved': ({ email }) =>
    gateway.command('user', 'export', email, join(files, email), '--freeze'),
  'the Public API is switched off': () => gateway.command('api', 'disable'),
};

/**
 * The status by ending, in the order of `endings`. A token outlives a key, and a key outlives a password. A
 * freeze ends no cancel. A move and another password close the terminal; a move would also lose a
 * cancel-all's waiting cancels, and the dead-man's switch.
 */
const expected = {
  'submit-signal': [401, 401, 403, 403, 202, 401, 403, 503],
  'cancel-order': [401, 401, 202, 403, 409, 401, 409, 503],
  'cancel-all': [401, 401, 202, 403, 202, 401, 503, 503],
  'set-cancel-after': [401, 401, 200, 403, 200, 401, 503, 503],
  'create-key': [201, 201, 201, 403, 401, 401, 401, 503],
  login: [200, 200, 200, 200, 401, 401, 403, 200],
} as const;

type Operation = keyof typeof expected;

/** Start line and further headers, and the body. */
const requests: Record<Operation, (user: TestUser) => Promise<[head: string, body: object]>> = {
  'submit-signal': async ({ key }) => [withKey('POST /api/v1/signals', key), signal()],
  'cancel-order': async (user) => {
    const plugin = await gateway.plugin(user);
    const order = await gateway.order(user, plugin);
    await tell(plugin, report(1, order.executionId, 'working'));
    return [withKey(`POST /api/v1/orders/${order.orderRef}/cancel`, user.key), {}];
  },
  'cancel-all': async ({ key }) => [withKey('POST /api/v1/orders/cancel-all', key), {}],
  'set-cancel-after': async ({ key }) => [
    withKey('PUT /api/v1/cancel-after', key),
    { timeoutMs: 5_000 },
  ],
  'create-key': async ({ token }) => [
    `POST /api/api-keys HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n`,
    { name: 'late', scopes: ['signals:read'] },
  ],
  login: async ({ email }) => [
    'POST /api/auth/login HTTP/1.1\r\n',
    { email, password: 'correct horse' },
  ],
};

function withKey(line: string, key: string): string {
  return `${line} HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nIdempotency-Key: late\r\n`;
}

for (const operation of Object.keys(expected) as Operation[]) {
  t.test(`${operation}: what ends between head and body is obeyed`, async (t) => {
    for (const [index, [name, end]] of Object.entries(endings).entries()) {
      const expiresAt = new Date(Date.now() + lifeMs).toISOString();
      const user = await gateway.user(name === 'the key expires' ? { key: { expiresAt } } : {});
      const [head, fields] = await requests[operation](user);
      const body = JSON.stringify(fields);
      const client = await RawClient.connect(gateway.url);
      await client.send(
        `${head}Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      await end(user);
      await client.send(body);
      t.equal((await client.answer())?.status, expected[operation][index], name);
      client.cut();
      await clock.set(0);
      await gateway.command('api', 'enable');
    }
  });
}

t.test('what ends after the body and before the commit is judged in the transaction', async (t) => {
  const changes = {
    'the password is replaced': { passwordHash: 'another' },
    'the plan changes': { plan: 'basic' },
  };
  const isGone = (reader: Reader) => {
    const now = reader.get('users', 'u1');
    const isSame = now?.tokenGeneration === someUser.tokenGeneration && now.plan === someUser.plan;
    return isSame ? undefined : ('invalid_token' as const);
  };
  const endings = {
    ...Object.fromEntries(
      Object.entries(changes).map(([name, change]) => [
        name,
        (store: ReturnType<typeof createMemoryStore>) => setUser(store, someUser.email, change),
      ]),
    ),
    'the user is exported': (store: ReturnType<typeof createMemoryStore>) =>
      suspendUser(store, someUser.email),
    'the user is deleted': (store: ReturnType<typeof createMemoryStore>) =>
      deleteUser(store, someUser.email, 0),
  };
  const wanted = { user: someUser, name: 'n', scopes: [], expiresAt: null, activeMax: 5, now: 0 };
  for (const [name, end] of Object.entries(endings)) {
    const store = createMemoryStore();
    await store.write((batch) => {
      batch.put('users', 'u1', someUser);
      batch.put('emails', someUser.email, 'u1');
    });
    const made = await createApiKey(store, wanted);
    if (typeof made === 'string') throw new Error(made);
    // The changes begin before the end is committed: the store still shows the right.
    const ended = end(store);
    t.equal(isGone(store), undefined, name);
    const results = await Promise.all([
      createApiKey(store, wanted, isGone),
      revokeApiKey(store, 'u1', made.key.id, 1, isGone),
      createSession(store, someUser, 0, 1, (reader) =>
        isGone(reader) === undefined ? undefined : { code: 'refused' },
      ),
    ]);
    await ended;
    t.strictSame(results, ['invalid_token', 'invalid_token', { code: 'refused' }], name);
    t.equal(store.keys('sessions').length, 0);
    const left = name === 'the user is deleted' ? 0 : 1;
    t.equal(listApiKeys(store, 'u1').length, left, 'neither made nor revoked');
  }
});

/** Logs in with the right password, and runs `meanwhile` during its verification. */
async function loginDuring(meanwhile: (store: Store) => Promise<unknown>) {
  const store = createMemoryStore();
  await store.write((batch) => {
    batch.put('users', 'u1', { ...someUser, confirmed: true });
    batch.put('emails', someUser.email, 'u1');
  });
  const tokens = createUserTokens({
    secret: 's'.repeat(32),
    clock: systemClock,
    lifetimeMs: 60_000,
  });
  const login = loginEndpoint({
    store,
    userTokens: tokens,
    hashPool: {
      async verify() {
        await meanwhile(store);
        return true;
      },
    } as unknown as HashPool,
  });
  return { store, tokens, answer: await login(someUser.email, 'any') };
}

t.test('a login gets a token that is valid though its user was away meanwhile', async (t) => {
  const { store, tokens, answer } = await loginDuring(async (store) => {
    await suspendUser(store, someUser.email);
    await setUser(store, someUser.email, { frozen: false });
  });
  const { token } = JSON.parse(answer.body) as { readonly token: string };
  t.equal(authenticateUser(store, tokens, token)?.userId, 'u1');
});

const lost: readonly [string, string, (store: Store) => Promise<unknown>][] = [
  ['deleted', 'invalid_credentials', (store) => deleteUser(store, someUser.email, 1)],
  [
    'given another password',
    'invalid_credentials',
    (store) => setUser(store, someUser.email, { passwordHash: 'other' }),
  ],
  [
    'unconfirmed',
    'email_not_confirmed',
    (store) => setUser(store, someUser.email, { confirmed: false }),
  ],
];
for (const [change, code, meanwhile] of lost) {
  t.test(`a login gets nothing if its user is ${change} meanwhile`, async (t) => {
    const { store, answer } = await loginDuring(meanwhile);
    t.strictSame(answer, { outcome: code, body: '' });
    t.equal(store.keys('sessions').length, 0);
  });
}

t.test('the key endpoints have a rate of their own for each user', async (t) => {
  const limited = await startTestGateway(t, { limits: { userRequestsPerMinute: 3 }, users: 2 });
  const [one, other] = [await limited.user(), await limited.user()];
  const list = (token: string) =>
    fetch(`${limited.url}/api/api-keys`, { headers: { authorization: `Bearer ${token}` } });
  // Making the key was one of the three.
  t.equal((await list(one.token)).status, 200);
  t.equal((await list(one.token)).status, 200);
  const refused = await list(one.token);
  t.equal(refused.status, 429);
  t.match(await refused.json(), { code: 'rate_limit_exceeded' });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  const revoked = await fetch(`${limited.url}/api/api-keys/${one.keyId}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${one.token}` },
  });
  t.equal(revoked.status, 429);
  // Its commit comes behind that of the key, if the key were revoked all the same.
  await limited.command('user', 'set', other.email, '--confirmed', 'true');
  const used = await fetch(`${limited.url}/api/v1/signals`, {
    headers: { authorization: `Bearer ${one.key}` },
  });
  t.equal(used.status, 200, 'the key is as it was');
  t.equal((await list(other.token)).status, 200);
});
