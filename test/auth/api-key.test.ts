import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { addUser, deleteUser } from '../../src/auth/accounts.js';
import {
  authenticateApiKey,
  createApiKey,
  expiredKeysMax,
  findApiKeyOwner,
  listApiKeys,
  revokeApiKey,
  type NewApiKey,
} from '../../src/auth/api-key.js';
import { toApiKeyView } from '../../src/auth/api-key-view.js';
import { createIdSource } from '../../src/lib/ids.js';
import type { ApiKey, User } from '../../src/model/records.js';
import type { Reader, Store } from '../../src/store/store.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const now = Date.UTC(2026, 0, 1);
const ids = createIdSource(new SimulatedClock());

async function userNamed(store: Store, email: string): Promise<User> {
  const account = { email, plan: 'business', passwordHash: '$', confirmed: true, now };
  return (await addUser(store, ids, account)) as User;
}

async function setUp(t: Test) {
  const store = createMemoryStore();
  t.teardown(() => store.close());
  const user = await userNamed(store, 'trader@example.com');
  const create = (request: Partial<NewApiKey> = {}) =>
    createApiKey(store, {
      user,
      name: 'bot',
      scopes: ['signals:write'],
      expiresAt: null,
      activeMax: 5,
      now,
      ...request,
    });
  const make = async (request: Partial<NewApiKey> = {}) => {
    const made = await create(request);
    if (typeof made === 'string') throw new Error(made);
    return made;
  };
  return { store, user, create, make };
}

t.test('a secret has the prefix and 256 random bits; only its SHA-256 is stored', async (t) => {
  const { store, make } = await setUp(t);
  const { key, secret } = await make();
  t.match(secret, /^svc_api_[A-Za-z0-9_-]{43}$/);
  t.equal(key.displayPrefix, `${secret.slice(0, 14)}...`);
  t.not((await make()).secret, secret);
  const hash = createHash('sha256').update(secret).digest('base64url');
  t.strictSame(store.get('apiKeys', hash), key);
  const everything = JSON.stringify([store.range('apiKeys'), store.range('apiKeyHashes')]);
  t.notOk(everything.includes(secret.slice(8)), 'the secret is nowhere in the store');
});

t.test('ids count from 1, scopes are kept in alphabetical order', async (t) => {
  const { make } = await setUp(t);
  const { key } = await make({ scopes: ['signals:write', 'events:read', 'orders:cancel'] });
  t.equal(key.id, 1);
  t.strictSame(key.scopes, ['events:read', 'orders:cancel', 'signals:write']);
  t.equal((await make()).key.id, 2);
});

t.test('a key authenticates with its owner', async (t) => {
  const { store, user, make } = await setUp(t);
  const { key, secret } = await make();
  t.strictSame(authenticateApiKey(store, secret, now), { key, user });
});

t.test('what is no live key of ours does not authenticate', async (t) => {
  const { store, make } = await setUp(t);
  const { secret } = await make();
  const other = secret.endsWith('A') ? 'B' : 'A';
  const cases = {
    nothing: '',
    'the prefix alone': 'svc_api_',
    'another last character': secret.slice(0, -1) + other,
    'a shorter one': secret.slice(0, -1),
    'a longer one': `${secret}A`,
    'an absurd length': secret + 'A'.repeat(100_000),
    'no prefix': secret.slice(8),
    'another prefix': `sbs_${secret.slice(8)}`,
    'the prefix in other letters': `SVC_API_${secret.slice(8)}`,
  };
  for (const [name, text] of Object.entries(cases)) {
    t.equal(authenticateApiKey(store, text, now), undefined, name);
  }
});

t.test('what cannot be a key is not looked up', async (t) => {
  const { store } = await setUp(t);
  let looks = 0;
  const reader = {
    get: () => {
      looks++;
      return undefined;
    },
    range: store.range.bind(store),
    keys: store.keys.bind(store),
  };
  authenticateApiKey(reader, 'x'.repeat(51), now);
  authenticateApiKey(reader, `svc_api_${'x'.repeat(44)}`, now);
  t.equal(looks, 0);
  authenticateApiKey(reader, `svc_api_${'x'.repeat(43)}`, now);
  t.equal(looks, 1);
});

t.test('a key ends at its expiry to the millisecond, and stays in the list', async (t) => {
  const { store, user, make } = await setUp(t);
  const { key, secret } = await make({ expiresAt: now + 1_000 });
  t.ok(authenticateApiKey(store, secret, now + 999));
  t.equal(authenticateApiKey(store, secret, now + 1_000), undefined);
  t.strictSame(listApiKeys(store, user.userId), [key]);
});

t.test(
  'a revoked key ends at once, is kept, is not listed, and can be revoked again',
  async (t) => {
    const { store, user, make } = await setUp(t);
    const { key, secret } = await make();
    const { key: kept } = await make();
    t.equal(await revokeApiKey(store, user.userId, key.id, now + 5), true);
    t.equal(authenticateApiKey(store, secret, now + 6), undefined);
    t.strictSame(listApiKeys(store, user.userId), [kept]);
    t.equal(await revokeApiKey(store, user.userId, key.id, now + 9), true, 'a safe repeat');
    const records = store.range('apiKeys').map((entry) => entry.record);
    t.equal(
      records.find((record) => record.id === key.id)?.revokedAt,
      now + 5,
      'the first time stays',
    );
    t.equal(await findApiKeyOwner(store, key.id), user.userId, 'its owner is still known');
  },
);

t.test('of two revocations at once both are told that the key is revoked', async (t) => {
  const { store, user, make } = await setUp(t);
  const { key } = await make();
  const revoke = () => revokeApiKey(store, user.userId, key.id, now);
  t.strictSame(await Promise.all([revoke(), revoke()]), [true, true]);
});

t.test("another user's key cannot be revoked, nor one that never was", async (t) => {
  const { store, user, make } = await setUp(t);
  const { key, secret } = await make();
  const stranger = await userNamed(store, 'other@example.com');
  t.equal(await revokeApiKey(store, stranger.userId, key.id, now), false);
  for (const id of [0, 2, -1, -key.id, 1.5, NaN, Infinity, 2 ** 60]) {
    t.equal(await revokeApiKey(store, user.userId, id, now), false, String(id));
  }
  t.ok(authenticateApiKey(store, secret, now));
  t.equal(await findApiKeyOwner(store, key.id), user.userId);
  t.equal(await findApiKeyOwner(store, 2), undefined);
});

t.test('the owner of a key is found without reading what others have revoked', async (t) => {
  const { store, user, make } = await setUp(t);
  for (let i = 0; i < 20; i++) await revokeApiKey(store, user.userId, (await make()).key.id, now);
  const other = await userNamed(store, 'other@example.com');
  const { key } = await make({ user: other });
  const read: string[] = [];
  const reader: Reader = {
    ...store,
    range(collection, range) {
      const rows = store.range(collection, range);
      read.push(...rows.map(() => collection));
      return rows;
    },
  };
  t.equal(await findApiKeyOwner(reader, key.id), other.userId);
  t.equal(await findApiKeyOwner(reader, key.id + 1), undefined);
  t.notOk(read.includes('apiKeyHashes'));
});

t.test('only active keys count toward the limit', async (t) => {
  const { store, user, create, make } = await setUp(t);
  await make({ expiresAt: now + 1_000 });
  const { key } = await make();
  t.equal(await create({ activeMax: 2 }), 'active_key_limit_reached');
  t.type(await create({ activeMax: 2, now: now + 1_000 }), 'object', 'one has expired');
  t.equal(await create({ activeMax: 2, now: now + 1_000 }), 'active_key_limit_reached');
  await revokeApiKey(store, user.userId, key.id, now);
  t.type(await create({ activeMax: 2, now: now + 1_000 }), 'object', 'one was revoked');
  const stranger = await userNamed(store, 'other@example.com');
  t.type(
    await create({ activeMax: 1, user: stranger }),
    'object',
    'another user has a limit apart',
  );
});

t.test('of very many expired keys the oldest are revoked, a few for each new key', async (t) => {
  const { store, user, make } = await setUp(t);
  const count = expiredKeysMax + 30;
  const keys = Array.from({ length: count }, (_, i): ApiKey => ({
    id: i + 1,
    userId: user.userId,
    name: 'bot',
    displayPrefix: '',
    scopes: ['signals:write'],
    createdAt: now,
    expiresAt: now,
    revokedAt: null,
  }));
  await store.write((batch) => {
    for (const key of keys) {
      batch.put('apiKeys', `hash ${key.id}`, key);
      batch.put('apiKeyHashes', [user.userId, key.id], `hash ${key.id}`);
    }
    batch.put('meta', 'nextKeyId', count + 1);
  });
  const { key: first } = await make({ expiresAt: now + 1 });
  t.same(
    listApiKeys(store, user.userId).map(({ id }) => id),
    [...keys.slice(20).map(({ id }) => id), first.id],
  );
  t.match(store.get('apiKeys', 'hash 1'), { revokedAt: now });
  await make();
  await make();
  const kept = listApiKeys(store, user.userId).filter(({ expiresAt }) => expiresAt === now);
  t.equal(kept.length, expiredKeysMax);
  t.equal(await revokeApiKey(store, user.userId, 1, now), true, 'as any key that was revoked');
});

t.test('simultaneous requests cannot exceed the limit', async (t) => {
  const { store, user, create } = await setUp(t);
  const made = await Promise.all(Array.from({ length: 20 }, () => create()));
  t.equal(made.filter((result) => typeof result === 'object').length, 5);
  const idsMade = listApiKeys(store, user.userId).map((key) => key.id);
  t.strictSame(idsMade, [1, 2, 3, 4, 5]);
});

t.test('neither listing nor counting reads what was ever revoked', async (t) => {
  const { store, user, make } = await setUp(t);
  for (let i = 0; i < 30; i++) {
    const { key } = await make();
    await revokeApiKey(store, user.userId, key.id, now);
  }
  let read = 0;
  const counting: Reader = {
    get: (collection, key) => (read++, store.get(collection, key)),
    keys: (collection, range) => {
      const keys = store.keys(collection, range);
      read += keys.length;
      return keys;
    },
    range: (collection, range) => {
      const entries = store.range(collection, range);
      read += entries.length;
      return entries;
    },
  };
  t.strictSame(listApiKeys(counting, user.userId), []);
  t.equal(read, 0);
});

t.test('a key whose owner was deleted does not authenticate', async (t) => {
  const { store, make } = await setUp(t);
  const { secret } = await make();
  await deleteUser(store, 'trader@example.com', now);
  t.equal(authenticateApiKey(store, secret, now), undefined);
});

t.test("a key whose owner's record alone is gone does not authenticate", async (t) => {
  const { store, user, make } = await setUp(t);
  const { secret } = await make();
  await store.write((batch) => batch.remove('users', user.userId));
  t.equal(authenticateApiKey(store, secret, now), undefined);
});

t.test(
  'the view is the record of the specification, field by field, without secret or hash',
  (t) => {
    const key: ApiKey = {
      id: 7,
      userId: 'usr_1',
      name: 'bot',
      displayPrefix: 'svc_api_abcdef...',
      scopes: ['signals:read'],
      createdAt: now,
      expiresAt: now + 1,
      revokedAt: null,
    };
    t.equal(
      JSON.stringify(toApiKeyView(key, now + 2)),
      '{"id":7,"name":"bot","displayPrefix":"svc_api_abcdef...","scopes":["signals:read"],' +
        '"createdAt":"2026-01-01T00:00:00.000Z","expiresAt":"2026-01-01T00:00:00.001Z",' +
        '"lastUsedAt":"2026-01-01T00:00:00.002Z","revokedAt":null,"limits":null}',
    );
    const bare = toApiKeyView({ ...key, expiresAt: null, revokedAt: now }, null);
    t.match(bare, { expiresAt: null, lastUsedAt: null, revokedAt: '2026-01-01T00:00:00.000Z' });
    t.end();
  },
);
