import t from 'tap';
import { Intake } from '../../src/plugins/intake.js';
import { frameErrors, type FrameErrorCode } from '../../src/plugins/protocol.js';
import { helloFrame } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns, user } from '../support/simulated-gateway.js';

t.test('the first frame is hello, answered with a welcome', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect();
  plugin.hello();
  t.strictSame(plugin.frames, [
    {
      type: 'welcome',
      connectionId: plugin.connection.connectionId,
      heartbeatMs: 30_000,
      serverTime: '2026-01-15T12:00:00.000Z',
      lastSeq: 0,
      outgoingQueue: { eventsMax: 2_000, ageMs: 600_000 },
    },
  ]);
  t.match(gateway.registry.active('u1'), [
    { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' },
  ]);
});

const bad: [string, string, FrameErrorCode][] = [
  ['no JSON', '{', 'not_json'],
  ['an unknown type', '{"type":"x"}', 'unknown_type'],
  ['a frame before hello', '{"type":"heartbeat"}', 'hello_expected'],
  [
    'a report before hello',
    '{"type":"report","seq":1,"executionId":"e","status":"filled"}',
    'hello_expected',
  ],
];
for (const [name, text, code] of bad) {
  t.test(`at the third bad frame the connection is closed: ${name}`, async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = gateway.connect();
    plugin.sayText(text);
    plugin.sayText(text);
    t.strictSame(plugin.errors, [code, code]);
    t.equal(plugin.of('error')[0]?.['message'], frameErrors[code].message);
    t.equal(plugin.closed, undefined);
    plugin.sayText(text);
    t.equal(plugin.errors.length, 3);
    t.strictSame(plugin.closed, { code: 4502, reason: 'bad_protocol' });
    t.equal(gateway.instruments.framesRejected.value, 3);
    t.equal(gateway.instruments.connectionsClosed.counters.bad_protocol.value, 1);
    t.equal(gateway.presence.isOpen(plugin.connection.connectionId), false);
    t.equal(gateway.deadlines.size, 0);
  });
}

t.test('bad frames add up over a connection’s life, good ones between them', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect();
  plugin.sayText('x');
  plugin.hello();
  plugin.hello();
  t.strictSame(plugin.errors, ['not_json', 'hello_repeated']);
  plugin.say({ type: 'heartbeat' });
  t.equal(plugin.closed, undefined);
  plugin.sayText('{"type":"heartbeat"}', true);
  t.strictSame(plugin.errors, ['not_json', 'hello_repeated', 'not_text']);
  t.equal(plugin.closed?.code, 4502);
});

t.test('well-formed words about what the gateway does not hold are no bad frames', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  for (let i = 0; i < 5; i++) plugin.say({ type: 'ack', executionId: 'exe_nothing' });
  t.strictSame(plugin.errors, Array(5).fill('unknown_execution'));
  t.equal(plugin.closed, undefined);
});

const refused: [string, object, string][] = [
  ['an unknown platform', { platform: 'terminal_z' }, 'unknown_platform'],
  [
    'an account without its server',
    { platform: 'terminal_b', accountName: '7' },
    'invalid_account',
  ],
];
for (const [name, change, code] of refused) {
  t.test(`a hello is refused for ${name}, and may be said again`, async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = gateway.connect();
    plugin.hello(change);
    t.strictSame(plugin.errors, [code]);
    t.equal(gateway.registry.active('u1').length, 0);
    plugin.hello({ platform: 'terminal_b', accountName: '7@Demo' });
    t.equal(plugin.of('welcome').length, 1);
  });
}

t.test('without hello within 5 s the connection is closed', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect();
  gateway.clock.advance(4_999);
  t.equal(plugin.closed, undefined);
  gateway.clock.advance(1);
  t.strictSame(plugin.closed, { code: 4502, reason: 'bad_protocol' });
  t.equal(gateway.deadlines.size, 0);
});

t.test('a hello that came in time is not late because other frames of its user wait', async (t) => {
  const gateway = new SimulatedGateway();
  const intake = new Intake(gateway.clock, (error) => t.error(error));
  const other = await gateway.plugin();
  const before = gateway.deadlines.size;
  const plugin = gateway.connect();
  const send = (frame: object, { connection } = plugin): void => {
    intake.take(connection, new Uint8Array(Buffer.from(JSON.stringify(frame))).buffer, false);
  };
  const refused = gateway.connect();
  for (let i = 0; i < 100; i++) send({ type: 'heartbeat' }, other);
  send({ ...helloFrame, instanceId: 'desk-2' });
  send({ ...helloFrame, platform: 'terminal_z' }, refused);
  gateway.clock.advance(5_000);
  await turns();
  gateway.clock.advance(1);
  t.equal(plugin.of('welcome').length, 1);
  t.equal(plugin.closed, undefined);
  t.strictSame(refused.errors, ['unknown_platform']);
  t.strictSame(refused.closed, { code: 4502, reason: 'bad_protocol' }, 'its five seconds are over');
  plugin.drop();
  t.equal(gateway.deadlines.size, before + 1, 'only for the source that has left');
});

t.test(
  'a plugin that is silent for the heartbeat window is closed, any frame counts',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    gateway.clock.advance(119_999);
    plugin.say({ type: 'ack', executionId: 'exe_nothing' });
    gateway.clock.advance(119_999);
    plugin.sayText('no frame');
    gateway.clock.advance(60_000);
    plugin.say({ type: 'heartbeat' });
    gateway.clock.stepWall(3_600_000);
    gateway.clock.advance(119_999);
    t.equal(plugin.closed, undefined);
    gateway.clock.advance(1);
    t.strictSame(plugin.closed, { code: 4002, reason: 'heartbeat_missed' });
  },
);

t.test('a plugin that does not read is closed as too slow', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  plugin.isFull = true;
  plugin.say({ type: 'event', seq: 1, event: 'order_update' });
  await turns();
  t.strictSame(plugin.closed, { code: 4003, reason: 'too_slow' });
  t.equal(gateway.registry.connectedCount, 0);
});

t.test('one that is too slow for its own welcome leaves nothing behind', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect();
  plugin.isFull = true;
  plugin.hello();
  t.equal(plugin.closed?.code, 4003);
  t.equal(gateway.registry.connectedCount, 0);
  t.equal(gateway.deadlines.size, 1, 'only the wait for the source to return');
});

t.test('the session’s end is the connection’s end, whatever the wall clock does', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = gateway.connect({ expiresAt: gateway.clock.now() + 90_000 });
  plugin.hello();
  gateway.clock.stepWall(-3_600_000);
  gateway.clock.advance(89_999);
  t.equal(plugin.closed, undefined);
  gateway.clock.advance(1);
  t.strictSame(plugin.closed, { code: 4503, reason: 'session_revoked' });
});

t.test(
  'a revoked session closes the user’s connections, also one that has not said hello',
  async (t) => {
    const gateway = new SimulatedGateway();
    const session = { userId: 'u1', generation: 1, createdAt: 0, expiresAt: 2 ** 45 };
    await gateway.store.write((batch) => {
      batch.put('users', 'u1', user);
      batch.put('users', 'u2', { ...user, userId: 'u2' });
      batch.put('sessions', 'hash', session);
    });
    const plugin = await gateway.plugin();
    const silent = gateway.connect();
    const other = await gateway.plugin({}, 'u2');
    gateway.presence.recheck('u1');
    t.equal(plugin.closed, undefined, 'a valid session stays');
    await gateway.store.write((batch) => {
      batch.put('users', 'u1', { ...user, sessionGeneration: 2 });
    });
    gateway.presence.recheck('u1');
    t.strictSame(plugin.closed, { code: 4503, reason: 'session_revoked' });
    t.equal(silent.closed?.code, 4503);
    t.equal(other.closed, undefined);
  },
);

t.test('a drain asks every plugin to come back', async (t) => {
  const gateway = new SimulatedGateway();
  const plugins = [await gateway.plugin(), await gateway.plugin({ instanceId: 'desk-2' })];
  plugins.push(gateway.connect());
  gateway.presence.drain();
  for (const plugin of plugins) {
    t.strictSame(plugin.closed, { code: 4001, reason: 'server_draining' });
  }
  t.equal(gateway.registry.connectedCount, 0);
});

t.test('after the end nothing is sent, and no deadline of it is left', async (t) => {
  const gateway = new SimulatedGateway();
  const before = gateway.deadlines.size;
  const plugin = gateway.connect();
  plugin.hello();
  plugin.connection.close('server_draining');
  plugin.connection.close('too_slow');
  plugin.connection.closed();
  t.equal(plugin.closed?.code, 4001, 'the first reason stands');
  t.equal(plugin.connection.send({ type: 'ack', seq: 1 }), false);
  t.equal(gateway.deadlines.size, before + 1, 'only the wait for the source to return');
});
