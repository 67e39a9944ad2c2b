/**
 * The code is built so that no answer's time tells about a secret: secrets are looked up by their hash,
 * signatures are compared by the function made for it, and every login verifies one password.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import t from 'tap';
import { systemClock } from '../../src/lib/clock.js';
import { createIdSource } from '../../src/lib/ids.js';
import type { User } from '../../src/model/records.js';
import type { Reader } from '../../src/store/store.js';
import { createMemoryStore } from '../support/memory-store.js';

/** Counts calls of node:crypto's function: replaced before any module that uses it is loaded. */
const nodeCrypto = createRequire(import.meta.url)('node:crypto') as {
  timingSafeEqual: (a: Uint8Array, b: Uint8Array) => boolean;
};
const { timingSafeEqual } = nodeCrypto;
let comparisons = 0;
nodeCrypto.timingSafeEqual = (a, b) => {
  comparisons++;
  return timingSafeEqual(a, b);
};
const { createUserTokens } = await import('../../src/auth/user-token.js');
const { authenticateApiKey } = await import('../../src/auth/api-key.js');
const { authenticateSession } = await import('../../src/auth/session-token.js');
const { addUser, setUser } = await import('../../src/auth/accounts.js');
const { loginEndpoint } = await import('../support/login-endpoint.js');
const { argon2Cost, dummyHash } = await import('../../src/auth/password.js');
const { hash } = await import('../../src/workers/hash-worker.js');

t.test('the signature of a user token is compared in constant time', async (t) => {
  const tokens = createUserTokens({ secret: 'k'.repeat(32), clock: systemClock, lifetimeMs: 1e6 });
  const token = tokens.issue({ userId: 'usr_1', tokenGeneration: 1 } as User);
  for (const altered of [
    token,
    `${token.slice(0, -2)}AA`,
    `${token.slice(0, -43)}${'A'.repeat(43)}`,
  ]) {
    comparisons = 0;
    t.equal(tokens.verify(altered) !== undefined, altered === token);
    t.equal(comparisons, 1);
  }
});

t.test('an API key and a session token are looked up by their hash, never compared', async (t) => {
  const now = Date.now();
  for (const [prefix, authenticate] of [
    ['svc_api_', authenticateApiKey],
    ['sbs_', authenticateSession],
  ] as const) {
    const secret = prefix + 'x'.repeat(43);
    for (const presented of [secret, `${secret.slice(0, -1)}y`]) {
      const asked: unknown[] = [];
      const reader = { get: (_: string, key: unknown) => void asked.push(key) };
      t.equal(authenticate(reader as unknown as Reader, presented, now), undefined);
      t.same(asked, [createHash('sha256').update(presented).digest('base64url')]);
    }
  }
});

t.test('every login verifies one password, whether or not the user exists', async (t) => {
  const store = createMemoryStore();
  const ids = createIdSource(systemClock);
  const passwordHash = hash('correct horse');
  const user = { plan: 'basic', passwordHash, now: 0 };
  await addUser(store, ids, { ...user, email: 'ann@example.com', confirmed: true });
  await addUser(store, ids, { ...user, email: 'new@example.com', confirmed: false });
  await addUser(store, ids, { ...user, email: 'old@example.com', confirmed: true });
  await setUser(store, 'old@example.com', { frozen: true });

  const verified: string[] = [];
  const login = loginEndpoint({
    store,
    userTokens: { issue: () => 'token', verify: () => undefined },
    hashPool: {
      verify: (passwordHash, password) => {
        verified.push(passwordHash);
        return Promise.resolve(password === 'correct horse' && passwordHash !== dummyHash);
      },
      waiting: () => 0,
      close: () => Promise.resolve(),
    },
  });
  // oxfmt-ignore
  const cases: [email: string, password: string, against: string, answer: string][] = [
    ['ann@example.com', 'correct horse', passwordHash, '200'],
    ['ann@example.com', 'wrong horse', passwordHash, 'invalid_credentials'],
    ['old@example.com', 'wrong horse', passwordHash, 'invalid_credentials'],
    ['new@example.com', 'correct horse', passwordHash, 'email_not_confirmed'],
    ['new@example.com', 'wrong horse', passwordHash, 'invalid_credentials'],
    ['nobody@example.com', 'correct horse', dummyHash, 'invalid_credentials'],
  ];
  for (const [email, password, against, expected] of cases) {
    verified.length = 0;
    const { outcome } = await login(email, password);
    t.equal(outcome, expected, email);
    t.same(verified, [against], email);
  }
  await store.close();
});

t.test('the hash that stands for an unknown user costs what a real one costs', async (t) => {
  const costOf = (text: string) => text.split('$').slice(1, 4).join('$');
  t.equal(costOf(dummyHash), costOf(hash('any password')));
  t.match(costOf(dummyHash), `m=${argon2Cost.memoryKib},t=${argon2Cost.passes}`);
  t.notOk(dummyHash.includes('undefined'));
});
