import t from 'tap';
import { deleteUser } from '../../src/auth/accounts.js';
import { sourceKey } from '../../src/model/source-name.js';
import { dayMs, hourMs } from '../../src/lib/durations.js';
import { purgeKeyOf } from '../../src/store/key-layout.js';
import { sourcesPerTurn } from '../../src/plugins/registry.js';
import { SimulatedGateway, turns, user } from '../support/simulated-gateway.js';

t.test('a source is known after a crash from its first hello on', async (t) => {
  const first = new SimulatedGateway();
  await first.plugin({ capabilities: ['submit', 'submit'] });
  const second = first.restart();
  t.match(second.registry.active('u1'), [
    {
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      capabilities: ['submit'],
      software: { name: 'scripted', version: '1' },
      connection: undefined,
    },
  ]);
});

t.test('sources within the window are active over a restart, others are not', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  await first.pass(60_000);
  (await first.plugin({ instanceId: 'desk-2' })).drop();
  await first.pass(60_001);
  const second = first.restart();
  t.strictSame(instances(second), ['desk-2']);
  await second.pass(59_999);
  t.strictSame(instances(second), ['desk-2']);
  await second.pass(1);
  t.strictSame(instances(second), []);
});

t.test('connected sources are written down now and then: a crash costs them little', async (t) => {
  const first = new SimulatedGateway();
  const plugin = await first.plugin();
  for (let i = 0; i < 10; i++) {
    await first.pass(29_000);
    plugin.say({ type: 'heartbeat' });
  }
  await first.pass(15_000);
  const second = first.restart();
  await second.pass(100_000);
  t.strictSame(instances(second), ['desk-1']);
});

t.test(
  'a crash costs a connected source an eighth of a short heartbeat window at most',
  async (t) => {
    const limits = { heartbeatWindowMs: 16_000 };
    const first = new SimulatedGateway({ limits });
    const plugin = await first.plugin();
    for (let i = 0; i < 7; i++) {
      await first.pass(1_900);
      plugin.say({ type: 'heartbeat' });
    }
    const second = first.restart();
    await second.pass(14_000);
    t.strictSame(instances(second), ['desk-1']);
  },
);

t.test('a source that leaves is written down as it was last seen', async (t) => {
  const first = new SimulatedGateway();
  const plugin = await first.plugin();
  await first.pass(14_000);
  plugin.say({ type: 'heartbeat' });
  plugin.drop();
  await turns();
  const second = first.restart();
  await second.pass(119_000);
  t.strictSame(instances(second), ['desk-1']);
});

t.test('a wall clock that was set back makes no source younger than it is', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  await first.pass(10);
  first.clock.stepWall(-3_600_000);
  const second = first.restart();
  t.strictSame(instances(second), ['desk-1']);
  await second.pass(120_001);
  t.strictSame(instances(second), []);
});

t.test('a connected source is active after a pause, until it had time to be heard', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  await gateway.plugin({ instanceId: 'desk-2' });
  gateway.clock.elapse(120_001);
  t.strictSame(instances(gateway), ['desk-1', 'desk-2']);
  plugin.say({ type: 'heartbeat' });
  await gateway.pass(500);
  t.strictSame(instances(gateway), ['desk-1']);
});

t.test('the last seq survives a restart', async (t) => {
  const first = new SimulatedGateway();
  const plugin = await first.plugin();
  plugin.say({ type: 'event', seq: 41, event: 'order_update' });
  await first.pass(1);
  t.equal(plugin.lastAck, 41);
  const second = first.restart();
  const back = await second.plugin();
  t.equal(back.of('welcome')[0]?.['lastSeq'], 41);
});

t.test('a welcome names no seq that is not on disk', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  gateway.memory.failNextCommits(1_000);
  plugin.say({ type: 'event', seq: 7, event: 'order_update' });
  const back = await gateway.plugin();
  t.equal(back.of('welcome')[0]?.['lastSeq'], 0);
  t.equal(back.lastAck, undefined);
});

t.test('stopping writes the last sightings, and no later ones', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  gateway.clock.advance(5_000);
  const source = gateway.registry.find(
    'u1',
    sourceKey({ platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' }),
  )!;
  source.lastSeenAt = 77;
  gateway.registry.stop();
  source.lastSeenAt = 78;
  await gateway.pass(60_000);
  await gateway.writer.settled();
  t.equal(gateway.store.range('sources')[0]?.record.lastSeenAt, 77);
});

t.test(
  'while the disk refuses, sightings and reconnects of a terminal wait as one record',
  async (t) => {
    const gateway = new SimulatedGateway();
    let plugin = await gateway.plugin();
    const minutes = async (count: number): Promise<void> => {
      for (let i = 0; i < 2 * count; i++) {
        await gateway.pass(30_000);
        plugin.drop();
        plugin = await gateway.plugin();
      }
    };
    gateway.memory.refuseWrites(true);
    await minutes(60);
    t.equal(gateway.writer.backlog, 1);
    gateway.memory.refuseWrites(false);
    await minutes(1);
    t.equal(gateway.writer.backlog, 0);
    const seenAt = gateway.store.range('sources')[0]?.record.lastSeenAt ?? 0;
    t.ok(seenAt > gateway.clock.now() - 60_000, 'the newest times are on disk, and go on to be');
  },
);

t.test('the sightings of many sources are written in slices, one after the other', async (t) => {
  const many = 2 * sourcesPerTurn + 1;
  const gateway = new SimulatedGateway({
    limits: { sourcesPerUser: many, pluginConnectionsPerUser: many },
  });
  const plugins = Array.from({ length: many }, (_, index) => {
    const plugin = gateway.connect();
    plugin.hello({ instanceId: `desk-${index}` });
    return plugin;
  });
  await turns();
  const begun = gateway.clock.now();
  gateway.clock.advance(14_000);
  for (const plugin of plugins) plugin.say({ type: 'heartbeat' });
  const written = (): number =>
    gateway.store.range('sources').filter(({ record }) => record.lastSeenAt > begun).length;
  const counts = [written()];
  gateway.memory.watchCommits(() => counts.push(written()));
  gateway.memory.refuseWrites(true);
  gateway.clock.advance(1_000);
  await turns();
  gateway.clock.advance(15_000);
  await turns();
  t.ok(gateway.writer.backlog <= sourcesPerTurn + 1, 'while the disk refuses, one slice waits');
  gateway.memory.refuseWrites(false);
  gateway.writer.retry();
  await turns();
  t.strictSame([...new Set(counts)], [0, sourcesPerTurn, 2 * sourcesPerTurn, many]);
});

/** A gateway whose store has one source and twice `sourcesPerTurn` others, last seen so many days ago. */
async function withManySources(days: number): Promise<SimulatedGateway> {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  const [row] = gateway.store.range('sources');
  const lastSeenAt = gateway.clock.now() - days * dayMs;
  await gateway.store.write((batch) => {
    for (let index = 0; index < 2 * sourcesPerTurn; index++) {
      const instanceId = `desk-${1_000 + index}`;
      const record = { ...row!.record, instanceId, lastSeenAt };
      batch.put('sources', ['u1', record.platform, instanceId, record.accountName], record);
    }
  });
  return gateway;
}

t.test('many sources that were not seen for long are removed in slices', async (t) => {
  const gateway = (await withManySources(31)).restart();
  const counts: number[] = [];
  const count = (): void => void counts.push([...gateway.registry.all()].length);
  gateway.clock.advance(hourMs);
  for (count(); counts.at(-1) !== 1 && counts.length < 10; count()) await turns(1);
  t.strictSame(counts, [sourcesPerTurn + 2, 2, 1]);
  await turns();
  t.equal(gateway.store.range('sources').length, 1);

  const stopping = (await withManySources(31)).restart();
  stopping.clock.advance(hourMs);
  stopping.registry.stop();
  await turns();
  t.equal([...stopping.registry.all()].length, sourcesPerTurn + 2, 'none after the stop');
});

t.test('a start reads many sources in steps', async (t) => {
  const first = await withManySources(0);
  const next = new SimulatedGateway({ store: first.memory, clock: first.clock, isStarting: true });
  const counts: number[] = [];
  while (next.loading.next().done !== true) counts.push([...next.registry.all()].length);
  t.strictSame(counts.slice(0, 2), [sourcesPerTurn, 2 * sourcesPerTurn]);
  t.equal([...next.registry.all()].length, 2 * sourcesPerTurn + 1);
});

function instances(gateway: SimulatedGateway): string[] {
  return gateway.registry.active('u1').map(({ instanceId }) => instanceId);
}

for (const executionRetentionDays of [1, 30, 60]) {
  const kept = `${executionRetentionDays} days of executions`;
  t.test(
    `with ${kept}, a source not seen for 30 days is removed, also from the disk`,
    async (t) => {
      const limits = { heartbeatWindowMs: dayMs, executionRetentionDays };
      const gateway = new SimulatedGateway({ limits });
      const held = gateway.connect({ expiresAt: gateway.clock.now() + 60 * dayMs });
      held.hello({ instanceId: 'desk-1' });
      (await gateway.plugin({ instanceId: 'desk-2' })).drop();
      const names = (): string[] =>
        gateway.store.range('sources', {}).map(({ record }) => record.instanceId);
      const pass = async (days: number): Promise<void> => {
        for (let half = 0; half < 2 * days; half++) {
          held.say({ type: 'heartbeat' });
          await gateway.pass(dayMs / 2);
        }
      };
      await pass(30);
      t.strictSame(names(), ['desk-1', 'desk-2']);
      await pass(1);
      t.strictSame(names(), ['desk-1'], 'the one that is connected stays');
      t.equal([...gateway.registry.all()].length, 1);
      const back = await gateway.plugin({ instanceId: 'desk-2' });
      t.equal(back.of('welcome').length, 1);
    },
  );
}

t.test('the source of a deleted user is not written again when it leaves', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.store.write((batch) => {
    batch.put('users', 'u1', user);
    batch.put('emails', user.email, 'u1');
  });
  const plugin = await gateway.plugin();
  await deleteUser(gateway.store, user.email, gateway.clock.now());
  gateway.core.userChanged('u1');
  await turns();
  t.equal(plugin.closed?.code, 4503);
  t.equal(gateway.registry.connectedCount, 0);
  t.strictSame(gateway.store.range('sources'), []);
});

t.test('a start passes over the sources of a deleted user', async (t) => {
  const first = new SimulatedGateway();
  await first.plugin();
  // A write that was under way at the deletion leaves a source, until the purge has removed it.
  await first.store.write((batch) => batch.put('meta', purgeKeyOf('u1'), first.clock.now()));
  const second = first.restart();
  t.strictSame([...second.registry.all()], []);
});

t.test('a user that connects under ever new names has a bounded number of sources', async (t) => {
  const limits = { sourcesPerUser: 2, heartbeatWindowMs: 1_000 };
  const gateway = new SimulatedGateway({ limits });
  const held = await gateway.plugin({ instanceId: 'held' });
  for (let index = 0; index < 50; index++) {
    (await gateway.plugin({ instanceId: `desk-${index}` })).drop();
    for (let half = 0; half < 2; half++) {
      await gateway.pass(501);
      held.say({ type: 'heartbeat' });
    }
  }
  const known = [...gateway.registry.all()].map(({ instanceId }) => instanceId);
  t.equal(known.length, 32);
  t.ok(known.includes('held'));
  t.ok(known.includes('desk-49'));
  t.notOk(known.includes('desk-0'));
  await turns();
  t.equal(gateway.store.range('sources', {}).length, 32);
});
