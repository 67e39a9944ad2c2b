/** When a submit frame leaves, when it is sent again, and when it never leaves. */
import { join } from 'node:path';
import t from 'tap';
import { WallClock } from '../harness/time/wall-clock.js';
import { barrier, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { connectPlugin, hello, type Frame, type Plugin } from '../support/plugin.js';
import { socketFolder } from '../support/socket-folder.js';

const clock = new WallClock(join(socketFolder(t), 'clock'));
const gateway = await startTestGateway(t, {
  limits: { executionConfirmTimeoutMs: 600_000 },
  environment: clock.environment,
});

t.test('submits leave in the order of acceptance', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const count = 300;
  const accepted = await Promise.all(
    Array.from({ length: count }, () => gateway.submit(user, { ttlMs: 300_000 })),
  );
  const sent: string[] = [];
  while (sent.length < count) sent.push((await plugin.next('submit'))['requestId']);
  t.same(sent, [...accepted].sort(), 'requestIds grow with acceptance');
  t.equal(new Set(sent).size, count);
  plugin.close();
});

t.test('the order holds over cuts in the middle of acceptance', async (t) => {
  const user = await gateway.user();
  let plugin = await gateway.plugin(user);
  let isAccepting = true;
  const accepting = (async () => {
    const accepted: string[] = [];
    for (let round = 0; round < 20; round++) {
      accepted.push(...(await Promise.all(Array.from({ length: 12 }, () => gateway.submit(user)))));
    }
    isAccepting = false;
    return accepted;
  })();

  const seen: string[] = [];
  const takeIn = async (): Promise<void> => {
    await barrier(plugin);
    for (const { requestId, executionId } of submitsIn(plugin)) {
      if (seen.length % 3 !== 0) plugin.send({ type: 'ack', executionId });
      seen.push(requestId);
    }
    await barrier(plugin);
    seen.push(...submitsIn(plugin).map(({ requestId }) => requestId));
  };
  while (isAccepting) {
    await takeIn();
    plugin.cut();
    plugin = await gateway.plugin(user);
  }
  const accepted = await accepting;
  // What waited for an earlier connection is marked again, and leaves a flush later: a barrier does not wait for that.
  for (let tries = 0; tries < 100 && new Set(seen).size < accepted.length; tries++) await takeIn();
  t.same([...new Set(seen)], [...accepted].sort(), 'each first comes behind all that are older');
  plugin.close();
});

t.test('after a reconnect comes again what was not acknowledged, and nothing else', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const [noted, reported, lost1, rejected, lost2] = [
    await gateway.order(user, plugin),
    await gateway.order(user, plugin),
    await gateway.order(user, plugin),
    await gateway.order(user, plugin),
    await gateway.order(user, plugin),
  ];
  plugin.send({ type: 'ack', executionId: noted.executionId });
  await tell(plugin, report(1, reported.executionId, 'working'));
  await tell(plugin, report(2, rejected.executionId, 'rejected', { reasonCode: 'no_quotes' }));
  plugin.cut();
  const whileAway = await gateway.submit(user);

  const again = await gateway.plugin(user);
  const repeated = [
    await again.next('submit'),
    await again.next('submit'),
    await again.next('submit'),
  ];
  t.same(repeated.slice(0, 2), [lost1.frame, lost2.frame], 'the same frames, oldest first');
  t.equal(repeated[2]?.['requestId'], whileAway);
  await barrier(again);
  t.same(submitsIn(again), []);

  for (const frame of repeated) again.send({ type: 'ack', executionId: frame['executionId'] });
  await barrier(again);
  again.cut();
  const third = await gateway.plugin(user);
  await barrier(third);
  t.same(submitsIn(third), [], 'acknowledged ones never again');
  third.close();
});

t.test('after a crash comes again what was not acknowledged and has not expired', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const [shortMs, longMs] = [60_000, 300_000];
  const noted = await gateway.order(user, plugin);
  const lost = await gateway.order(user, plugin, { ttlMs: longMs });
  const short = await gateway.order(user, plugin, { ttlMs: shortMs });
  plugin.send({ type: 'ack', executionId: noted.executionId });
  await gateway.becomes(user, noted.requestId, 'submitted');
  plugin.cut();
  const neverSent = await gateway.submit(user, { ttlMs: longMs });
  const expiring = await gateway.submit(user, { ttlMs: shortMs });

  await gateway.process.kill();
  clock.begin(shortMs);
  await gateway.start();
  await gateway.becomes(user, expiring, 'expired');
  const again = await gateway.plugin(user);
  t.same(await again.next('submit'), lost.frame, 'the same frame over the crash');
  t.equal((await again.next('submit'))['requestId'], neverSent);
  await barrier(again);
  t.same(submitsIn(again), []);
  t.match(await gateway.execution(user, short.requestId), {
    status: 'dispatched',
    delivery: 'sent',
  });
  t.match(await gateway.execution(user, expiring), {
    status: 'expired',
    reasonCode: 'ttl_expired',
    delivery: 'not_sent',
    dispatchedAt: null,
  });
  again.close();
  await clock.set(0);
});

t.test('nothing is sent after ts + ttlMs, whatever became of it before', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  // Longer than a busy machine takes to accept both orders.
  const leftMs = 12_000;
  const unacknowledged = await gateway.order(user, plugin, { ttlMs: leftMs });
  plugin.cut();
  const waiting = await gateway.submit(user, { ts: Date.now() - 48_000, ttlMs: 48_000 + leftMs });
  await gateway.becomes(user, waiting, 'expired');
  await eventually(() => Date.now() > Date.parse(unacknowledged.frame['expiresAt']));
  const again = await gateway.plugin(user);
  await barrier(again);
  t.same(submitsIn(again), []);
  t.match(await gateway.execution(user, waiting), {
    reasonCode: 'ttl_expired',
    delivery: 'not_sent',
  });
  again.close();
});

t.test('a backlog larger than the outgoing buffer arrives whole and in order', async (t) => {
  const user = await gateway.user();
  (await gateway.plugin(user)).cut();
  const count = 240;
  const payload = { note: 'x'.repeat(60_000) };
  const accepted: string[] = [];
  while (accepted.length < count) {
    const wave = Array.from({ length: 12 }, () =>
      gateway.submit(user, { payload, ttlMs: 300_000 }),
    );
    accepted.push(...(await Promise.all(wave)));
  }
  const back = await connectPlugin(gateway.url, user.sessionToken);
  back.send(hello);
  // A busy terminal: it reads nothing until the gateway has begun to send.
  back.socket.pause();
  await gateway.becomes(user, accepted[0] as string, 'dispatched');
  back.socket.resume();
  const seen: string[] = [];
  while (seen.length < count) {
    const { requestId, executionId } = await back.next('submit');
    seen.push(requestId);
    back.send({ type: 'ack', executionId });
    if (seen.length === count / 2) accepted.push(await gateway.submit(user));
  }
  seen.push((await back.next('submit'))['requestId']);
  t.same(seen, [...accepted].sort());
  t.equal(back.closed, undefined);
  back.close();
});

t.test('of a crowd that connects as one source exactly one stays', async (t) => {
  const user = await gateway.user();
  const crowd = await Promise.all(
    Array.from({ length: 12 }, () => gateway.plugin(user).catch(() => undefined)),
  );
  const plugins = crowd.filter((plugin) => plugin !== undefined);
  await eventually(() => plugins.filter(({ closed }) => closed === undefined).length === 1);
  const survivor = plugins.find(({ closed }) => closed === undefined);
  t.ok(survivor !== undefined && (await gateway.order(user, survivor)));
  for (const { closed } of plugins) t.ok(closed === undefined || closed.code === 4501);
  survivor?.close();
});

/** Takes the submits that have come out of the plugin's frames. */
function submitsIn(plugin: Plugin): Frame[] {
  const submits = plugin.frames.filter(({ type }) => type === 'submit');
  plugin.frames.length = 0;
  return submits;
}
