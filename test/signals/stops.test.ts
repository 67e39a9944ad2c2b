/** Freeze, halt and revoked keys: what they end, at once and across restarts. */
import t, { type Test } from 'tap';
import { accountOperations } from '../../src/admin/account-operations.js';
import { noEffects, type OperationContext } from '../../src/admin/operation.js';
import { upkeepOperations } from '../../src/admin/upkeep-operations.js';
import { halt, readHalt, resumeTrading } from '../../src/auth/brakes.js';
import { createIdSource } from '../../src/lib/ids.js';
import { shippedPlans } from '../../src/plans.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { enforceOnDisk } from '../../src/signals/stops-on-disk.js';
import type { Store } from '../../src/store/store.js';
import { SimulatedGateway, turns, user, dispatched } from '../support/simulated-gateway.js';
import { writtenBy } from '../support/written-by.js';

type StopName = 'account_frozen' | 'trading_halted' | 'key_revoked';

/** The commits of the stops, as the operations and the endpoint make them. */
const stops: Readonly<Record<StopName, (store: Store) => Promise<unknown>>> = {
  account_frozen: (store) =>
    store.write((batch) => batch.put('users', 'u1', { ...user, frozen: true })),
  trading_halted: (store) => store.transact((transaction) => halt(transaction, 'why', 1)),
  key_revoked: (store) => store.write((batch) => batch.put('apiKeyHashes', ['u1', -1], 'hash')),
};
const names = Object.keys(stops) as StopName[];

async function stop(gateway: SimulatedGateway, name: StopName): Promise<void> {
  await stops[name](gateway.store);
  await gateway.core.endUnsent(name === 'trading_halted' ? undefined : 'u1');
}

const denied = (reasonCode: StopName) => ({ status: 'denied', reasonCode, delivery: 'not_sent' });

/** An order that was accepted while the terminal is away. */
async function waiting(gateway = new SimulatedGateway()) {
  const plugin = await gateway.plugin();
  plugin.drop();
  const [id = ''] = await gateway.submit();
  return { gateway, id };
}

function lift({ store }: SimulatedGateway): Promise<void> {
  return store.transact((transaction) => {
    resumeTrading(transaction);
    transaction.put('users', 'u1', user);
    transaction.remove('apiKeyHashes', ['u1', -1]);
  });
}

async function nothingLeaves(t: Test, gateway: SimulatedGateway): Promise<void> {
  const plugin = await gateway.plugin();
  t.strictSame(plugin.of('submit'), []);
}

for (const name of names) {
  t.test(`${name}: what waits for its terminal is denied, for good`, async (t) => {
    const { gateway, id } = await waiting();
    await stop(gateway, name);
    t.match(gateway.durable(id), denied(name), 'on disk when the stop is over');
    await nothingLeaves(t, gateway);
    t.equal(gateway.book.size, 0);
  });

  t.test(`${name}: what is accepted meanwhile is denied after its commit`, async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const ids: string[] = [];
    gateway.accept({}, (accepted) => {
      if (typeof accepted === 'object') ids.push(accepted.executions[0]?.executionId ?? '');
    });
    await stop(gateway, name);
    await turns();
    t.match(gateway.durable(ids[0] ?? ''), denied(name));
    t.strictSame(plugin.of('submit'), []);
  });

  t.test(`${name}: a backlog ends where the stop comes`, async (t) => {
    const { gateway, id } = await waiting();
    const [second = ''] = await gateway.submit();
    const plugin = gateway.connect();
    plugin.room = 2;
    plugin.hello();
    await turns();
    t.strictSame(plugin.submitted, ['s1'], 'the welcome and one submit');
    await stop(gateway, name);
    plugin.drain(Infinity);
    await turns();
    t.strictSame(plugin.submitted, ['s1']);
    t.match(gateway.durable(id), { status: 'dispatched' });
    t.match(gateway.durable(second), denied(name));
  });

  t.test(`${name}: a mark whose commit is under way is not followed by its frame`, async (t) => {
    const { gateway, id } = await waiting();
    const plugin = gateway.connect();
    const stopped = stops[name](gateway.store);
    plugin.hello();
    await stopped;
    await turns();
    t.strictSame(plugin.of('submit'), []);
    t.match(gateway.durable(id), denied(name));
  });

  t.test(`${name}: what was sent is not sent again, and goes on being reported`, async (t) => {
    const { gateway, plugin, id } = await dispatched();
    t.equal(plugin.submitted.length, 1);
    await stop(gateway, name);
    plugin.drop();
    const back = await gateway.plugin();
    t.strictSame(back.of('submit'), []);
    t.match(gateway.durable(id), { status: 'dispatched', delivery: 'sent', maySend: false });
    back.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
    await turns();
    await gateway.cancel(id);
    t.equal(back.of('cancel').length, 1, 'a cancel leaves');
  });

  t.test(`${name}: what was sent before it is unknown because of a restart after it`, async (t) => {
    const { gateway, id } = await dispatched();
    await stop(gateway, name);
    const next = gateway.restart();
    await next.pass(60_000);
    t.match(next.durable(id), { status: 'unknown', reasonCode: 'gateway_restarted' });
  });

  t.test(`${name}: a start denies what the last process could not`, async (t) => {
    const { gateway, id } = await waiting();
    await stops[name](gateway.store);
    const next = gateway.restart();
    await turns();
    t.match(next.durable(id), denied(name));
    await nothingLeaves(t, next);
  });

  t.test(`${name}: of what a start denies nothing leaves before`, async (t) => {
    const { gateway, id } = await waiting();
    await stops[name](gateway.store);
    const next = gateway.restart();
    await nothingLeaves(t, next);
    t.match(next.durable(id), denied(name));
  });

  t.test(`${name}: a start denies a few at a time, as long as it runs`, async (t) => {
    const { gateway } = await waiting();
    for (let i = 1; i < 1_000; i++) gateway.accept({}, () => undefined);
    await turns();
    await stops[name](gateway.store);
    const written = writtenBy(gateway.memory);
    const next = gateway.restart();
    t.strictSame(written, [], 'nothing while the book is loaded');
    await turns(3);
    await next.core.stop();
    const deniedNow = () => next.store.keys('finalExecutions').length;
    t.match(deniedNow(), 256);
    await turns(100);
    t.match(deniedNow(), 256, 'the next start goes on');
    const last = next.restart();
    await turns(100);
    t.equal(last.store.keys('finalExecutions').length, 1_000);
    t.ok(Math.max(...written.map((each) => each.finalExecutions ?? 0)) <= 256);
  });

  t.test(`${name}: what a killed process may have sent is never sent again`, async (t) => {
    const { gateway, id } = await waiting();
    const execution = gateway.execution(id);
    await gateway.store.write((batch) =>
      batch.put('openExecutions', ['u1', id], { ...execution, maySend: true }),
    );
    await stops[name](gateway.store);
    const next = gateway.restart();
    await turns();
    t.match(next.durable(id), { status: 'dispatched', delivery: 'sent', maySend: false });
    await nothingLeaves(t, next);
    await next.pass(120_000, 30_000);
    t.match(next.durable(id), { status: 'unknown', reasonCode: 'gateway_restarted' });
  });

  t.test(
    `${name}: what became unknown is not sent again after it, with the gateway running or not`,
    async (t) => {
      for (const runs of [true, false]) {
        const gateway = new SimulatedGateway();
        const id = await gateway.lostSubmit(300_000);
        if (runs) await stop(gateway, name);
        else {
          gateway.deadlines.stop();
          await stops[name](gateway.store);
          await enforceOnDisk(gateway.store, gateway.clock);
        }
        await turns();
        t.match(gateway.durable(id), { status: 'unknown', maySend: false });
        if (runs) t.equal(gateway.book.size, 0, 'nothing of it waits for the terminal');
        await lift(gateway);
        await nothingLeaves(t, gateway.restart());
      }
    },
  );

  t.test(`${name}: without a gateway the store itself is changed`, async (t) => {
    const { gateway, id } = await waiting();
    const [second = ''] = await gateway.submit();
    const execution = gateway.execution(second);
    gateway.deadlines.stop();
    await gateway.store.write((batch) =>
      batch.put('openExecutions', ['u1', second], { ...execution, maySend: true }),
    );
    await stops[name](gateway.store);
    await enforceOnDisk(gateway.store, gateway.clock);
    t.match(gateway.durable(id), denied(name));
    t.match(gateway.durable(second), { status: 'dispatched', maySend: false });
    await lift(gateway);
    await nothingLeaves(t, gateway.restart());
  });
}

t.test('without a gateway, what a cancel of all orders has denied stays denied', async (t) => {
  const { gateway, id } = await waiting();
  const execution = gateway.execution(id);
  gateway.deadlines.stop();
  // The gateway was killed after the cancel-all was stored, and before it changed its orders.
  await gateway.store.write((batch) => {
    batch.put('openExecutions', ['u1', id], { ...execution, maySend: true });
    batch.put('cancelAlls', ['u1', 'cal_1'], {
      cause: 'cancelled_by_api',
      requestedAt: gateway.clock.now(),
      trail: {},
      orders: [id],
    });
  });
  await stops.trading_halted(gateway.store);
  await enforceOnDisk(gateway.store, gateway.clock);
  t.match(gateway.durable(id), { status: 'denied', reasonCode: 'cancelled_by_api' });
});

t.test('without a gateway, what is unknown gets the cancel that it is owed', async (t) => {
  const gateway = new SimulatedGateway();
  const id = await gateway.lostSubmit(300_000);
  gateway.deadlines.stop();
  const requestedAt = gateway.clock.now();
  await gateway.store.write((batch) =>
    batch.put('cancelAlls', ['u1', 'cal_1'], {
      cause: 'cancelled_by_api',
      requestedAt,
      trail: {},
      orders: [`can_${id.slice(4)}_1`],
    }),
  );
  await stops.trading_halted(gateway.store);
  await enforceOnDisk(gateway.store, gateway.clock);
  t.match(gateway.durable(id), { status: 'unknown', cancel: { status: 'requested' } });
  for (const collection of ['finalExecutions', 'unknownOrders'] as const) {
    t.same(gateway.store.keys(collection), [], collection);
  }
});

t.test('a revoked key ends its own executions alone, a freeze those of its user', async (t) => {
  const gateway = new SimulatedGateway();
  const [plugin, other] = [await gateway.plugin(), await gateway.plugin({}, 'u2')];
  plugin.drop();
  other.drop();
  const [first = ''] = await gateway.submit({ keyId: 1 });
  const [second = ''] = await gateway.submit({ keyId: 2 });
  gateway.accept({}, () => undefined, { ...user, userId: 'u2' });
  await turns();
  await stop(gateway, 'key_revoked');
  t.match(gateway.durable(first), denied('key_revoked'));
  t.equal(gateway.durable(second)?.status, 'queued');
  await stop(gateway, 'account_frozen');
  t.match(gateway.durable(second), denied('account_frozen'));
  t.equal((await gateway.plugin({}, 'u2')).submitted.length, 1);
});

t.test('what a halt has denied stays denied; new signals leave after it', async (t) => {
  const { gateway, id } = await waiting();
  await stop(gateway, 'trading_halted');
  await gateway.store.transact(resumeTrading);
  await gateway.submit({ signalId: 'after' });
  const plugin = await gateway.plugin();
  t.strictSame(plugin.submitted, ['after']);
  t.match(gateway.durable(id), denied('trading_halted'));
});

t.test('what an import brings while trading is halted is denied, for good', async (t) => {
  const source = await waiting();
  const record = source.gateway.durable(source.id);
  const gateway = new SimulatedGateway();
  await stop(gateway, 'trading_halted');
  const rows = [
    { row: { collection: 'users', key: 'u1', record: user } },
    { row: { collection: 'openExecutions', key: ['u1', source.id], record } },
  ];
  const send = () => Promise.resolve(true);
  const next = () => Promise.resolve(rows.pop() ?? ('end' as const));
  const request = { userId: 'u1', email, plan: user.plan, keyIds: [] };
  const importing = upkeepOperations['user.import'];
  t.strictSame(await importing.run(operatorOf(gateway), request, { send, next }), { rows: 2 });
  t.match(gateway.durable(source.id), denied('trading_halted'));
  await gateway.store.transact(resumeTrading);
  await nothingLeaves(t, gateway);
});

t.test('while a user is moved its executions wait; they are not denied', async (t) => {
  const { gateway, id } = await waiting();
  const moving = { frozen: false, confirmed: true };
  await gateway.store.write((batch) => batch.put('users', 'u1', { ...user, frozen: true, moving }));
  await gateway.core.endUnsent('u1');
  t.equal(gateway.durable(id)?.status, 'queued');
});

t.test('a disk that refuses the denials does not hold up the end of the stop', async (t) => {
  const { gateway, id } = await waiting();
  await stops.trading_halted(gateway.store);
  gateway.memory.failNextCommits(1);
  await gateway.core.endUnsent();
  t.equal(gateway.execution(id).status, 'denied');
  await gateway.pass(3_000, 1_000);
  t.match(gateway.durable(id), denied('trading_halted'));
});

t.test('trading is resumed once what the halt denied is on disk, which refused it', async (t) => {
  const { gateway, id } = await waiting();
  const { store, memory, core } = gateway;
  await stops.trading_halted(store);
  memory.failNextCommits(1);
  await core.endUnsent();
  t.equal(gateway.durable(id)?.status, 'queued');
  await accountOperations['trading.resume'].run(operatorOf(gateway));
  t.match(gateway.durable(id), denied('trading_halted'));
});

t.test('what is stopped again while its stop is being ended stays stopped', async (t) => {
  const { gateway } = await waiting();
  const context = operatorOf(gateway);
  const {
    'trading.halt': halting,
    'trading.resume': resuming,
    'user.set': setting,
  } = accountOperations;
  await halting.run(context, {});
  const resumed = resuming.run(context);
  await halting.run(context, {});
  t.strictSame(await resumed, { refused: 'stopped_again' });
  t.ok(readHalt(gateway.store).halted);

  await gateway.store.write((batch) => {
    batch.put('emails', user.email, 'u1');
    batch.put('users', 'u1', user);
  });
  const freeze = (frozen: boolean) => setting.run(context, { email: user.email, frozen });
  await freeze(true);
  const thawed = freeze(false);
  await freeze(true);
  t.strictSame(await thawed, { refused: 'stopped_again' });
  t.ok(gateway.store.get('users', 'u1')?.frozen);

  await resuming.run(context);
  await freeze(false);
  t.notOk(readHalt(gateway.store).halted, 'the next one ends it');
  t.notOk(gateway.store.get('users', 'u1')?.frozen);
});

t.test(
  'a stop whose commit is under way when it is to be ended denies all that it covers',
  async (t) => {
    const { gateway, id } = await waiting();
    const { store, memory } = gateway;
    const context = operatorOf(gateway);
    const { 'trading.halt': halting, 'trading.resume': resuming } = accountOperations;
    // More than are denied in one turn.
    for (let i = 0; i < 600; i++) gateway.accept({ signalId: `after ${i}` }, () => undefined);
    await turns();
    const last = [...gateway.book.walk('u1')].at(-1)?.executionId ?? '';
    let release = memory.hang();
    const halted = halting.run(context, {});
    const resumed = resuming.run(context);
    await turns();
    release();
    t.match(await Promise.all([halted, resumed]), [{ halted: true }, { halted: false }]);
    t.match(gateway.durable(last), denied('trading_halted'));
    t.match(gateway.durable(id), denied('trading_halted'));

    await store.write((batch) => {
      batch.put('emails', email, 'u1');
      batch.put('users', 'u1', user);
    });
    const [frozen = ''] = await gateway.submit();
    release = memory.hang();
    const stopping = setting.run(context, { email, frozen: true });
    const thawed = setting.run(context, { email, frozen: false });
    release();
    t.match(await Promise.all([stopping, thawed]), [
      { user: { frozen: true } },
      { user: { frozen: false } },
    ]);
    t.match(gateway.durable(frozen), denied('account_frozen'));
  },
);

/** Orders that wait for their terminal, not in memory, of a key. Counts how many the gateway looks at in each turn. */
async function manyWaiting(count: number, keyId: number) {
  const { gateway } = await waiting();
  for (let i = 0; i < count; i++) gateway.accept({ keyId }, () => undefined);
  await turns();
  const { brakes } = gateway.core;
  const stopOf = brakes.stopOf.bind(brakes);
  const looks = { count: 0 };
  brakes.stopOf = (...of) => {
    looks.count++;
    return stopOf(...of);
  };
  return { gateway, looks };
}

t.test('the revocation of a key looks at no execution of another key', async (t) => {
  const { gateway, looks } = await manyWaiting(600, 2);
  const [first] = gateway.book.walk('u1');
  await stops.key_revoked(gateway.store);
  await gateway.core.endUnsent('u1', 1);
  t.match(gateway.durable(first?.executionId ?? ''), denied('key_revoked'));
  t.equal(looks.count, 1);
  t.equal(gateway.book.size, 600);
  t.notOk([...gateway.book.walk('u1')].some(({ isLoaded }) => isLoaded));
});

t.test('a key that is revoked again and again is looked through once in a turn', async (t) => {
  const { gateway, looks } = await manyWaiting(600, 1);
  await stops.key_revoked(gateway.store);
  const runs = Array.from({ length: 9 }, () => gateway.core.endUnsent('u1', 1));
  await turns(1);
  t.equal(looks.count, 256);
  await Promise.all(runs);
  t.equal(looks.count, 601, 'the later runs find nothing left');
  t.equal(gateway.book.size, 0);
});

/** An operator whose first command that ends a stop waits for `goOn`, as on a slow disk. */
async function slowOperator() {
  const { gateway } = await waiting();
  const context = operatorOf(gateway);
  let goOn = (): void => undefined;
  const slow = new Promise<void>((resolve) => (goOn = resolve));
  const settled = [slow];
  const effects = { ...noEffects, settled: () => settled.pop() ?? Promise.resolve() };
  await gateway.store.write((batch) => {
    batch.put('emails', user.email, 'u1');
    batch.put('users', 'u1', { ...user, frozen: true });
  });
  return { store: gateway.store, context: { ...context, effects }, goOn };
}

const { 'user.set': setting, 'user.add': adding, 'user.delete': deleting } = accountOperations;
const { email } = user;

t.test('a move that begins while a freeze is being ended stays', async (t) => {
  const { store, context, goOn } = await slowOperator();
  const thawed = setting.run(context, { email, frozen: false });
  const rows: unknown[] = [];
  const send = (row: unknown) => Promise.resolve(rows.push(row) > 0);
  const next = () => Promise.resolve('end' as const);
  const exporting = upkeepOperations['user.export'];
  const wanted = { email: ` ${email.toUpperCase()}`, freeze: true };
  t.match(await exporting.run(context, wanted, { send, next }), { isMove: true });
  goOn();
  t.strictSame(await thawed, { refused: 'stopped_again' });
  t.ok(store.get('users', 'u1')?.moving, 'the file can be imported');
});

t.test('a user that is added anew and frozen while a freeze is ended stays frozen', async (t) => {
  const { store, context, goOn } = await slowOperator();
  const thawed = setting.run(context, { email, frozen: false });
  await deleting.run(context, { email });
  const fields = { email, plan: 'business', passwordHash: '', confirmed: true };
  const added = await adding.run(context, fields);
  await setting.run(context, { email, frozen: true });
  goOn();
  t.strictSame(await thawed, { refused: 'stopped_again' });
  t.ok('user' in added && store.get('users', added.user.userId)?.frozen);
});

t.test(
  'a thaw whose user is deleted meanwhile does not thaw one that is imported since',
  async (t) => {
    const { store, context, goOn } = await slowOperator();
    const thawed = setting.run(context, { email, frozen: false });
    await deleting.run(context, { email });
    const moved = { ...user, userId: 'u2', frozen: true };
    const rows = [{ row: { collection: 'users', key: 'u2', record: moved } }];
    const send = () => Promise.resolve(true);
    const next = () => Promise.resolve(rows.pop() ?? ('end' as const));
    const request = { userId: 'u2', email, plan: user.plan, keyIds: [] };
    const imported = upkeepOperations['user.import'].run(context, request, { send, next });
    t.strictSame(await imported, { rows: 1 });
    goOn();
    t.strictSame(await thawed, { refused: 'stopped_again' });
    t.ok(store.get('users', 'u2')?.frozen);
  },
);

t.test('a freeze of a user that there is not lets a halt be ended', async (t) => {
  const { store, context, goOn } = await slowOperator();
  await accountOperations['trading.halt'].run(context, {});
  const resumed = accountOperations['trading.resume'].run(context);
  const frozen = await setting.run(context, { email: 'nobody@example.com', frozen: true });
  t.match(frozen, { refused: 'user_not_found' });
  goOn();
  t.match(await resumed, { halted: false });
  t.notOk(readHalt(store).halted);
});

function operatorOf({ store, clock, core, trail, limits }: SimulatedGateway): OperationContext {
  return {
    store,
    clock,
    ids: createIdSource(clock),
    settings: { dataDir: '', plans: shippedPlans, platforms: shippedPlatforms, limits },
    effects: core,
    trail,
    importing: new Set(),
    ending: new Set(),
  };
}

t.test('a stop passes over what has gone from the disk with its user', async (t) => {
  const { gateway, id } = await waiting();
  await gateway.store.write((batch) => batch.remove('openExecutions', ['u1', id]));
  await t.resolves(stop(gateway, 'trading_halted'));
});

t.test(
  'in a copy of the store, what was queued may have been sent: a stop denies none of it',
  async (t) => {
    const { gateway, id } = await waiting();
    gateway.deadlines.stop();
    await stops.account_frozen(gateway.store);
    Object.assign(gateway.memory, { isCopy: () => true });
    await enforceOnDisk(gateway.memory, gateway.clock);
    t.match(gateway.durable(id), { status: 'dispatched', delivery: 'sent', maySend: false });
  },
);
