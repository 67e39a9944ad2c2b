import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { addUser, deleteUser, revokeSessions, setUser } from '../../src/auth/accounts.js';
import {
  authenticateSession,
  createSession,
  sessionLifetimeMs,
} from '../../src/auth/session-token.js';
import { createIdSource } from '../../src/lib/ids.js';
import type { User } from '../../src/model/records.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const now = Date.UTC(2026, 0, 1);
const email = 'trader@example.com';

async function setUp(t: Test) {
  const store = createMemoryStore();
  t.teardown(() => store.close());
  const ids = createIdSource(new SimulatedClock());
  const account = { email, plan: 'basic', passwordHash: '$', confirmed: true, now };
  const user = (await addUser(store, ids, account)) as User;
  const token = await createSession(store, user, now, sessionLifetimeMs);
  return { store, user, token };
}

t.test('a token is opaque, 256 random bits, and stored as its SHA-256 only', async (t) => {
  const { store, user, token } = await setUp(t);
  t.match(token, /^sbs_[A-Za-z0-9_-]{43}$/);
  const hash = createHash('sha256').update(token).digest('base64url');
  const session = {
    userId: user.userId,
    generation: user.sessionGeneration,
    createdAt: now,
    expiresAt: now + sessionLifetimeMs,
  };
  t.strictSame(store.range('sessions'), [{ key: hash, record: session }]);
  t.strictSame(authenticateSession(store, token, now), { user, session, hash });
});

t.test('a session ends with its lifetime of 30 days, to the millisecond', async (t) => {
  const { store, token } = await setUp(t);
  t.equal(sessionLifetimeMs, 30 * 86_400_000);
  t.ok(authenticateSession(store, token, now + sessionLifetimeMs - 1));
  t.equal(authenticateSession(store, token, now + sessionLifetimeMs), undefined);
});

t.test('what is no session token of ours does not authenticate', async (t) => {
  const { store, token } = await setUp(t);
  const other = token.endsWith('A') ? 'B' : 'A';
  const texts = ['', 'sbs_', token.slice(4), `svc_api_${token.slice(4)}`, `${token}A`];
  for (const text of [...texts, token.slice(0, -1), token.slice(0, -1) + other]) {
    t.equal(authenticateSession(store, text, now), undefined, text);
  }
});

t.test('revoked sessions, a new password and a deleted user end it at once', async (t) => {
  const ends = {
    revoked: (store: Awaited<ReturnType<typeof setUp>>['store']) => revokeSessions(store, email),
    password: (store: Awaited<ReturnType<typeof setUp>>['store']) =>
      setUser(store, email, { passwordHash: '$new' }),
    deleted: (store: Awaited<ReturnType<typeof setUp>>['store']) => deleteUser(store, email, now),
  };
  for (const [name, end] of Object.entries(ends)) {
    const { store, token } = await setUp(t);
    t.ok(authenticateSession(store, token, now));
    await end(store);
    t.equal(authenticateSession(store, token, now), undefined, name);
  }
});

t.test('a session made after the others were revoked is good', async (t) => {
  const { store, token } = await setUp(t);
  const user = (await revokeSessions(store, email)) as User;
  const fresh = await createSession(store, user, now, sessionLifetimeMs);
  t.ok(authenticateSession(store, fresh, now));
  t.equal(authenticateSession(store, token, now), undefined);
});

t.test('a session is of the generation that the store has when it is made', async (t) => {
  const { store, user } = await setUp(t);
  await revokeSessions(store, email);
  const fresh = await createSession(store, user, now, sessionLifetimeMs);
  t.ok(authenticateSession(store, fresh, now));
});
