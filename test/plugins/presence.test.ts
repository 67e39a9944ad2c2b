import t from 'tap';
import { heartbeatMs } from '../../src/plugins/protocol.js';
import { publishedEvents, SimulatedGateway, dispatched } from '../support/simulated-gateway.js';

t.test('a source that connects elsewhere takes it from the older connection', async (t) => {
  const { gateway, plugin: first, id } = await dispatched();
  t.strictSame(first.submitted, ['s1']);
  const second = await gateway.plugin();
  t.strictSame(first.closed, { code: 4501, reason: 'replaced' });
  t.equal(second.closed, undefined);
  t.strictSame(second.submitted, ['s1'], 'what the old one did not acknowledge');
  t.equal(gateway.registry.connectedCount, 1);
  await gateway.submit();
  t.strictSame(first.submitted, ['s1']);
  t.strictSame(second.submitted, ['s1', 's2']);
  second.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  await gateway.pass(1);
  t.equal(gateway.durable(id)?.status, 'working');
  t.strictSame(statuses(gateway), ['online', 'replaced', 'online']);
});

t.test('another instance or account replaces nobody, nor does another user', async (t) => {
  const gateway = new SimulatedGateway();
  const plugins = [
    await gateway.plugin(),
    await gateway.plugin({ instanceId: 'desk-2' }),
    await gateway.plugin({ accountName: 'Sim102' }),
    await gateway.plugin({ platform: 'terminal_b', accountName: 'Sim101@Demo' }),
    await gateway.plugin({}, 'u2'),
  ];
  for (const plugin of plugins) t.equal(plugin.closed, undefined);
  t.equal(gateway.registry.connectedCount, 5);
});

t.test('online, stale when it goes, offline when the window has passed', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  await gateway.pass(10_000);
  plugin.say({ type: 'heartbeat' });
  plugin.drop();
  t.strictSame(statuses(gateway), ['online', 'stale']);
  await gateway.pass(120_000);
  t.strictSame(statuses(gateway), ['online', 'stale']);
  t.equal(gateway.registry.active('u1').length, 1);
  await gateway.pass(1);
  t.strictSame(statuses(gateway), ['online', 'stale', 'offline']);
  t.equal(gateway.registry.active('u1').length, 0);
});

t.test('one that is too slow for its own welcome was online, and is stale', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect();
  plugin.isFull = true;
  plugin.hello();
  t.strictSame(statuses(gateway), ['online', 'stale']);
});

t.test('one that returns in time is never offline', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  plugin.drop();
  await gateway.pass(60_000);
  const back = await gateway.plugin();
  await gateway.pass(60_001);
  back.say({ type: 'heartbeat' });
  await gateway.pass(60_000);
  t.strictSame(statuses(gateway), ['online', 'stale', 'online']);
});

t.test('one that left twice before a pause of the gateway is offline once', async (t) => {
  const gateway = new SimulatedGateway();
  for (let i = 0; i < 2; i++) {
    const plugin = await gateway.plugin();
    await gateway.pass(1_000);
    plugin.drop();
  }
  gateway.clock.elapse(300_000);
  await gateway.pass(1_000);
  t.strictSame(statuses(gateway), ['online', 'stale', 'online', 'stale', 'offline']);
  t.equal(gateway.deadlines.size, 0);
});

t.test('after a restart an active source is awaited, and offline when it stays away', async (t) => {
  const first = new SimulatedGateway();
  await first.plugin();
  const second = first.restart();
  t.equal(second.registry.active('u1').length, 1);
  await second.pass(120_000);
  t.equal(second.registry.active('u1').length, 1);
  await second.pass(1);
  t.equal(second.registry.active('u1').length, 0);
  t.strictSame(statuses(second), ['offline']);
});

t.test('a source that the gateway forgot with its user is told of no more', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  plugin.drop();
  gateway.hub.forget('u1');
  gateway.registry.forget('u1');
  await gateway.pass(300_000, 60_000);
  t.strictSame(statuses(gateway), []);
});

t.test('a short window asks for faster heartbeats, and a long one for none slower', async (t) => {
  const asked = async (heartbeatWindowMs: number) => {
    const gateway = new SimulatedGateway({ limits: { heartbeatWindowMs } });
    return (await gateway.plugin()).of('welcome')[0]?.['heartbeatMs'];
  };
  t.equal(await asked(2_000), 500);
  t.equal(await asked(600_000), heartbeatMs);
});

/** @returns the statuses of desk-1 that the streams carried. */
function statuses(gateway: SimulatedGateway): string[] {
  return publishedEvents(gateway)
    .filter(({ name }) => name === 'source_status')
    .map(({ data }) => data.data.status);
}

t.test('a user has so many active sources, and another one is closed with 4504', async (t) => {
  const gateway = new SimulatedGateway({ limits: { sourcesPerUser: 2 } });
  const first = await gateway.plugin({ instanceId: 'desk-1' });
  await gateway.plugin({ instanceId: 'desk-2' });
  const third = await gateway.plugin({ instanceId: 'desk-3' });
  t.strictSame(third.closed, { code: 4504, reason: 'too_many_sources' });
  t.strictSame(third.frames, []);
  t.equal(gateway.registry.active('u1').length, 2);

  t.equal((await gateway.plugin({ instanceId: 'desk-3' }, 'u2')).closed, undefined);
  first.drop();
  t.equal((await gateway.plugin({ instanceId: 'desk-1' })).closed, undefined, 'an active one may');
});

t.test('a source that is no longer active makes room', async (t) => {
  const gateway = new SimulatedGateway({ limits: { sourcesPerUser: 1 } });
  (await gateway.plugin({ instanceId: 'desk-1' })).drop();
  t.equal(
    (await gateway.plugin({ instanceId: 'desk-2' })).closed?.code,
    4504,
    'signals wait for it',
  );
  await gateway.pass(gateway.limits.heartbeatWindowMs + 1);
  t.equal((await gateway.plugin({ instanceId: 'desk-2' })).closed, undefined);
  t.equal((await gateway.plugin({ instanceId: 'desk-1' })).closed?.code, 4504);
});
