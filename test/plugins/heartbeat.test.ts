/** Heartbeats: the gateway closes a silent plugin, and its source goes stale, then offline. */
import t from 'tap';
import { event } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { openReader } from '../support/event-reader.js';
import { connectPlugin, hello } from '../support/plugin.js';

/** Longer than a busy machine is silent. The tests run at the same time, to wait for it together. */
const heartbeatWindowMs = 12_000;
const gateway = await startTestGateway(t, { limits: { heartbeatWindowMs } });
t.jobs = 4;

t.test('a silent plugin is closed with 4002, and not before its window is over', async (t) => {
  const user = await gateway.user();
  // Taken before the hello, with which the window begins.
  const startedAt = performance.now();
  const plugin = await gateway.plugin(user);
  t.same(await plugin.waitClosed(), { code: 4002, reason: 'heartbeat_missed' });
  const waited = performance.now() - startedAt;
  t.ok(waited >= heartbeatWindowMs, `closed after ${waited} ms`);
});

t.test('any frame is a sign of life', async (t) => {
  const words: Record<string, (seq: number) => object> = {
    heartbeat: () => ({ type: 'heartbeat' }),
    event: (seq) => event(seq),
    ack: () => ({ type: 'ack', executionId: 'exe_nothing' }),
  };
  const speakers = await Promise.all(
    Object.entries(words).map(async ([name, word]) => {
      const plugin = await gateway.plugin(await gateway.user());
      let seq = 0;
      const timer = setInterval(() => plugin.send(word(++seq)), heartbeatWindowMs / 20);
      return { name, plugin, timer };
    }),
  );
  for (let round = 0; round < 2; round++) {
    const silent = await gateway.plugin(await gateway.user());
    t.equal((await silent.waitClosed()).code, 4002);
  }
  for (const { name, plugin, timer } of speakers) {
    t.equal(plugin.closed, undefined, name);
    clearInterval(timer);
    plugin.close();
  }
});

t.test(
  'a plugin that keeps to the welcome’s heartbeatMs stays, however short the window',
  async (t) => {
    const { sessionToken } = await gateway.user();
    const plugin = await connectPlugin(gateway.url, sessionToken);
    plugin.send(hello);
    const { heartbeatMs } = (await plugin.next('welcome')) as unknown as { heartbeatMs: number };
    t.ok(heartbeatMs <= heartbeatWindowMs / 2, `asked for one every ${heartbeatMs} ms`);
    const timer = setInterval(() => plugin.send({ type: 'heartbeat' }), heartbeatMs);
    const silent = await gateway.plugin(await gateway.user());
    await silent.waitClosed();
    t.equal(plugin.closed, undefined);
    clearInterval(timer);
    plugin.close();
  },
);

t.test('online, stale, offline: told to the streams and seen in the list of sources', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const stream = await openReader(gateway.url, user.key);
  t.match(await gateway.sources(user), [
    { ...{ platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' }, connected: true },
  ]);
  plugin.cut();
  const status = async (): Promise<string> => (await stream.next('source_status')).data.data.status;
  t.equal(await status(), 'stale');
  t.match(await gateway.sources(user), [{ connected: false, capabilities: ['submit', 'cancel'] }]);
  t.equal(await status(), 'offline');
  t.same(await gateway.sources(user), []);
  const late = await gateway.submit(user);
  t.match(await gateway.execution(user, late), {
    status: 'denied',
    reasonCode: 'no_active_terminal',
  });

  const back = await gateway.plugin(user);
  t.equal(await status(), 'online');
  const newer = await gateway.plugin(user);
  t.equal(await status(), 'replaced');
  t.equal(await status(), 'online');
  t.equal((await back.waitClosed()).code, 4501);
  stream.close();
  newer.close();
});
