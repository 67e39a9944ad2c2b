import t from 'tap';
import type { RetentionLimits } from '../../src/retention/pass.js';
import { createSweep, type Sweep } from '../../src/retention/sweep.js';
import type { User } from '../../src/model/records.js';
import type { Store } from '../../src/store/store.js';
import { purgeKeyOf } from '../../src/store/key-layout.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { type AcceptedSignal, acceptedSignal, putSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const dayMs = 86_400_000;
const limits: RetentionLimits = { idempotencyRetentionMs: dayMs, executionRetentionDays: 30 };

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
    limits,
    onError: (error) => {
      throw error;
    },
  });
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

async function setUp(): Promise<{
  store: ReturnType<typeof createMemoryStore>;
  clock: SimulatedClock;
  sweep: Sweep;
  now: number;
}> {
  const clock = new SimulatedClock();
  const store = createMemoryStore();
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
    transact: async (work) => {
      await store.write((batch) => {
        batch.remove('finalExecutions', key);
        batch.put('openExecutions', key, signal.execution);
      });
      return store.transact(work);
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
    transact: async (work) => {
      await store.write((batch) => putSignal(batch, taken));
      return store.transact(work);
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
    const counting: Store = {
      ...store,
      range: (collection, range) => {
        const rows = store.range(collection, range);
        if (collection === 'requests') rowsRead += rows.length;
        return rows;
      },
    };
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

t.test('expired sessions go, others stay', async (t) => {
  const { store, sweep, now } = await setUp();
  const session = { userId: 'u', generation: 0, createdAt: 0 };
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

t.test('a slice removes little at a time and looks at few rows', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 500; i++) {
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
    }
  });
  let mostRemoved = 0;
  let mostRead = 0;
  let read = 0;
  const counting: Store = {
    ...store,
    range: (collection, range) => {
      const rows = store.range(collection, range);
      read += rows.length;
      return rows;
    },
    transact: async (work) => {
      const before = store.range('requests').length;
      const result = await store.transact(work);
      mostRemoved = Math.max(mostRemoved, before - store.range('requests').length);
      return result;
    },
  };
  const sweep = sweepOf(counting, clock);
  for (let ended = false; !ended;) {
    read = 0;
    ended = await sweep.slice();
    mostRead = Math.max(mostRead, read);
  }
  t.equal(store.range('requests').length, 0);
  t.equal(mostRemoved, 32);
  t.ok(mostRead <= 256 + 8, `at most ${mostRead} rows`);
});

t.test('a slice ends when its time is used up', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => {
    for (let i = 0; i < 100; i++) {
      putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs + i }), 0);
    }
  });
  const slow: Store = {
    ...store,
    range: (collection, range) => {
      if (collection === 'requests') clock.advance(2);
      return store.range(collection, range);
    },
  };
  const sweep = sweepOf(slow, clock);
  let before = store.range('requests').length;
  for (let ended = false; !ended;) {
    const begun = clock.monotonic();
    ended = await sweep.slice();
    t.ok(clock.monotonic() - begun <= 4);
    t.ok(before - store.range('requests').length <= 8);
    before = store.range('requests').length;
  }
  t.equal(before, 0);
});

t.test('nothing due costs no transaction', async (t) => {
  const { store, clock, now } = await setUp();
  await store.write((batch) => putSignal(batch, acceptedSignal({ userId: 'u', acceptedAt: now })));
  const idle: Store = {
    ...store,
    transact: () => Promise.reject(new Error('nothing is due')),
  };
  await runCycle(sweepOf(idle, clock));
  t.pass('no transaction was made');
});

t.test('the timer runs cycle after cycle until it is stopped', async (t) => {
  const { store, clock, sweep, now } = await setUp();
  const session = { userId: 'u', generation: 0, createdAt: 0 };
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
  const sweep = createSweep({ store, clock, limits, onError: (error) => told.push(error) });
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

t.test('it does the same on the real store', async (t) => {
  const clock = new SimulatedClock();
  const store = openStore(t.testdir());
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
