/** A user that sends more than it may, over real sockets. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { limits } from '../../src/limits.js';
import { framesPerUpgrade } from '../../src/plugins/budget.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { connectPlugin, dialPlugin, hello, type Plugin } from '../support/plugin.js';

const framesPerSecond = 100;
const burst = 10 * framesPerSecond;
const connectionsMax = 3;
const gateway = await startTestGateway(t, {
  users: 40,
  limits: {
    pluginFramesPerSecond: framesPerSecond,
    pluginBytesPerSecond: 20_000,
    pluginConnectionsPerUser: connectionsMax,
  },
});

/** @returns the answer to a refused upgrade; undefined if the upgrade succeeds. */
async function refusal(
  sessionToken: string,
): Promise<{ status?: number; retryAfter: number } | undefined> {
  const { socket } = dialPlugin(gateway.url, sessionToken);
  const refused = once(socket, 'unexpected-response') as Promise<[unknown, IncomingMessage]>;
  const [, response] = await Promise.race([refused, once(socket, 'open')]);
  socket.terminate();
  if (response === undefined) return undefined;
  return {
    ...(response.statusCode === undefined ? {} : { status: response.statusCode }),
    retryAfter: Number(response.headers['retry-after']),
  };
}

const floods: Readonly<Record<string, (plugin: Plugin) => void>> = {
  heartbeats: (plugin) => plugin.send({ type: 'heartbeat' }),
  pings: ({ socket }) => socket.ping(),
  pongs: ({ socket }) => socket.pong(),
  'acks of nothing': (plugin) => plugin.send({ type: 'ack', executionId: 'exe_of_nobody' }),
  'large events': (plugin) =>
    plugin.send({ type: 'event', seq: 1, event: 'order_update', rawText: 'x'.repeat(20_000) }),
};

for (const [name, send] of Object.entries(floods)) {
  t.test(`a flood of ${name} ends with 4004, and the user waits before it connects`, async (t) => {
    // A busy machine may upgrade only after the wait of 5 s is over: then another user tries.
    const { status, retryAfter } = await eventually(async () => {
      const user = await gateway.user();
      const plugin = await gateway.plugin(user);
      for (let left = 2 * burst; left > 0 && plugin.isOpen; left--) send(plugin);
      t.same(await plugin.waitClosed(), { code: 4004, reason: 'too_fast' });
      t.equal(plugin.frames.filter(({ type }) => type === 'error').at(-1)?.['code'], 'too_fast');
      return refusal(user.sessionToken);
    });
    t.equal(status, 429);
    t.ok(retryAfter >= 1 && retryAfter <= 5, `Retry-After: ${retryAfter}`);
  });
}

t.test('what came before the excess takes effect', async (t) => {
  const admitted = 10 * limits.pluginFramesPerSecond.value - framesPerUpgrade - 1;
  const roomy = await startTestGateway(t, { users: 1 });
  const user = await roomy.user();
  const plugin = await roomy.plugin(user);
  const event = { type: 'event', event: 'order_update', data: { orderId: 'x'.repeat(64) } };
  for (let seq = 1; seq <= 2 * admitted; seq++) plugin.send({ ...event, seq });
  t.same(await plugin.waitClosed(), { code: 4004, reason: 'too_fast' });
  const back = await eventually(() =>
    connectPlugin(roomy.url, user.sessionToken).catch(() => undefined),
  );
  back.send(hello);
  const { lastSeq } = await back.next('welcome');
  t.ok(lastSeq >= admitted, `lastSeq: ${lastSeq}`);
  back.cut();
});

t.test('a user has so many connections, and another upgrade is refused', async (t) => {
  const user = await gateway.user();
  const plugins = [];
  for (let index = 0; index < connectionsMax; index++) {
    plugins.push(await gateway.plugin(user, { instanceId: `desk-${index}` }));
  }
  t.match(await refusal(user.sessionToken), { status: 429, retryAfter: 10 });
  const other = await gateway.plugin(await gateway.user());
  plugins[0]?.close();
  await plugins[0]?.waitClosed();
  plugins.push(await gateway.plugin(user, { instanceId: 'desk-0' }));
  t.notOk(other.closed);
  for (const plugin of [other, ...plugins]) plugin.cut();
});
