import t, { type Test } from 'tap';
import { addUser } from '../../src/auth/accounts.js';
import { createApiKey, revokeApiKey } from '../../src/auth/api-key.js';
import { walkStore } from '../../src/doctor/store-walk.js';
import { createIdSource, executionIdOf } from '../../src/lib/ids.js';
import { importKeyOf, purgeKeyOf } from '../../src/store/key-layout.js';
import type { Store, Writer } from '../../src/store/store.js';
import type { User } from '../../src/model/records.js';
import { anExecution } from '../signals/an-execution.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const requestId = `req_${'0'.repeat(26)}`;
const executionId = executionIdOf(requestId, 0);

/** A store with one user that has a key, a revoked one, a terminal, and one signal with one execution. */
async function aStore(): Promise<{ store: Store; user: User }> {
  const store = createMemoryStore();
  const now = new SimulatedClock().now();
  const user = (await addUser(store, createIdSource(new SimulatedClock()), {
    email: 'Ann@Example.com',
    plan: 'business',
    passwordHash: 'hash',
    confirmed: true,
    now,
  })) as User;
  const { userId } = user;
  for (const name of ['one', 'two']) {
    await createApiKey(store, {
      user,
      name,
      scopes: ['signals:read'],
      expiresAt: null,
      activeMax: 10,
      now,
    });
  }
  await revokeApiKey(store, userId, 2, now);
  await store.write((batch) => {
    batch.put('requests', [userId, requestId], {
      requestId,
      signalId: 'signal-1',
      acceptedAt: now,
      ts: now,
      expiresAt: now,
      platform: 'terminal_a',
      type: 'order',
      cmd: 'submit',
      instanceId: null,
      payload: '{}',
      idempotencyKey: 'key-1',
      executionCount: 1,
      signalsToday: 1,
    });
    batch.put('signalIds', [userId, 'signal-1'], requestId);
    batch.put('idempotency', [userId, 'key-1'], {
      fingerprint: 'f',
      requestId,
      answer: '{}',
      expiresAt: now,
    });
    batch.put(
      'finalExecutions',
      [userId, executionId],
      anExecution('filled', { executionId, requestId }),
    );
    batch.put('sources', [userId, 'terminal_a', 'desk-1', 'Sim101'], {
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      capabilities: [],
      software: { name: '', version: '' },
      lastSeq: 0,
      lastSeenAt: now,
    });
  });
  return { store, user };
}

const noPause = () => Promise.resolve();

t.test('a store that is in order has nothing to report', async (t) => {
  const { store } = await aStore();
  const report = await walkStore(store, noPause);
  t.same(report.damages, []);
  t.match(report, { users: 1, damageCount: 0, halfImported: [], newestAt: Number });
  t.ok(report.records >= 12, `${report.records} records`);
});

type Breakage = (batch: Writer, userId: string) => void;

const breakages: Readonly<Record<string, { readonly broken: Breakage; readonly said: RegExp }>> = {
  'an email without its user': {
    broken: (batch) => batch.put('emails', 'eve@example.com', 'usr_none'),
    said: /emails "eve@example.com" leads to no user/,
  },
  'a user without its email': {
    broken: (batch) => batch.remove('emails', 'ann@example.com'),
    said: /users "usr_\w+" is not found by its email/,
  },
  'a key without its place in the list': {
    broken: (batch, userId) => batch.remove('apiKeyHashes', [userId, 1]),
    said: /apiKeys .* is missing in its user’s list/,
  },
  'a revoked key that is listed as one that counts': {
    broken: (batch, userId) => batch.put('apiKeyHashes', [userId, 2], 'other'),
    said: /apiKeyHashes .*,2\] leads to no such API key/,
  },
  'a request without its execution': {
    broken: (batch, userId) => batch.remove('finalExecutions', [userId, executionId]),
    said: /requests .* lacks exe_/,
  },
  'an execution that is stored twice': {
    broken: (batch, userId) =>
      batch.put(
        'openExecutions',
        [userId, executionId],
        anExecution('working', { executionId, requestId }),
      ),
    said: /openExecutions .* is stored twice/,
  },
  'an open execution among the final ones': {
    broken: (batch, userId) =>
      batch.put(
        'finalExecutions',
        [userId, executionId],
        anExecution('working', { executionId, requestId }),
      ),
    said: /finalExecutions .* is working, but stored in the wrong collection/,
  },
  'a request that is gone': {
    broken: (batch, userId) => batch.remove('requests', [userId, requestId]),
    said: /(idempotency|signalIds|finalExecutions) .* missing/,
  },
  'a signalId that leads elsewhere': {
    broken: (batch, userId) =>
      batch.put('signalIds', [userId, 'signal-1'], `req_${'1'.repeat(26)}`),
    said: /signalIds .* leads to req_1+, which is missing/,
  },
  'a terminal under another name': {
    broken: (batch, userId) =>
      batch.put('sources', [userId, 'terminal_b', 'desk-1', 'Sim101'], {
        platform: 'terminal_a',
        instanceId: 'desk-1',
        accountName: 'Sim101',
        capabilities: [],
        software: { name: '', version: '' },
        lastSeq: 0,
        lastSeenAt: 0,
      }),
    said: /sources .* names another terminal/,
  },
  'an ended execution that is listed as unknown': {
    broken: (batch, userId) => batch.put('unknownOrders', [userId, executionId], 1),
    said: /unknownOrders .* is not an unknown execution/,
  },
  'rows of nobody': {
    broken: (batch) => batch.put('signalIds', ['usr_none', 'signal-9'], requestId),
    said: /signalIds \["usr_none","signal-9"\] belongs to a user that does not exist/,
  },
};

for (const [name, { broken, said }] of Object.entries(breakages)) {
  t.test(`found: ${name}`, async (t) => {
    const { store, user } = await aStore();
    await store.write((batch) => broken(batch, user.userId));
    const { damages, damageCount } = await walkStore(store, noPause);
    t.ok(damageCount > 0);
    t.match(damages.join('\n'), said);
  });
}

t.test('what is unknown is listed as that, an order or not', async (t) => {
  const { store, user } = await aStore();
  const key: [string, string] = [user.userId, executionId];
  for (const orderRef of ['ord_1', null]) {
    await store.write((batch) => {
      const unknown = anExecution('unknown', { executionId, requestId, orderRef });
      batch.put('finalExecutions', key, unknown);
      batch.put('unknownOrders', key, unknown.updatedAt);
    });
    t.same((await walkStore(store, noPause)).damages, []);
  }
});

t.test('what a deleted user or a cut-off import left is no damage', async (t) => {
  const { store } = await aStore();
  for (const [mark, userId] of [
    [purgeKeyOf('usr_gone'), 'usr_gone'],
    [importKeyOf('usr_half'), 'usr_half'],
  ] as const) {
    await store.write((batch) => {
      batch.put('meta', mark, 1);
      batch.put('signalIds', [userId, 's'], requestId);
    });
  }
  const { damages, halfImported } = await walkStore(store, noPause);
  t.same(damages, []);
  t.same(halfImported, ['usr_half']);
});

t.test('a crowd of damages is counted in full and shown in part', async (t) => {
  const { store } = await aStore();
  await store.write((batch) => {
    for (let i = 0; i < 700; i++) batch.put('emails', `${i}@example.com`, 'usr_none');
  });
  const { damages, damageCount } = await walkStore(store, noPause);
  t.equal(damageCount, 700);
  t.equal(damages.length, 20);
});

t.test('a gateway that writes meanwhile gives no false alarm', async (t: Test) => {
  const { store, user } = await aStore();
  await store.write((batch) => {
    for (let i = 0; i < 600; i++) batch.put('emails', `x${i}`, 'usr_none');
  });
  await store.write((batch) => {
    for (let i = 0; i < 600; i++) batch.remove('emails', `x${i}`);
    for (let i = 0; i < 600; i++) {
      batch.put('sessions', `hash-${i}`, {
        userId: user.userId,
        generation: 1,
        createdAt: 0,
        expiresAt: 0,
      });
    }
  });
  // Between two slices the execution becomes open again.
  let isOpen = false;
  const report = await walkStore(store, async () => {
    if (isOpen) return;
    isOpen = true;
    const key: [string, string] = [user.userId, executionId];
    await store.write((batch) => {
      batch.remove('finalExecutions', key);
      batch.put('openExecutions', key, anExecution('working', { executionId, requestId }));
    });
  });
  t.same(report.damages, []);
  t.ok(isOpen);
});
