/** The hello of a plugin, and what the gateway answers. */
import t from 'tap';
import { event, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { connectPlugin, hello } from '../support/plugin.js';

const gateway = await startTestGateway(t);

t.test('who says no hello within 5 seconds is closed', async (t) => {
  const { sessionToken } = await gateway.user();
  const startedAt = performance.now();
  const plugin = await connectPlugin(gateway.url, sessionToken);
  t.equal((await plugin.waitClosed()).code, 4502);
  const waited = performance.now() - startedAt;
  t.ok(waited >= 4_990, `closed after ${waited} ms`);
});

t.test('hello must be the first frame', async (t) => {
  const { sessionToken } = await gateway.user();
  const plugin = await connectPlugin(gateway.url, sessionToken);
  plugin.send(event(1));
  await plugin.next('error', { code: 'hello_expected' });
  plugin.send(hello);
  await plugin.next('welcome');
  t.equal(plugin.frames.length, 0, 'what came before hello is not acknowledged');
  plugin.close();
});

t.test('welcome tells connection, heartbeat, time and the last seq', async (t) => {
  const user = await gateway.user();
  const first = await connectPlugin(gateway.url, user.sessionToken);
  first.send(hello);
  const welcome = await first.next('welcome');
  t.same(Object.keys(welcome).sort(), [
    'connectionId',
    'heartbeatMs',
    'lastSeq',
    'outgoingQueue',
    'serverTime',
    'type',
  ]);
  t.equal(welcome['heartbeatMs'], 30_000);
  t.equal(welcome['lastSeq'], 0, 'a source without a past');
  t.equal(new Date(welcome['serverTime']).toISOString(), welcome['serverTime']);
  t.ok(Math.abs(Date.parse(welcome['serverTime']) - Date.now()) < 60_000);
  await tell(first, event(7));
  first.cut();

  const second = await connectPlugin(gateway.url, user.sessionToken);
  second.send(hello);
  const again = await second.next('welcome');
  t.equal(again['lastSeq'], 7, 'continues after a reconnect');
  t.not(again['connectionId'], welcome['connectionId']);
  second.close();
});

t.test('a second hello is refused and changes nothing', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  plugin.send({ ...hello, instanceId: 'desk-2' });
  await plugin.next('error', { code: 'hello_repeated' });
  await tell(plugin, event(1));
  const sources = await gateway.sources(user);
  t.same(
    sources.map((source) => source.instanceId),
    ['desk-1'],
  );
  plugin.close();
});

t.test('an unknown platform and a wrong form of account are refused by name', async (t) => {
  const user = await gateway.user();
  const plugin = await connectPlugin(gateway.url, user.sessionToken);
  plugin.send({ ...hello, platform: 'terminal_z' });
  await plugin.next('error', { code: 'unknown_platform' });
  plugin.send({ ...hello, platform: 'terminal_b', accountName: 'Sim101' });
  await plugin.next('error', { code: 'invalid_account' });
  plugin.send({ ...hello, platform: 'terminal_b', accountName: '12345@Broker-Demo' });
  await plugin.next('welcome');
  t.same(
    (await gateway.sources(user)).map(({ platform, accountName }) => [platform, accountName]),
    [['terminal_b', '12345@Broker-Demo']],
  );
  plugin.close();

  for (const accountName of ['@Broker', '12345@', '12345', 'a@b@c', '12 345@Broker']) {
    const other = await connectPlugin(gateway.url, user.sessionToken);
    other.send({ ...hello, platform: 'terminal_b', accountName });
    await other.next('error', { code: 'invalid_account' });
    other.cut();
  }
});

const bounds: Record<string, { fields: object; isTaken: boolean }> = {
  'an empty instanceId': { fields: { instanceId: '' }, isTaken: true },
  'an instanceId of 128': { fields: { instanceId: 'i'.repeat(128) }, isTaken: true },
  'an instanceId of 129': { fields: { instanceId: 'i'.repeat(129) }, isTaken: false },
  'an accountName of 128': { fields: { accountName: 'a'.repeat(128) }, isTaken: true },
  'an accountName of 129': { fields: { accountName: 'a'.repeat(129) }, isTaken: false },
  'an empty accountName': { fields: { accountName: '' }, isTaken: false },
  'a null instanceId': { fields: { instanceId: null }, isTaken: false },
  'no capabilities': { fields: { capabilities: [] }, isTaken: true },
  'an unknown capability': { fields: { capabilities: ['fly'] }, isTaken: false },
  'no software': { fields: { software: undefined }, isTaken: true },
  'null for software': { fields: { software: null }, isTaken: false },
  'fields of tomorrow': { fields: { colour: 'green', nested: { a: [1] } }, isTaken: true },
  'executions of a wrong kind': { fields: { executions: [{ executionId: 'x' }] }, isTaken: false },
};

t.test('the fields of hello keep to their bounds', async (t) => {
  const { sessionToken } = await gateway.user();
  for (const [name, { fields, isTaken }] of Object.entries(bounds)) {
    const plugin = await connectPlugin(gateway.url, sessionToken);
    plugin.send({ ...hello, ...fields });
    const answer = await (isTaken
      ? plugin.next('welcome')
      : plugin.next('error', { code: 'invalid_frame' }));
    t.ok(answer, name);
    plugin.cut();
  }
});
