import t from 'tap';
import { SimulatedGateway } from '../support/simulated-gateway.js';

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

t.test('stopping writes the last sightings and ends the timer', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  gateway.clock.advance(5_000);
  gateway.registry.find('u1', '["terminal_a","desk-1","Sim101"]')!.lastSeenAt = 77;
  gateway.registry.stop();
  await gateway.writer.settled();
  t.equal(gateway.store.range('sources')[0]?.record.lastSeenAt, 77);
  const timers = gateway.clock.timerCount;
  await gateway.pass(60_000);
  t.ok(gateway.clock.timerCount <= timers);
});

function instances(gateway: SimulatedGateway): string[] {
  return gateway.registry.active('u1').map(({ instanceId }) => instanceId);
}
