/** How a plugin's connection ends, and that it ends at once. */
import t from 'tap';
import { memoryBytes } from '../../bench/measure/memory.js';
import { bearer, call, createKey, login } from '../support/api.js';
import { acknowledged, event, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader } from '../support/event-reader.js';
import { connectPlugin, openPlugin } from '../support/plugin.js';

/** One test fills a buffer with more frames than the shipped limits allow. */
const gateway = await startTestGateway(t, { limits: { pluginFramesPerSecond: 1_000_000 } });

t.test('a revoked session closes all of the user’s connections with 4503 at once', async (t) => {
  const user = await gateway.user();
  const other = await gateway.plugin(await gateway.user());
  const plugins = [
    await gateway.plugin(user),
    await gateway.plugin(user, { instanceId: 'desk-2' }),
    await connectPlugin(gateway.url, user.sessionToken),
  ];
  await gateway.command('session', 'revoke', user.email);
  for (const plugin of plugins) {
    t.same(await plugin.waitClosed(), { code: 4503, reason: 'session_revoked' });
  }
  await t.rejects(connectPlugin(gateway.url, user.sessionToken), /401/);
  t.equal(other.closed, undefined, 'nobody else is touched');
  const { sessionToken } = await login(gateway.url, user.email);
  const back = await openPlugin(gateway.url, sessionToken);
  back.close();
  other.close();
});

t.test('a deleted user loses everything at once', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const unspoken = await connectPlugin(gateway.url, user.sessionToken);
  const order = await gateway.order(user, plugin);
  const stream = await openReader(gateway.url, user.key);
  await gateway.command('user', 'delete', user.email);
  t.equal((await plugin.waitClosed()).code, 4503);
  t.equal((await unspoken.waitClosed()).code, 4503);
  t.equal(await stream.waitEnd(), 'properly');

  const read = `/api/v1/signals/${order.requestId}`;
  t.equal((await call(gateway.url, 'GET', read, { headers: bearer(user.key) })).status, 401);
  t.equal(
    (await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(user.token) })).status,
    401,
  );
  await t.rejects(createKey(gateway.url, user.token), /401/);
  await t.rejects(login(gateway.url, user.email), /401/);
  await t.rejects(connectPlugin(gateway.url, user.sessionToken), /401/);
});

t.test('a plugin that stops reading is closed with 4003, and costs bounded memory', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  // A user's frames are handled in order: an answer to the pacer shows that all frames before are handled.
  const pacer = await gateway.plugin(user, { instanceId: 'pacer' });
  const before = memoryBytes(gateway.process.process.pid as number, 'own');
  plugin.socket.pause();
  // Each of these small frames is answered with a longer one, which nobody reads.
  const word = JSON.stringify({ type: 'ack', executionId: 'exe_nothing' });
  let sent = 0;
  do {
    for (let count = 0; count < 10_000; count++) plugin.send(word);
    sent += 10_000;
    await eventually(() => plugin.socket.bufferedAmount === 0);
    await tell(pacer, event(sent));
  } while (await isConnected(user.key));
  const grown = memoryBytes(gateway.process.process.pid as number, 'own') - before;
  t.ok(grown < 64 * 1024 * 1024, `${Math.round(grown / 1e6)} MB more after ${sent} frames`);
  plugin.socket.resume();
  t.same(await plugin.waitClosed(), { code: 4003, reason: 'too_slow' });
  const back = await gateway.plugin(user);
  back.send(event(1));
  await acknowledged(back, 1);
  back.close();
  pacer.close();
});

t.test('at shutdown plugins are told to come back later, and the exit code is 0', async (t) => {
  const user = await gateway.user();
  const plugins = [
    await gateway.plugin(user),
    await gateway.plugin(user, { instanceId: 'desk-2' }),
    await connectPlugin(gateway.url, user.sessionToken),
  ];
  const exit = gateway.process.stop();
  for (const plugin of plugins) {
    t.same(await plugin.waitClosed(), { code: 4001, reason: 'server_draining' });
  }
  t.equal(await exit, 0);
});

async function isConnected(key: string): Promise<boolean> {
  const answer = await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', {
    headers: bearer(key),
  });
  return answer.body.sources.some(
    (source: { instanceId: string; connected: boolean }) =>
      source.instanceId === 'desk-1' && source.connected,
  );
}
