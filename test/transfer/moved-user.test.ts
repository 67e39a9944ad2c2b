/** A user that is exported in slices and imported from them, whatever happens between two slices. */
import t, { type Test } from 'tap';
import { noEffects } from '../../src/admin/operation.js';
import { upkeepOperations } from '../../src/admin/upkeep-operations.js';
import { addUser, deleteUser, findUser, setUser, suspendUser } from '../../src/auth/accounts.js';
import { createApiKey, revokeApiKey } from '../../src/auth/api-key.js';
import { dummyHash } from '../../src/auth/password.js';
import { createIdSource } from '../../src/lib/ids.js';
import type { ApiKey, Session, User } from '../../src/model/records.js';
import { noTrail } from '../../src/model/trail-events.js';
import { importKeyOf } from '../../src/store/key-layout.js';
import { type Store, StoreFailure } from '../../src/store/store.js';
import { exportUser } from '../../src/transfer/export-user.js';
import {
  discardImport,
  type ImportDeps,
  importUser,
  type NextRow,
} from '../../src/transfer/import-user.js';
import { judgeRows } from '../../src/transfer/row-rules.js';
import type { UserFileHead, UserRow } from '../../src/transfer/user-file.js';
import { aCancel } from '../signals/an-execution.js';
import { acceptedSignal, type AcceptedSignal, putSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { SimulatedGateway, turns, user as someUser } from '../support/simulated-gateway.js';

const ann = 'ann@example.com';
const clock = new SimulatedClock();

interface Source {
  readonly store: Store;
  readonly userId: string;
  readonly signal: AcceptedSignal;
}

async function aSource(): Promise<Source> {
  const store = createMemoryStore();
  const fields = { email: ann, plan: 'business', passwordHash: dummyHash, confirmed: true, now: 0 };
  const user = await addUser(store, createIdSource(clock), fields);
  if (typeof user === 'string') throw new Error(user);
  const signal = acceptedSignal({ userId: user.userId });
  await store.write((batch) => putSignal(batch, signal));
  await suspendUser(store, ann);
  return { store, userId: user.userId, signal };
}

/** @param between runs after each line, with the line. */
async function exported(
  store: Store,
  between: (line: UserFileHead | UserRow) => Promise<unknown> = () => Promise.resolve(),
) {
  const lines: (UserFileHead | UserRow)[] = [];
  let pauses = 0;
  const result = await exportUser(
    {
      reader: store,
      // The clock advances 10 ms with each line, so that the export pauses.
      clock: { now: () => 0, monotonic: () => performance.now() + lines.length * 10 },
      pause() {
        pauses++;
        return Promise.resolve();
      },
      async send(line) {
        lines.push(line);
        await between(line);
        return true;
      },
    },
    findUser(store, ann) as User,
  );
  return { result, pauses, head: lines[0] as UserFileHead, rows: lines.slice(1) as UserRow[] };
}

function depsOf(store: Store, effects: Partial<ImportDeps['effects']> = {}): ImportDeps {
  return {
    store,
    clock,
    importing: new Set(),
    effects: {
      userChanged: () => undefined,
      adoptUser: () => Promise.resolve(),
      settled: () => Promise.resolve(),
      ...effects,
    },
  };
}

function feed(rows: readonly unknown[], end: 'end' | 'lost' = 'end'): NextRow {
  const rest = [...rows];
  return () => Promise.resolve(rest.length === 0 ? end : { row: rest.shift() });
}

function executionsIn(store: Store, userId: string): readonly (readonly string[])[] {
  const owned = { prefix: [userId] };
  return [
    store.keys('openExecutions', owned).map(([, id]) => id),
    store.keys('finalExecutions', owned).map(([, id]) => id),
  ];
}

t.test('an execution that becomes final between its collections is imported once', async (t) => {
  const { store, userId, signal } = await aSource();
  const { executionId } = signal.execution;
  const key: [string, string] = [userId, executionId];
  const { rows, pauses } = await exported(store, async (line) => {
    if ('isMove' in line || line.collection !== 'openExecutions') return;
    await store.write((batch) => {
      batch.remove('openExecutions', key);
      batch.put('finalExecutions', key, { ...line.record, status: 'expired' });
    });
  });
  const both = rows.filter(({ collection }) => /Executions/.test(collection));
  t.same(
    both.map(({ collection }) => collection),
    ['openExecutions', 'finalExecutions'],
  );
  t.ok(pauses > 0, 'turns are ended');
  const target = createMemoryStore();
  t.equal(
    await importUser(depsOf(target), { userId, email: ann, keyIds: [] }, feed(rows)),
    rows.length,
  );
  t.same(executionsIn(target, userId), [[], [executionId]]);
  t.match(target.get('finalExecutions', key), { status: 'expired' });
});

t.test(
  'what is unknown, an order or not, is found after the import of a file without its row',
  async (t) => {
    const { store, userId, signal } = await aSource();
    const { execution } = signal;
    const key: [string, string] = [userId, execution.executionId];
    await store.write((batch) => {
      batch.remove('openExecutions', key);
      const unknown = { ...execution, status: 'unknown', dispatchedAt: 1, orderRef: null } as const;
      batch.put('finalExecutions', key, unknown);
    });
    const { rows } = await exported(store);
    const target = createMemoryStore();
    t.equal(
      await importUser(depsOf(target), { userId, email: ann, keyIds: [] }, feed(rows)),
      rows.length,
    );
    t.strictSame(target.keys('unknownOrders'), [key]);
  },
);

for (const [name, change] of Object.entries({
  resumed: (store: Store) => setUser(store, ann, { frozen: false }),
  'resumed and suspended again': async (store: Store) => {
    await setUser(store, ann, { frozen: false });
    await suspendUser(store, ann);
  },
  frozen: (store: Store) => setUser(store, ann, { frozen: true }),
  'cut off by a dead-man’s switch': (store: Store) => {
    const key: [string, string] = [findUser(store, ann)?.userId ?? '', '4'];
    const fired = { timeoutMs: 5_000, firesAt: null, lastFiredAt: 7 };
    return store.write((batch) => batch.put('cancelAfters', key, fired));
  },
  'cut off by its own bot': (store: Store) => {
    const key: [string, string] = [
      findUser(store, ann)?.userId ?? '',
      createIdSource(clock).ulid(),
    ];
    return store.write((batch) => batch.put('cancelKeys', key, 'cancel-all'));
  },
})) {
  t.test(`a user that is ${name} meanwhile is not exported`, async (t) => {
    const { store } = await aSource();
    let isChanged = false;
    const { result } = await exported(store, async () => {
      if (isChanged) return;
      isChanged = true;
      await change(store);
    });
    t.equal(result, 'user_changed');
  });
}

t.test('a user that gets another key meanwhile is exported with it', async (t) => {
  const { store } = await aSource();
  const user = findUser(store, ann) as User;
  const wanted = { user, name: 'n', scopes: [], expiresAt: null, activeMax: 5, now: 0 };
  await createApiKey(store, wanted);
  const { result, rows } = await exported(store, async (line) => {
    if ('isMove' in line) await createApiKey(store, wanted);
  });
  t.match(result, { isMove: true });
  t.equal(rows.filter(({ collection }) => collection === 'apiKeys').length, 2);
});

t.test(
  'a key that is revoked once its row was read is not exported as one that is valid',
  async (t) => {
    const { store, userId } = await aSource();
    const user = findUser(store, ann) as User;
    const wanted = { user, name: 'n', scopes: [], expiresAt: null, activeMax: 5, now: 0 };
    await createApiKey(store, wanted);
    const { result } = await exported(store, async (line) => {
      if (!('isMove' in line) && line.collection === 'apiKeys') {
        await revokeApiKey(store, userId, line.record.id, 1);
      }
    });
    t.equal(result, 'user_changed');
  },
);

t.test(
  'a user that is resumed, or another by then, before the first row is not exported',
  async (t) => {
    const gateway = await aGateway();
    const { store, core: effects } = gateway;
    const others = {
      resumed: () => setUser(store, ann, { frozen: false }),
      'added anew': async () => {
        await deleteUser(store, ann, 0);
        const fields = {
          email: ann,
          plan: 'business',
          passwordHash: dummyHash,
          confirmed: true,
          now: 0,
        };
        await addUser(store, createIdSource(clock), fields);
      },
    };
    for (const [name, change] of Object.entries(others)) {
      const context = {
        store,
        clock,
        ids: createIdSource(clock),
        settings: { dataDir: '', plans: {}, platforms: [], limits: gateway.limits },
        effects: { ...noEffects, userChanged: effects.userChanged.bind(effects), settled: change },
        trail: noTrail,
        importing: new Set<string>(),
        ending: new Set<never>(),
      };
      const rows = {
        send: () => Promise.resolve(true),
        next: () => Promise.resolve('end' as const),
      };
      const wanted = { email: ann, freeze: true };
      const exporting = upkeepOperations['user.export'].run(context as never, wanted, rows);
      t.match(await exporting, { refused: 'user_changed' }, name);
    }
  },
);

t.test('a move takes as many ids as the user has keys, however often it moves', async (t) => {
  const there = await aSource();
  const { userId } = there;
  const user = findUser(there.store, ann) as User;
  const wanted = { user, name: 'n', scopes: [], expiresAt: null, activeMax: 5, now: 0 };
  for (let i = 0; i < 3; i++) await createApiKey(there.store, wanted);
  let from = there.store;
  // Next key ids of the two gateways between which the user moves.
  const nextIds = [4, 1];
  for (let moves = 1; moves <= 80; moves++) {
    await suspendUser(from, ann);
    const { head, rows } = await exported(from);
    const judged = judgeRows(head, rows) as { keyIds: number[] };
    const to = createMemoryStore();
    await to.write((batch) => batch.put('meta', 'nextKeyId', nextIds[moves % 2] as number));
    t.equal(await importUser(depsOf(to), { ...head, ...judged }, feed(rows)), rows.length);
    nextIds[moves % 2] = to.get('meta', 'nextKeyId') as number;
    from = to;
  }
  t.same(nextIds, [124, 121]);
  t.same(
    from.keys('apiKeyHashes'),
    [121, 122, 123].map((id) => [userId, id]),
  );
});

t.test('what waits in a copy of a store may have been sent, wherever it goes on', async (t) => {
  const { store } = await aSource();
  for (const isCopy of [false, true]) {
    const { rows } = await exported({ ...store, isCopy: () => isCopy });
    const open = rows.filter(({ collection }) => collection === 'openExecutions');
    t.match(open, [{ record: { status: 'queued', maySend: isCopy } }]);
  }
});

t.test('nothing more is read for a command that is gone', async (t) => {
  const { store } = await aSource();
  let sent = 0;
  const send = () => Promise.resolve(++sent < 2);
  const deps = { reader: store, clock: { now: () => 0, monotonic: () => 0 }, send };
  const pause = () => Promise.resolve();
  t.equal(await exportUser({ ...deps, pause }, findUser(store, ann) as User), 'command_gone');
  t.equal(sent, 2);
});

async function cutOff(t: Test, next: (rows: readonly UserRow[]) => NextRow, refusal: string) {
  const { store, userId } = await aSource();
  const { rows } = await exported(store);
  const target = createMemoryStore();
  const deps = depsOf(target, { adoptUser: async () => void t.fail('not adopted') });
  t.equal(await importUser(deps, { userId, email: ann, keyIds: [] }, next(rows)), refusal);
  t.not(target.get('meta', importKeyOf(userId)), undefined, 'the mark stays');
  t.equal(target.get('users', userId), undefined);
  t.equal(target.get('emails', ann), undefined);
  t.equal(deps.importing.size, 0);
  return { target, userId, rows };
}

t.test(
  'an import whose command is gone leaves its mark, and is done by the next one',
  async (t) => {
    const { target, userId, rows } = await cutOff(t, (all) => feed(all, 'lost'), 'command_gone');
    t.equal(
      await importUser(depsOf(target), { userId, email: ann, keyIds: [] }, feed(rows)),
      rows.length,
    );
    t.match(target.get('users', userId), { email: ann, frozen: false });
    t.equal(target.get('meta', importKeyOf(userId)), undefined);
  },
);

t.test('an import whose command is gone can be discarded', async (t) => {
  const { target, userId } = await cutOff(
    t,
    (all) => feed(all.slice(0, 2), 'lost'),
    'command_gone',
  );
  t.equal(await discardImport(depsOf(target), userId), undefined);
  t.equal(target.keys('requests', { prefix: [userId] }).length, 0);
  t.equal(target.get('meta', importKeyOf(userId)), undefined);
});

t.test('while an import is discarded none of the same user begins', async (t) => {
  const { target, userId, rows } = await cutOff(t, (all) => feed(all, 'lost'), 'command_gone');
  let goOn = (): void => undefined;
  const resting = new Promise<void>((resolve) => (goOn = resolve));
  const deps = depsOf(target);
  const effects = { ...deps.effects, settled: () => resting };
  const discarded = discardImport({ ...deps, effects }, userId);
  const user = { userId, email: ann, keyIds: [] };
  t.equal(await importUser(deps, user, feed(rows)), 'import_under_way');
  t.equal(await discardImport(deps, userId), 'import_under_way', 'nor another discard');
  goOn();
  t.equal(await discarded, undefined);
  t.equal(await importUser(deps, user, feed(rows)), rows.length);
  t.equal(target.keys('requests', { prefix: [userId] }).length, 1);
});

/** Causes that make an import fail after the gateway has read its orders. */
const obstacles = {
  'whose email is taken meanwhile': {
    begin: ({ store }) => void store.write((batch) => batch.put('emails', ann, 'usr_other')),
    ends: async (t, importing, { store }) => {
      t.equal(await importing, 'email_taken');
      await store.write((batch) => batch.remove('emails', ann));
    },
  },
  'whose last write fails': {
    begin: ({ memory }) => memory.failNextCommits(1),
    ends: (t, importing) => t.rejects(importing, StoreFailure),
  },
} as const satisfies Record<
  string,
  {
    begin: (target: SimulatedGateway) => void;
    ends: (t: Test, importing: Promise<unknown>, target: SimulatedGateway) => Promise<unknown>;
  }
>;

/** A source whose order works and was submitted by an API key. */
async function aSourceWithKey(): Promise<Source> {
  const source = await aSource();
  const { store, userId, signal } = source;
  const apiKey: ApiKey = {
    id: 4,
    userId,
    name: 'bot',
    displayPrefix: '',
    scopes: ['signals:write'],
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
  };
  await store.write((batch) => {
    const execution = { ...signal.execution, keyId: 4, status: 'working' } as const;
    putSignal(batch, { ...signal, execution });
    batch.put('apiKeys', 'hash', apiKey);
    batch.put('apiKeyHashes', [userId, 4], 'hash');
  });
  return source;
}

/** Checks that the source's order counts for its key after the import. */
function hasOrderOfKey(t: Test, gateway: SimulatedGateway, { userId, signal }: Source): void {
  const keyId = gateway.store.get('apiKeys', 'hash')?.id as number;
  t.equal(gateway.entry(signal.execution.executionId, userId).execution.keyId, keyId);
  t.equal(gateway.book.openOrders.of(keyId), 1);
}

for (const [name, { begin, ends }] of Object.entries(obstacles)) {
  t.test(`an import ${name} leaves no order in the gateway`, async (t) => {
    const source = await aSourceWithKey();
    const { rows } = await exported(source.store);
    const gateway = new SimulatedGateway();
    const { store, core } = gateway;
    const user = { userId: source.userId, email: ann, keyIds: [4] };
    const deps = { store, clock, importing: new Set<string>(), effects: core };
    const hindered = {
      userChanged: (id: string) => core.userChanged(id),
      settled: () => core.settled(),
      async adoptUser(id: string) {
        await core.adoptUser(id);
        begin(gateway);
      },
    };
    await ends(t, importUser({ ...deps, effects: hindered }, user, feed(rows)), gateway);
    t.equal(gateway.book.size, 0);
    t.equal(await importUser(deps, user, feed(rows)), rows.length);
    hasOrderOfKey(t, gateway, source);
  });
}

t.test('an import that is begun anew after a crash leaves no order of the first', async (t) => {
  const source = await aSourceWithKey();
  const { rows } = await exported(source.store);
  const user = { userId: source.userId, email: ann, keyIds: [4] };
  const first = new SimulatedGateway();
  const crash = new Error('a crash');
  const adoptUser = (): Promise<void> => Promise.reject(crash);
  await t.rejects(importUser(depsOf(first.store, { adoptUser }), user, feed(rows)), crash);
  const gateway = first.restart();
  t.equal(gateway.book.size, 1);
  const { store, core } = gateway;
  const deps = { store, clock, importing: new Set<string>(), effects: core };
  t.equal(await importUser(deps, user, feed(rows)), rows.length);
  hasOrderOfKey(t, gateway, source);
});

/** A gateway to which Ann's terminal is connected. */
async function aGateway(): Promise<SimulatedGateway> {
  const gateway = new SimulatedGateway();
  const { userId } = someUser;
  await gateway.store.write((batch) => {
    batch.put('users', userId, { ...someUser, email: ann });
    batch.put('emails', ann, userId);
  });
  await gateway.plugin();
  return gateway;
}

t.test('a cancel of all orders that was asked for before a move goes with the user', async (t) => {
  const gateway = await aGateway();
  const { store, core } = gateway;
  // So many orders that the cancel-all takes many turns to judge them.
  for (let i = 0; i < 500; i++) gateway.accept({}, () => undefined);
  await turns();
  const answers = gateway.cancelAllNow({}, 'all');
  await suspendUser(store, ann);
  core.userChanged(someUser.userId);
  await core.settled();
  const { rows } = await exported(store);
  await turns(100);
  t.match(answers, [/"matched":500,/]);
  t.ok(rows.some(({ collection, key }) => collection === 'idempotency' && key[1] === 'all'));
  const open = rows.filter((row) => row.collection === 'openExecutions');
  t.equal(open.filter(({ record }) => record.cancel !== null).length, 500);
});

t.test('a cancel-all that waits for a signal of unknown outcome goes along', async (t) => {
  const gateway = await aGateway();
  const { store, core } = gateway;
  await gateway.submit();
  gateway.memory.failNextCommits(1);
  await gateway.submit();
  const answers = gateway.cancelAllNow({}, 'all');
  await suspendUser(store, ann);
  core.userChanged(someUser.userId);
  await core.settled();
  const { rows } = await exported(store);
  await gateway.pass(2_000, 1_000);
  t.match(answers, [/"matched":1,/]);
  t.ok(rows.some(({ collection, key }) => collection === 'idempotency' && key[1] === 'all'));
});

t.test(
  'a suspended user that is exported again takes along what is still being accepted',
  async (t) => {
    const gateway = await aGateway();
    const { store, memory, core } = gateway;
    const endSuspension = memory.hang();
    const suspending = suspendUser(store, ann);
    await turns();
    gateway.accept({}, () => undefined);
    endSuspension();
    const endAcceptance = memory.hang();
    await suspending;
    const collections: unknown[] = [];
    const rows = {
      send(row: unknown) {
        collections.push((row as Partial<UserRow>).collection);
        return Promise.resolve(true);
      },
    };
    const context = { store, clock, effects: core, ending: new Set() };
    const wanted = { email: ann, freeze: false };
    const exporting = upkeepOperations['user.export'].run(context as never, wanted, rows as never);
    await turns();
    endAcceptance();
    t.match(await exporting, { isMove: true });
    t.ok(collections.includes('requests'));
  },
);

const foreign: readonly unknown[] = [
  { collection: 'requests', key: ['usr_other', 'req_1'], record: {} },
  { collection: 'users', key: 'usr_other', record: { userId: 'usr_other' } },
  { collection: 'switches', key: 'publicApi', record: false },
  { collection: 'constructor', key: 'a', record: {} },
];
for (const row of foreign) {
  t.test(`a row that is not the user’s is refused: ${JSON.stringify(row)}`, async (t) => {
    await cutOff(t, () => feed([row]), 'foreign_row');
  });
}

t.test('a key or a session that another user has here stays the other’s', async (t) => {
  const source = await aSourceWithKey();
  const { userId } = source;
  await source.store.write((batch) =>
    batch.put('sessions', 'token', { userId, generation: 1, createdAt: 0, expiresAt: 1 }),
  );
  const { rows } = await exported(source.store);
  const user = { userId, email: ann, keyIds: [4] };
  for (const collection of ['apiKeys', 'sessions'] as const) {
    const target = createMemoryStore();
    const [row] = source.store.range(collection);
    const others = { ...row?.record, userId: 'usr_other' } as ApiKey & Session;
    await target.write((batch) => batch.put(collection, row?.key ?? '', others));
    t.equal(await importUser(depsOf(target), user, feed(rows)), 'foreign_row', collection);
    t.same(target.get(collection, row?.key ?? ''), others);
    t.equal(target.get('users', userId), undefined);
  }
});

t.test('the orders of a moved user keep their keys, whose ids are new', async (t) => {
  const { store, userId, signal } = await aSource();
  const apiKey = (id: number, owner = userId): ApiKey => ({
    id,
    userId: owner,
    name: `key ${id}`,
    displayPrefix: '',
    scopes: ['signals:write'],
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
  });
  const { request, execution } = signal;
  const cancel = { ...aCancel('pending'), keyId: 7 };
  await store.write((batch) => {
    putSignal(batch, {
      ...signal,
      request: { ...request, keyId: 4 },
      execution: { ...execution, keyId: 4, cancel },
    });
    const trail = { keyId: 7, traceId: 'trace' };
    batch.put('cancelAlls', [userId, 'cal_1'], {
      cause: 'cancelled_by_api',
      requestedAt: 0,
      trail,
      orders: [],
    });
    for (const id of [4, 7]) {
      batch.put('apiKeys', `hash ${id}`, apiKey(id));
      batch.put('apiKeyHashes', [userId, id === 7 ? -7 : id], `hash ${id}`);
    }
  });
  const { rows } = await exported(store);
  const target = createMemoryStore();
  await target.write((batch) => {
    batch.put('meta', 'nextKeyId', 5);
    batch.put('apiKeys', 'other', apiKey(4, 'usr_other'));
  });
  const user = { userId, email: ann, keyIds: [7, 4] };
  t.equal(await importUser(depsOf(target), user, feed(rows)), rows.length);
  t.equal(target.get('apiKeys', 'hash 4')?.id, 5);
  t.equal(target.get('apiKeys', 'hash 7')?.id, 6);
  t.equal(target.get('meta', 'nextKeyId'), 7);
  t.equal(target.get('requests', [userId, request.requestId])?.keyId, 5);
  const moved = target.get('openExecutions', [userId, execution.executionId]);
  t.equal(moved?.keyId, 5);
  t.equal(moved?.cancel?.keyId, 6);
  t.same(target.get('cancelAlls', [userId, 'cal_1'])?.trail, { keyId: 6, traceId: 'trace' });
  t.equal(target.get('apiKeys', 'other')?.id, 4);

  const again = createMemoryStore();
  const tooFew = { ...user, keyIds: [4] };
  t.equal(await importUser(depsOf(again), tooFew, feed(rows)), 'foreign_row');
});

t.test('an order of a key that its gateway had no more names no other key here', async (t) => {
  const { store, userId, signal } = await aSource();
  const { execution } = signal;
  const cancel = { ...aCancel('pending'), keyId: 9 };
  await store.write((batch) => {
    putSignal(batch, { ...signal, execution: { ...execution, keyId: 8, cancel } });
  });
  const { rows } = await exported(store);
  const target = createMemoryStore();
  const user = { userId, email: ann, keyIds: [] };
  t.equal(await importUser(depsOf(target), user, feed(rows)), rows.length);
  const moved = target.get('openExecutions', [userId, execution.executionId]);
  t.equal(moved?.keyId, undefined);
  t.equal(moved?.cancel?.keyId, undefined);
});
