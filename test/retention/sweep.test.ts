import t from 'tap';
import { hourMs } from '../../src/lib/durations.js';
import { revokedKeysMax } from '../../src/retention/revoked-keys.js';
import type { RetentionLimits } from '../../src/retention/pass.js';
import { RetentionClock } from '../../src/retention/retention-clock.js';
import { createSweep, type Sweep, sweeperModule } from '../../src/retention/sweep.js';
import { createSweeper } from '../../src/retention/sweeper.js';
import type { ApiKey, User } from '../../src/model/records.js';
import type { Reader, Store, Writer } from '../../src/store/store.js';
import { type Collection, purgeKeyOf } from '../../src/store/key-layout.js';
import { executionIdOf, firstUlidAt } from '../../src/lib/ids.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { type AcceptedSignal, acceptedSignal, putSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { eventually } from '../support/eventually.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns } from '../support/simulated-gateway.js';

const dayMs = 86_400_000;
const limits: RetentionLimits = { idempotencyRetentionMs: dayMs, executionRetentionDays: 30 };

const session = { userId: 'u', generation: 0, createdAt: 0 };

function user(userId: string): User {
  return {
    userId,
    email: `${userId}@example.com`,
    plan: 'business',
    passwordHash: '',
    confirmed: true,
    frozen: false,
    tokenGeneration: 0,
    sessionGeneration: 0,
    createdAt: 0,
  };
}

function sweepOf(store: Store, clock: SimulatedClock): Sweep {
  return createSweep({
    store,
    clock,
    retentionClock: new RetentionClock(clock),
    limits,
    onError: (error) => {
      throw error;
    },
  });
}

function apiKey(id: number, revokedAt: number | null): ApiKey {
  return {
    id,
    userId: 'u',
    name: '',
    displayPrefix: '',
    scopes: [],
    createdAt: 0,
    expiresAt: null,
    revokedAt,
  };
}

async function runCycle(sweep: Sweep): Promise<number> {
  for (let slices = 1; ; slices++) if (await sweep.slice()) return slices;
}

function isWhole(store: Store, { userId, request, execution }: AcceptedSignal): boolean {
  const found = [
    store.get('requests', [userId, request.requestId]),
    store.get('signalIds', [userId, request.signalId]),
    store.get('idempotency', [userId, request.idempotencyKey]),
    store.get('finalExecutions', [userId, execution.executionId]) ??
      store.get('openExecutions', [userId, execution.executionId]),
  ].filter((record) => record !== undefined).length;
  if (found !== 0 && found !== 4) throw new Error(`${request.signalId} is torn: ${found} of 4`);
  return found === 4;
}

interface Watch {
  readonly begin?: () => void;
  readonly range?: (collection: Collection, rows: number) => void;
  readonly put?: (collection: Collection) => void;
  readonly remove?: (collection: Collection) => void;
}

/** @returns the store with `watch` called at each step of its sweeper. */
function within(store: Store, clock: SimulatedClock, watch: Watch): Store {
  const sweeper = createSweeper(clock);
  return {
    ...store,
    sweep: async (order) => {
      const swept = await store.transact((transaction) => {
        watch.begin?.();
        const watched: Reader & Writer = {
          ...transaction,
          range: (collection, range) => {
            const rows = transaction.range(collection, range);
            watch.range?.(collection, rows.length);
            return rows;
          },
          put: (collection, key, record) => {
            watch.put?.(collection);
            transaction.put(collection, key, record);
          },
          remove: (collection, key) => {
            watch.remove?.(collection);
            transaction.remove(collection, key);
          },
        };
        return sweeper(watched, order);
      });
      return { swept, removed: {} };
    },
  };
}

async function setUp(): Promise<{
  store: ReturnType<typeof createMemoryStore>;
  clock: SimulatedClock;
  sweep: Sweep;
  now: number;
}> {
  const clock = new SimulatedClock();
  const store = createMemoryStore(clock);
  await store.write((batch) => batch.put('users', 'u', user('u')));
  return { store, clock, sweep: sweepOf(store, clock), now: clock.now() };
}

t.test('a completed request goes with all that belongs to it, 30 days after its end', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const keepsMs = now + dayMs;
  const wish = { userId: 'u', idempotencyExpiresAt: keepsMs };
  const old = acceptedSignal({ ...wish, acceptedAt: now - 31 * dayMs });
  const lateEnd = acceptedSignal({ ...wish, acceptedAt: now - 31 * dayMs + 1 });
  const open = acceptedSignal({ ...wish, acceptedAt: now - 31 * dayMs + 2 });
  const young = acceptedSignal({ ...wish, acceptedAt: now - 29 * dayMs });
  await store.write((batch) => {
    putSignal(batch, old, now - 30 * dayMs);
    putSignal(batch, lateEnd, now - 30 * dayMs + 1);
    putSignal(batch, open);
    putSignal(batch, young, now - 29 * dayMs);
  });
  await runCycle(sweep);
  t.same(
    [old, lateEnd, open, young].map((signal) => isWhole(store, signal)),
    [false, true, true, true],
  );
  clock.advance(1);
  await runCycle(sweep);
  await runCycle(sweep);
  t.notOk(isWhole(store, lateEnd), 'the late one goes when its own time has come');
  t.ok(isWhole(store, open), 'an open one never does');
});

t.test(
  'a request with any number of executions goes, and what says that one is unknown',
  async (t) => {
    const { store, sweep, now } = await setUp();
    const { request, execution } = acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs });
    const { requestId } = request;
    const executionCount = 65;
    await store.write((batch) => {
      batch.put('requests', ['u', requestId], { ...request, executionCount });
      for (let index = 0; index < executionCount; index++) {
        const executionId = executionIdOf(requestId, index);
        const unknown = { ...execution, executionId, status: 'unknown', dispatchedAt: 1 } as const;
        batch.put('finalExecutions', ['u', executionId], unknown);
        batch.put('unknownOrders', ['u', executionId], execution.updatedAt);
      }
    });
    await runCycle(sweep);
    for (const collection of ['requests', 'finalExecutions', 'unknownOrders'] as const) {
      t.strictSame(store.keys(collection), [], collection);
    }
  },
);

t.test('one open execution keeps the whole request', async (t) => {
  const { store, sweep, now } = await setUp();
  const signal = acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs });
  const second = {
    ...signal.execution,
    executionId: `${signal.execution.executionId.slice(0, -1)}1`,
  };
  await store.write((batch) => {
    putSignal(batch, signal, now - 40 * dayMs);
    batch.put('requests', ['u', signal.request.requestId], {
      ...signal.request,
      executionCount: 2,
    });
    batch.put('openExecutions', ['u', second.executionId], second);
  });
  await runCycle(sweep);
  t.ok(store.get('requests', ['u', signal.request.requestId]));
  t.ok(store.get('finalExecutions', ['u', signal.execution.executionId]));
});

t.test('a signalId or key that a newer request has stays', async (t) => {
  const { store, sweep, now } = await setUp();
  const same = { userId: 'u', signalId: 's', idempotencyKey: 'k' };
  const old = acceptedSignal({ ...same, acceptedAt: now - 40 * dayMs });
  const newer = acceptedSignal({ ...same, acceptedAt: now - 1000 });
  await store.write((batch) => {
    putSignal(batch, old, now - 40 * dayMs);
    putSignal(batch, newer);
  });
  await runCycle(sweep);
  t.equal(store.get('requests', ['u', old.request.requestId]), undefined);
  t.ok(isWhole(store, newer));
});

t.test('an execution that a late report opens again keeps its request', async (t) => {
  const { store, clock, now } = await setUp();
  const signal = acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs });
  const key: [string, string] = ['u', signal.execution.executionId];
  await store.write((batch) => putSignal(batch, signal, now - 40 * dayMs));
  const reopening: Store = {
    ...store,
    sweep: (order) => {
      void store.write((batch) => {
        batch.remove('finalExecutions', key);
        batch.put('openExecutions', key, signal.execution);
      });
      return store.sweep(order);
    },
  };
  await runCycle(sweepOf(reopening, clock));
  t.ok(store.get('requests', ['u', signal.request.requestId]));
  t.ok(store.get('openExecutions', key));
});

t.test('an expired idempotency record goes, its request stays', async (t) => {
  const { store, sweep, now } = await setUp();
  const expired = acceptedSignal({ userId: 'u', acceptedAt: now - dayMs - 60_001 });
  const longer = acceptedSignal({
    userId: 'u',
    acceptedAt: now - dayMs - 60_002,
    idempotencyExpiresAt: now + 1,
  });
  await store.write((batch) => {
    putSignal(batch, expired, now);
    putSignal(batch, longer, now);
  });
  await runCycle(sweep);
  t.equal(store.get('idempotency', ['u', expired.request.idempotencyKey]), undefined);
  t.ok(store.get('requests', ['u', expired.request.requestId]));
  t.ok(isWhole(store, longer), 'one that was promised for longer is kept');
});

t.test('a key that was taken again after its time is not freed by the sweep', async (t) => {
  const { store, clock, now } = await setUp();
  const old = acceptedSignal({ userId: 'u', acceptedAt: now - 2 * dayMs, idempotencyKey: 'k' });
  const taken = acceptedSignal({ userId: 'u', acceptedAt: now, idempotencyKey: 'k' });
  await store.write((batch) => putSignal(batch, old, now));
  const retaking: Store = {
    ...store,
    sweep: (order) => {
      void store.write((batch) => putSignal(batch, taken));
      return store.sweep(order);
    },
  };
  await runCycle(sweepOf(retaking, clock));
  t.equal(store.get('idempotency', ['u', 'k'])?.requestId, taken.request.requestId);
});

t.test(
  'what the idempotency pass has seen it does not read again, also after a restart',
  async (t) => {
    const { store, clock, now } = await setUp();
    await store.write((batch) => {
      for (let i = 0; i < 50; i++) {
        putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 2 * dayMs + i }), now);
      }
    });
    let rowsRead = 0;
    const counting = within(store, clock, {
      range: (collection, rows) => {
        if (collection === 'requests') rowsRead += rows;
      },
    });
    await runCycle(sweepOf(counting, clock));
    t.equal(rowsRead, 50);
    t.equal(store.range('idempotency').length, 0);
    clock.advance(60_000);
    await runCycle(sweepOf(counting, clock));
    t.equal(rowsRead, 50);
  },
);

t.test('an acceptance that became visible late is not passed by', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const late = acceptedSignal({ userId: 'u', acceptedAt: now - dayMs - 30_000 });
  await runCycle(sweep);
  await store.write((batch) => putSignal(batch, late, now));
  clock.advance(60_000);
  await runCycle(sweep);
  t.equal(store.get('idempotency', ['u', late.request.idempotencyKey]), undefined);
});

t.test('after a clock that was far ahead, expired idempotency records go again', async (t) => {
  const { store, clock, now } = await setUp();
  const earlier = acceptedSignal({ userId: 'u', acceptedAt: now });
  const later = acceptedSignal({ userId: 'u', acceptedAt: now + 1 });
  const restart = () => sweepOf(within(store, clock, {}), clock);
  await store.write((batch) => putSignal(batch, earlier, now));
  clock.stepWall(10 * dayMs);
  await runCycle(restart());
  t.equal(store.get('idempotency', ['u', earlier.request.idempotencyKey]), undefined);
  clock.stepWall(-10 * dayMs);
  await store.write((batch) => putSignal(batch, later, now));
  clock.advance(2 * dayMs);
  await runCycle(restart());
  t.equal(store.get('idempotency', ['u', later.request.idempotencyKey]), undefined);
  t.equal(store.get('meta', 'sweep:idempotency'), clock.now() - dayMs - 60_000);
});

t.test('the idempotency record of a cancel goes with its request', async (t) => {
  const { store, sweep, now } = await setUp();
  const acceptedAt = now - 40 * dayMs;
  const { userId, request, execution, idempotency } = acceptedSignal({ userId: 'u', acceptedAt });
  const others = { ...idempotency, requestId: 'req of a newer operation' };
  await store.write((batch) => {
    putSignal(
      batch,
      { userId, request, idempotency, execution: { ...execution, cancelKeys: ['c1', 'c2'] } },
      acceptedAt,
    );
    batch.put('idempotency', ['u', 'c1'], idempotency);
    batch.put('idempotency', ['u', 'c2'], others);
  });
  await runCycle(sweep);
  t.equal(store.get('idempotency', ['u', 'c1']), undefined);
  t.same(store.get('idempotency', ['u', 'c2']), others, 'a key that was used anew stays');
});

t.test('the idempotency record of a cancel goes when it has expired', async (t) => {
  const { store, sweep, now } = await setUp();
  const { idempotency } = acceptedSignal({ userId: 'u' });
  const old = now - 2 * dayMs;
  await store.write((batch) => {
    batch.put('users', 'u', user('u'));
    batch.put('cancelKeys', ['u', firstUlidAt(old)], 'expired');
    batch.put('idempotency', ['u', 'expired'], { ...idempotency, expiresAt: now - dayMs });
    batch.put('cancelKeys', ['u', firstUlidAt(old + 1)], 'used anew');
    batch.put('idempotency', ['u', 'used anew'], { ...idempotency, expiresAt: now + 1 });
    batch.put('cancelKeys', ['u', firstUlidAt(now - 1_000)], 'recent');
    batch.put('idempotency', ['u', 'recent'], { ...idempotency, expiresAt: now + dayMs - 1_000 });
  });
  await runCycle(sweep);
  const keysOf = (): string[] => store.keys('idempotency', { prefix: ['u'] }).map(([, key]) => key);
  t.same(keysOf(), ['recent', 'used anew']);
  t.same(
    store.range('cancelKeys', { prefix: ['u'] }).map(({ record }) => record),
    ['used anew', 'recent'],
  );
});

t.test('the switch of a key that is no more goes, unless it is armed', async (t) => {
  const { store, sweep, now } = await setUp();
  const record = { timeoutMs: 5_000, firesAt: null, lastFiredAt: null };
  await store.write((batch) => {
    batch.put('apiKeyHashes', ['u', 1], 'active');
    batch.put('apiKeyHashes', ['u', -2], 'revoked');
    for (const id of ['1', '2', '3']) batch.put('cancelAfters', ['u', id], record);
    batch.put('cancelAfters', ['u', '4'], { ...record, firesAt: now + 5_000 });
  });
  await runCycle(sweep);
  t.same(
    store.keys('cancelAfters').map(([, id]) => id),
    ['1', '2', '4'],
  );
});

t.test('expired sessions go, others stay', async (t) => {
  const { store, sweep, now } = await setUp();
  await store.write((batch) => {
    batch.put('sessions', 'over', { ...session, expiresAt: now });
    batch.put('sessions', 'live', { ...session, expiresAt: now + 1 });
  });
  await runCycle(sweep);
  t.same(
    store.range('sessions').map(({ key }) => key),
    ['live'],
  );
});

t.test('what a deleted user left goes, slice by slice, and the note an hour later', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const source = {
    platform: 'p',
    instanceId: '',
    accountName: 'a',
    capabilities: [],
    software: { name: 's', version: '1' },
    lastSeq: 0,
    lastSeenAt: 0,
  };
  await store.write((batch) => {
    for (const userId of ['gone', 'gone2', 'u']) {
      for (let i = 0; i < 40; i++) {
        const signal = acceptedSignal({ userId, acceptedAt: now - i });
        putSignal(batch, signal, i % 2 === 0 ? now : undefined);
      }
      batch.put('sources', [userId, 'p', '', 'a'], source);
    }
    batch.put('users', 'gone2', user('gone2'));
    batch.put('meta', purgeKeyOf('gone'), now);
  });
  await runCycle(sweep);
  const left = (userId: string): number[] =>
    (
      [
        'requests',
        'openExecutions',
        'finalExecutions',
        'idempotency',
        'signalIds',
        'sources',
      ] as const
    ).map((collection) => store.range(collection, { prefix: [userId] }).length);
  t.same(left('gone'), [0, 0, 0, 0, 0, 0]);
  t.same(left('gone2'), [40, 20, 20, 40, 40, 1], 'another user keeps all');
  t.equal(store.get('meta', purgeKeyOf('gone')), now);

  await store.write((batch) => putSignal(batch, acceptedSignal({ userId: 'gone' })));
  clock.advance(3_600_000);
  await runCycle(sweep);
  t.same(left('gone'), [0, 0, 0, 0, 0, 0], 'also what came after the first pass');
  await runCycle(sweep);
  t.equal(store.get('meta', purgeKeyOf('gone')), undefined);
});

t.test('a purge leaves alone what an import brings meanwhile', async (t) => {
  const { store, sweep, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 700; i++) {
      putSignal(batch, acceptedSignal({ userId: 'gone', acceptedAt: now - i }), now);
    }
    batch.put('meta', purgeKeyOf('gone'), now);
  });
  t.notOk(await sweep.slice(), 'there is more than one slice removes');
  const imported = acceptedSignal({ userId: 'gone', acceptedAt: now });
  await store.write((batch) => {
    batch.remove('meta', purgeKeyOf('gone'));
    putSignal(batch, imported, now);
  });
  await runCycle(sweep);
  t.ok(isWhole(store, imported));
});

t.test('a user that exists is never purged', async (t) => {
  const { store, sweep, now } = await setUp();
  const signal = acceptedSignal({ userId: 'u', acceptedAt: now });
  await store.write((batch) => {
    putSignal(batch, signal);
    batch.put('meta', purgeKeyOf('u'), 0);
  });
  await runCycle(sweep);
  t.ok(isWhole(store, signal));
});

t.test(
  'a transaction ends when its time is used up, and the rest comes first in the next',
  async (t) => {
    const { store, clock, now } = await setUp();
    await store.write((batch) => {
      for (let i = 0; i < 100; i++) {
        putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
      }
    });
    let mostRemoved = 0;
    let removed = 0;
    const slow = within(store, clock, {
      begin: () => (removed = 0),
      remove: (collection) => {
        if (collection !== 'requests') return;
        mostRemoved = Math.max(mostRemoved, ++removed);
        clock.advance(25);
      },
    });
    const slices = await runCycle(sweepOf(slow, clock));
    t.equal(store.range('requests').length, 0);
    t.equal(mostRemoved, 4, 'in a tenth of a second');
    t.ok(slices >= 25, `${slices} slices`);
  },
);

/** @returns ratio of the rest after its first slice to that slice, for a sweep with much to remove. */
async function restFactorAt(behindMs: number): Promise<number> {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 2_100; i++) batch.put('sessions', `${i}`, { ...session, expiresAt: now });
  });
  const removalMs = 1 / 128;
  const sliceMs = 2_048 * removalMs;
  const begins: number[] = [];
  const slow = within(store, clock, {
    begin: () => begins.push(clock.monotonic()),
    remove: () => clock.advance(removalMs),
  });
  const sweep = sweepOf(slow, clock);
  clock.advance(behindMs);
  sweep.start();
  while (begins.length < 2) {
    clock.advance(1);
    await turns(2);
  }
  sweep.stop();
  const [first = 0, second = 0] = begins;
  return Math.round((10 * (second - first - sliceMs)) / sliceMs) / 10;
}

t.test('a sweep that is hardly behind rests nine times as long as it works', async (t) => {
  for (const behindMs of [0, 110_000]) t.equal(await restFactorAt(behindMs), 9);
});

t.test('the further behind, the shorter the rest', async (t) => {
  const minutes = [5, 11, 16];
  const rests = [];
  for (const behind of minutes) rests.push(await restFactorAt(behind * 60_000));
  t.strictSame(rests, [7.7, 5, 2.8]);
});

t.test('however far behind, others have as much of the time', async (t) => {
  for (const behindMs of [1_200_000, dayMs]) t.equal(await restFactorAt(behindMs), 1);
});

t.test('a restart knows how far the last process had come', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  await store.write((batch) =>
    putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 2 * dayMs }), now),
  );
  await runCycle(sweep);
  t.equal(sweepOf(store, clock).lagMs(), 0);
  clock.advance(3_600_000);
  const restarted = sweepOf(store, clock);
  t.equal(restarted.lagMs(), 3_600_000);
  await runCycle(restarted);
  t.equal(restarted.lagMs(), 0);
});

t.test('a slice removes a bounded number of records', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 5_000; i++) batch.put('sessions', `${i}`, { ...session, expiresAt: now });
  });
  const counts: number[] = [];
  const counting = within(store, clock, {
    begin: () => counts.push(0),
    remove: () => counts.push((counts.pop() as number) + 1),
  });
  await runCycle(sweepOf(counting, clock));
  t.same(counts.slice(0, 3), [2_048, 2_048, 904]);
});

t.test('the lag is the time since the begin of the last complete cycle', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  t.equal(sweep.lagMs(), 0);
  clock.advance(5_000);
  t.equal(sweep.lagMs(), 5_000);
  await runCycle(sweep);
  t.equal(sweep.lagMs(), 0);
  await store.write((batch) =>
    putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs }), 0),
  );
  clock.advance(1_000);
  store.failNextCommits(1);
  await t.rejects(sweep.slice());
  clock.advance(1_000);
  t.equal(sweep.lagMs(), 2_000, 'a cycle that failed counts for nothing');
  await runCycle(sweep);
  t.equal(sweep.lagMs(), 0);
});

t.test('a revoked key goes 30 days after its revocation, with its last use', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const keys = Array.from({ length: 200 }, (_, index) => index + 1);
  await store.write((batch) => {
    for (const id of keys) {
      // Of each three keys, one is active, one was revoked too recently, and one long ago.
      const revokedAt = [null, now - 30 * dayMs + 1_000, now - 30 * dayMs][id % 3] as number | null;
      batch.put('apiKeys', `hash ${id}`, apiKey(id, revokedAt));
      batch.put('apiKeyHashes', ['u', revokedAt === null ? id : -id], `hash ${id}`);
      batch.put('apiKeyUses', id, 1);
    }
  });
  await runCycle(sweep);
  const left = keys.filter((id) => id % 3 !== 2);
  t.strictSame(store.keys('apiKeyUses'), left);
  t.equal(store.keys('apiKeys').length, left.length);
  t.equal(store.keys('apiKeyHashes').length, left.length);
  clock.advance(1_000);
  await runCycle(sweep);
  t.strictSame(
    store.keys('apiKeyUses'),
    keys.filter((id) => id % 3 === 0),
  );
});

t.test('of very many revoked keys the first made go after an hour', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const ids = Array.from({ length: revokedKeysMax + 50 }, (_, index) => index + 1);
  await store.write((batch) => {
    for (const id of ids) {
      batch.put('apiKeys', `hash ${id}`, apiKey(id, id > 10 ? now - hourMs : now));
      batch.put('apiKeyHashes', ['u', -id], `hash ${id}`);
    }
  });
  const left = () => store.keys('apiKeyHashes').map(([, id]) => -id);
  await runCycle(sweep);
  t.same(left().reverse(), [...ids.slice(0, 10), ...ids.slice(50)]);
  clock.advance(hourMs);
  await runCycle(sweep);
  t.same(left().reverse(), ids.slice(50));
  t.equal(store.keys('apiKeys').length, revokedKeysMax);
});

t.test('a slice ends when its time is used up', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 100; i++) {
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
    }
  });
  const slow = within(store, clock, {
    range: (collection) => {
      if (collection === 'requests') clock.advance(100);
    },
  });
  const sweep = sweepOf(slow, clock);
  let before = store.range('requests').length;
  for (let ended = false; !ended;) {
    const begun = clock.monotonic();
    ended = await sweep.slice();
    t.ok(clock.monotonic() - begun <= 200);
    t.ok(before - store.range('requests').length <= 1, 'what is read after that is read again');
    before = store.range('requests').length;
  }
  t.equal(before, 0);
});

t.test('nothing due writes nothing', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now })));
  const write = (): void => void t.fail('nothing is due');
  await runCycle(sweepOf(within(store, clock, { put: write, remove: write }), clock));
});

t.test('while the disk takes nothing the sweep waits, and tells of no failure', async (t) => {
  const { store, clock, sweep } = await setUp();
  await store.write((batch) => batch.put('sessions', 'old', { ...session, expiresAt: 0 }));
  store.refuseWrites(true);
  sweep.start();
  clock.advance(60_000);
  await turns();
  store.refuseWrites(false);
  t.equal(store.range('sessions').length, 1);
  clock.advance(60_000);
  await turns();
  t.equal(store.range('sessions').length, 0);
  sweep.stop();
});

t.test('a slice that is under way at the stop is the last one', async (t) => {
  const { store, clock, now } = await setUp();
  let slices = 0;
  const counted = within(store, clock, { begin: () => slices++ });
  const sweep = sweepOf(counted, clock);
  await store.write((batch) => batch.put('sessions', 'old', { ...session, expiresAt: now }));
  sweep.start();
  clock.advance(20);
  sweep.stop();
  await turns();
  t.equal(slices, 1);
  t.equal(clock.timerCount, 0);
});

t.test('the timer runs cycle after cycle until it is stopped', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const put = (key: string): Promise<void> =>
    store.write((batch) => batch.put('sessions', key, { ...session, expiresAt: now }));
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      clock.advance(20);
      await new Promise(setImmediate);
    }
  };
  await put('first');
  sweep.start();
  sweep.start();
  t.equal(clock.timerCount, 1);
  await turns();
  t.same(store.range('sessions'), []);

  await put('second');
  clock.advance(60_000);
  await turns();
  t.same(store.range('sessions'), []);

  await put('third');
  sweep.stop();
  t.equal(clock.timerCount, 0);
  clock.advance(120_000);
  await turns();
  t.equal(store.range('sessions').length, 1);
});

t.test('a failed commit is told, and what was due goes in the next cycle', async (t) => {
  const clock = new SimulatedClock();
  const store = createMemoryStore();
  const told: unknown[] = [];
  const retentionClock = new RetentionClock(clock);
  const onError = (error: unknown): unknown => told.push(error);
  const sweep = createSweep({ store, clock, retentionClock, limits, onError });
  await store.write((batch) => {
    batch.put('users', 'u', user('u'));
    for (let i = 0; i < 40; i++) {
      const acceptedAt = clock.now() - 2 * dayMs + i;
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt }), clock.now());
    }
  });
  store.failNextCommits(1);
  sweep.start();
  for (let i = 0; i < 5; i++) {
    clock.advance(20);
    await new Promise(setImmediate);
  }
  t.match(told, [{ name: 'StoreFailure' }]);
  t.equal(store.range('idempotency').length, 40);
  for (let i = 0; i < 10; i++) {
    clock.advance(60_000);
    await new Promise(setImmediate);
  }
  t.equal(store.range('idempotency').length, 0);
  t.equal(told.length, 1);
  sweep.stop();
});

t.test('a slice waits until the one before it is on disk', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 100; i++) {
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
    }
  });
  let slices = 0;
  const slow = within(store, clock, { begin: () => slices++, remove: () => clock.advance(1) });
  const sweep = sweepOf(slow, clock);
  const release = store.hang();
  sweep.start();
  for (let i = 0; i < 50; i++) {
    clock.advance(20);
    await turns(1);
  }
  t.equal(slices, 1);
  release();
  while (store.range('requests').length > 0) {
    clock.advance(20);
    await turns(1);
  }
  t.ok(slices > 1);
  sweep.stop();
});

t.test('while the index is far behind, nothing is removed', async (t) => {
  const { store, clock, now } = await setUp();
  const signal = acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs });
  await store.write((batch) => putSignal(batch, signal, 0));
  let lagMs = 1_001;
  const lagging = { ...store, index: () => ({ ...store.index(), lagMs }) };
  const sweep = sweepOf(lagging, clock);
  sweep.start();
  const pass = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      clock.advance(20);
      await turns(1);
    }
  };
  await pass();
  t.ok(isWhole(store, signal));
  lagMs = 1_000;
  await pass();
  t.notOk(isWhole(store, signal));
  sweep.stop();
});

t.test('an execution’s many fills go before its request, and with it', async (t) => {
  const { store, clock, now } = await setUp();
  const acceptedAt = now - 40 * dayMs;
  const signal = acceptedSignal({ userId: 'u', acceptedAt });
  const { executionId } = signal.execution;
  const fill = { fillId: 'f', price: 1, quantity: 1, filledAt: '2026-01-15T12:00:00.000Z' };
  await store.write((batch) => {
    putSignal(batch, { ...signal, execution: { ...signal.execution, fillRows: 700 } }, acceptedAt);
    for (let i = 0; i < 700; i++) {
      batch.put('fills', ['u', executionId, String(i).padStart(8, '0')], fill);
    }
  });
  const order: Collection[] = [];
  await runCycle(sweepOf(within(store, clock, { remove: (from) => void order.push(from) }), clock));
  t.ok(order.lastIndexOf('fills') < order.indexOf('finalExecutions'));
  t.notOk(isWhole(store, signal));
  t.equal(store.keys('fills').length, 0);
});

t.test('the sweep removes the same from the real store', async (t) => {
  const clock = new SimulatedClock();
  const store = openStore(t.testdir(), { sweeper: sweeperModule });
  const now = clock.now();
  await store.write((batch) => {
    batch.put('users', 'u', user('u'));
    for (let i = 0; i < 100; i++) {
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
      putSignal(batch, acceptedSignal({ userId: 'gone', acceptedAt: now - i }));
    }
    putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now }));
    batch.put('meta', purgeKeyOf('gone'), now);
  });
  await eventually(() => store.index().waitingBytes === 0);
  await runCycle(sweepOf(store, clock));
  t.same(
    (['requests', 'openExecutions', 'finalExecutions', 'idempotency', 'signalIds'] as const).map(
      (collection) => store.range(collection).length,
    ),
    [1, 1, 0, 1, 1],
  );
  await store.close();
});

t.test(
  'a step forward that is taken back has cost nothing, one that lasts is believed',
  async (t) => {
    const { store, clock, sweep, now } = await setUp();
    const young = acceptedSignal({
      userId: 'u',
      acceptedAt: now,
      idempotencyExpiresAt: now + dayMs,
    });
    await store.write((batch) => putSignal(batch, young, now));
    clock.stepWall(40 * dayMs);
    await runCycle(sweep);
    clock.advance(3_540_000);
    await runCycle(sweep);
    await runCycle(sweep);
    t.ok(isWhole(store, young), 'for nearly an hour');
    clock.stepWall(-40 * dayMs);
    await runCycle(sweep);
    await runCycle(sweep);
    t.ok(isWhole(store, young));
    clock.stepWall(40 * dayMs);
    await runCycle(sweep);
    for (let minutes = 0; minutes <= 61; minutes++) {
      clock.advance(60_000);
      await runCycle(sweep);
    }
    t.notOk(isWhole(store, young), 'after an hour it is the time');
  },
);
