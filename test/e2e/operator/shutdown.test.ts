/** SIGTERM in the middle of the day's work: the process ends in time and nothing accepted is lost. */
import { once } from 'node:events';
import t from 'tap';
import { codeOf, signal, submitOnce } from '../../support/api.js';
import { report, tell } from '../../support/frames.js';
import { startTestGateway, type TestUser } from '../../support/gateway.js';
import { eventually } from '../../support/eventually.js';
import { openReader } from '../../support/event-reader.js';
import type { Plugin } from '../../support/plugin.js';
import { RawClient } from '../../support/raw-client.js';

const gateway = await startTestGateway(t);

interface Accepted {
  readonly body: string;
  readonly idempotencyKey: string;
  readonly answer: string;
  readonly requestId: string;
}

/** Posts signals, several at a time, until the gateway takes none any more. */
async function postUntilGone(user: TestUser, accepted: Accepted[]): Promise<void> {
  for (let posted = 0; ; posted++) {
    const body = JSON.stringify(signal({ ttlMs: 300_000 }));
    const idempotencyKey = `load-${user.email}-${accepted.length}-${posted}`;
    try {
      const answer = await submitOnce(gateway.url, user.key, body, idempotencyKey);
      if (codeOf(answer) === 'shutting_down') return;
      if (answer.status !== 202) continue;
      accepted.push({
        body,
        idempotencyKey,
        answer: answer.text,
        requestId: answer.body.requestId,
      });
    } catch {
      return;
    }
  }
}

/** Acknowledges and fills what comes, as fast as it comes. */
function work(plugin: Plugin): void {
  let seq = 0;
  plugin.socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString());
    if (frame.type !== 'submit' || plugin.socket.readyState !== plugin.socket.OPEN) return;
    plugin.send({ type: 'ack', executionId: frame.executionId });
    plugin.send(report(++seq, frame.executionId, 'working'));
    plugin.send({
      type: 'event',
      seq: ++seq,
      event: 'order_update',
      executionId: frame.executionId,
    });
  });
}

for (const stop of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${stop} under load: exit 0, and every 202 is kept`, async (t) => {
    const users = [await gateway.user(), await gateway.user(), await gateway.user()];
    const plugins = await Promise.all(users.map((user) => gateway.plugin(user)));
    plugins.forEach(work);
    const readers = await Promise.all(users.map(({ key }) => openReader(gateway.url, key)));
    const accepted = new Map<TestUser, Accepted[]>(users.map((user) => [user, []]));
    const posting = [...accepted].flatMap(([user, list]) =>
      Array.from({ length: 6 }, () => postUntilGone(user, list)),
    );
    await eventually(() => [...accepted.values()].every((list) => list.length > 60));

    const exited = once(gateway.process.process, 'exit');
    gateway.process.process.kill(stop);
    t.same(await exited, [0, null]);
    await Promise.all(posting);
    for (const plugin of plugins) {
      t.match(await plugin.waitClosed(), { code: 4001, reason: 'server_draining' });
    }
    for (const reader of readers) t.equal(await reader.waitEnd(), 'properly');

    await gateway.restart('SIGTERM');
    for (const [user, list] of accepted) {
      const plugin = await gateway.plugin(user);
      for (const { body, idempotencyKey, answer, requestId } of list) {
        const replay = await submitOnce(gateway.url, user.key, body, idempotencyKey);
        if (replay.text !== answer) t.equal(replay.text, answer, 'replayed byte for byte');
        if (replay.headers.get('idempotent-replayed') !== 'true') t.fail('not a replay');
        const { status } = await gateway.execution(user, requestId);
        if (status === 'denied' || status === 'expired') t.fail(`${requestId} is ${status}`);
      }
      t.pass(`${list.length} requests are as they were`);
      plugin.cut();
    }
  });
}

t.test('what a plugin was told is durable is so after SIGTERM', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const orders = [];
  for (let count = 0; count < 20; count++) orders.push(await gateway.order(user, plugin));
  for (const [index, { executionId }] of orders.entries()) {
    await tell(plugin, report(index + 1, executionId, 'filled'));
  }
  await gateway.restart('SIGTERM');
  for (const { requestId } of orders) {
    t.equal((await gateway.execution(user, requestId)).status, 'filled');
  }
});

t.test('while it drains, a new request on an open connection gets 503 shutting_down', async (t) => {
  const user = await gateway.user();
  const body = JSON.stringify(signal());
  const [late, next] = await Promise.all([
    RawClient.connect(gateway.url),
    RawClient.connect(gateway.url),
  ]);
  const head = (length: number): string =>
    `POST /api/v1/signals HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${user.key}\r\n` +
    `Content-Type: application/json\r\nIdempotency-Key: drain-${length}\r\nContent-Length: ${length}\r\n\r\n`;
  // A request whose body is still to come keeps the gateway draining.
  await late.send(head(body.length) + body.slice(0, 10));
  const read = 'GET /api/v1/terminal-events/sources HTTP/1.1\r\nHost: gateway\r\n\r\n';
  await next.send(read);
  t.match(await next.answer(), { status: 401 }, 'by then the first head has been read');
  gateway.process.process.kill('SIGTERM');
  await eventually(() => gateway.process.log().includes('draining'));

  await next.send(read);
  const refused = await next.answer();
  t.match(refused, { status: 503, headers: { 'retry-after': ['1'], connection: ['close'] } });
  t.match(JSON.parse(refused?.body ?? ''), { error: { code: 'shutting_down' } });

  await late.send(body.slice(10));
  t.match(await late.answer(), { status: 202 }, 'what was under way gets its answer');
  await gateway.restart('SIGTERM');
});
