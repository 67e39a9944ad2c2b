/** SIGTERM in the middle of the day's work: the process ends in time and nothing accepted is lost. */
import { once } from 'node:events';
import t from 'tap';
import { signal, submit } from '../../support/api.js';
import { openDesk, report, tell, type Trader } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import { openReader } from '../../support/event-reader.js';
import type { Plugin } from '../../support/plugin.js';
import { RawClient } from '../../support/raw-client.js';

const desk = await openDesk(t);

interface Accepted {
  readonly body: string;
  readonly idempotencyKey: string;
  readonly answer: string;
  readonly requestId: string;
}

/** Posts signals, several at a time, until the gateway takes none any more. */
async function postUntilGone(trader: Trader, accepted: Accepted[]): Promise<void> {
  for (let posted = 0; ; posted++) {
    const body = JSON.stringify(signal({ ttlMs: 300_000 }));
    const idempotencyKey = `load-${trader.email}-${accepted.length}-${posted}`;
    try {
      const answer = await submit(desk.url, trader.key, body, idempotencyKey);
      if (answer.status !== 202) return;
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
    const traders = [await desk.trader(), await desk.trader(), await desk.trader()];
    const plugins = await Promise.all(traders.map((trader) => desk.plugin(trader)));
    plugins.forEach(work);
    const readers = await Promise.all(traders.map(({ key }) => openReader(desk.url, key)));
    const accepted = new Map<Trader, Accepted[]>(traders.map((trader) => [trader, []]));
    const posting = [...accepted].flatMap(([trader, list]) =>
      Array.from({ length: 6 }, () => postUntilGone(trader, list)),
    );
    await eventually(() => [...accepted.values()].every((list) => list.length > 60));

    const exited = once(desk.gateway.process, 'exit');
    desk.gateway.process.kill(stop);
    t.same(await exited, [0, null]);
    await Promise.all(posting);
    for (const plugin of plugins) {
      t.match(await plugin.waitClosed(), { code: 4001, reason: 'server_draining' });
    }
    for (const reader of readers) t.equal(await reader.waitEnd(), 'properly');

    await desk.restart('SIGTERM');
    for (const [trader, list] of accepted) {
      const plugin = await desk.plugin(trader);
      for (const { body, idempotencyKey, answer, requestId } of list) {
        const replay = await submit(desk.url, trader.key, body, idempotencyKey);
        if (replay.text !== answer) t.equal(replay.text, answer, 'replayed byte for byte');
        if (replay.headers.get('idempotent-replayed') !== 'true') t.fail('not a replay');
        const { status } = await desk.execution(trader, requestId);
        if (status === 'denied' || status === 'expired') t.fail(`${requestId} is ${status}`);
      }
      t.pass(`${list.length} requests are as they were`);
      plugin.cut();
    }
  });
}

t.test('what a plugin was told is durable is so after SIGTERM', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const orders = [];
  for (let count = 0; count < 20; count++) orders.push(await desk.order(trader, plugin));
  for (const [index, { executionId }] of orders.entries()) {
    await tell(plugin, report(index + 1, executionId, 'filled'));
  }
  await desk.restart('SIGTERM');
  for (const { requestId } of orders) {
    t.equal((await desk.execution(trader, requestId)).status, 'filled');
  }
});

t.test('while it drains, a new request on an open connection gets 503 shutting_down', async (t) => {
  const trader = await desk.trader();
  const body = JSON.stringify(signal());
  const [late, next] = await Promise.all([
    RawClient.connect(desk.url),
    RawClient.connect(desk.url),
  ]);
  const head = (length: number): string =>
    `POST /api/v1/signals HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${trader.key}\r\n` +
    `Content-Type: application/json\r\nIdempotency-Key: drain-${length}\r\nContent-Length: ${length}\r\n\r\n`;
  // A request whose body is still to come keeps the gateway draining.
  await late.send(head(body.length) + body.slice(0, 10));
  const read = 'GET /api/v1/terminal-events/sources HTTP/1.1\r\nHost: gateway\r\n\r\n';
  await next.send(read);
  t.match(await next.answer(), { status: 401 }, 'by then the first head has been read');
  desk.gateway.process.kill('SIGTERM');
  await eventually(() => desk.gateway.log().includes('draining'));

  await next.send(read);
  const refused = await next.answer();
  t.match(refused, { status: 503, headers: { 'retry-after': ['1'], connection: ['close'] } });
  t.match(JSON.parse(refused?.body ?? ''), { error: { code: 'shutting_down' } });

  await late.send(body.slice(10));
  t.match(await late.answer(), { status: 202 }, 'what was under way gets its answer');
  await desk.restart('SIGTERM');
});
