/** POST /api/v1/orders/{orderRef}/cancel: its answer, its errors in order, and its idempotency. */
import t from 'tap';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  createKey,
  get,
  signal,
  status,
  submit,
  verdict,
} from '../support/api.js';
import { openPlugin, type Plugin } from '../support/plugin.js';
import { rawCall } from '../support/raw-client.js';
import { until } from '../support/eventually.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';

const cancelsPerOrder = 4;
const gateway = await startTestGateway(t, { limits: { cancelsPerOrder } });
let keys = 0;

interface Order {
  readonly requestId: string;
  readonly signalId: string;
  readonly executionId: string;
  readonly orderRef: string;
}

interface Desk {
  readonly user: TestUser;
  readonly plugin: Plugin;
  /** The next report's number. */
  seq: number;
}

function cancel(
  user: { key: string },
  orderRef: string,
  options: { key?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Answer> {
  const headers = {
    ...bearer(user.key),
    'idempotency-key': options.key ?? `c${++keys}`,
    ...options.headers,
  };
  return call(gateway.url, 'POST', `/api/v1/orders/${orderRef}/cancel`, {
    headers,
    ...(options.body === undefined ? {} : { body: options.body }),
  });
}

async function openDesk(capabilities: string[] = ['submit', 'cancel']): Promise<Desk> {
  const user = await gateway.user();
  const plugin = await openPlugin(gateway.url, user.sessionToken, { capabilities });
  t.teardown(() => plugin.close());
  return { user, plugin, seq: 1 };
}

/** Places an order, and waits until it has this status. */
async function place(desk: Desk, wanted = 'working', fields: object = {}): Promise<Order> {
  const { requestId, signalId } = (await submit(gateway.url, desk.user.key, signal(fields))).body;
  const { executionId, orderRef } = await desk.plugin.next('submit', { requestId });
  if (wanted !== 'dispatched') await report(desk, { requestId, executionId }, wanted);
  return { requestId, signalId, executionId, orderRef };
}

async function report(
  desk: Desk,
  order: { requestId: string; executionId: string },
  wanted: string,
): Promise<void> {
  desk.plugin.send({
    type: 'report',
    seq: desk.seq++,
    executionId: order.executionId,
    status: wanted,
  });
  await until(
    () => status(gateway.url, desk.user.key, order.requestId),
    ({ body }) => body.executions[0].status === wanted,
  );
}

async function reportCancel(
  desk: Desk,
  order: Order,
  cancelRequestId: string,
  wanted: string,
): Promise<void> {
  desk.plugin.send({ type: 'cancel_report', seq: desk.seq++, cancelRequestId, status: wanted });
  await until(
    () => cancelOf(desk, order),
    (found) => found?.status === wanted,
  );
}

/** Closes the terminal, and waits until the gateway counts it as disconnected. */
async function leave({ user, plugin }: Desk): Promise<void> {
  plugin.close();
  await until(
    () => get(gateway.url, '/api/v1/terminal-events/sources', user.key),
    ({ body }) => body.sources.every(({ connected }: { connected: boolean }) => !connected),
  );
}

async function cancelOf(desk: Desk, order: Order): Promise<any> {
  return (await status(gateway.url, desk.user.key, order.requestId)).body.executions[0].cancel;
}

t.test(
  '202 tells the cancel, the terminal gets it, and its outcome is in the signal’s status',
  async (t) => {
    const desk = await openDesk();
    const order = await place(desk);
    t.equal(await cancelOf(desk, order), null);
    const answer = await cancel(desk.user, order.orderRef);
    t.equal(answer.status, 202);
    t.same(Object.keys(answer.body), [
      'cancelRequestId',
      'orderRef',
      'executionId',
      'requestId',
      'signalId',
      'status',
      'requestedAt',
    ]);
    const { cancelRequestId, requestedAt, ...rest } = answer.body;
    t.same(rest, { ...order, status: 'requested' });
    t.match(requestedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.match(answer.headers.get('ratelimit'), /^"key";r=/);

    const frame = await desk.plugin.next('cancel');
    t.same(frame, {
      type: 'cancel',
      cancelRequestId,
      executionId: order.executionId,
      orderRef: order.orderRef,
    });
    const shown = await until(
      () => cancelOf(desk, order),
      (found) => found.status === 'dispatched',
    );
    t.same(Object.keys(shown), [
      'cancelRequestId',
      'status',
      'reasonCode',
      'requestedAt',
      'updatedAt',
    ]);
    t.match(shown, { cancelRequestId, reasonCode: null, requestedAt });
    await reportCancel(desk, order, cancelRequestId, 'pending');
    await reportCancel(desk, order, cancelRequestId, 'cancelled');
  },
);

t.test('the Idempotency-Key is exactly one valid header', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  // oxfmt-ignore
  const bad: string[][] = [[], ['Idempotency-Key:'], ['Idempotency-Key: a', 'Idempotency-Key: a'], [`Idempotency-Key: ${'k'.repeat(129)}`], ['Idempotency-Key: a\x7f']];
  for (const lines of bad) {
    const path = `/api/v1/orders/${order.orderRef}/cancel`;
    const answer = await rawCall(gateway.url, 'POST', path, [
      `Authorization: Bearer ${desk.user.key}`,
      ...lines,
    ]);
    t.equal(answer?.status, 400, JSON.stringify(lines).slice(0, 50));
    t.match(answer?.body, 'invalid_idempotency_key');
  }
  t.equal(await cancelOf(desk, order), null);
});

t.test('404 for an orderRef that is unknown, foreign or malformed', async (t) => {
  const desk = await openDesk();
  const stranger = await openDesk();
  const order = await place(desk);
  const foreign = await cancel(stranger.user, order.orderRef);
  t.equal(verdict(foreign), '404 order_not_found');
  t.same(Object.keys(foreign.body), ['error'], 'nothing tells that it exists');
  // oxfmt-ignore
  const refs = [order.executionId, order.requestId, order.signalId, order.orderRef.slice(0, -1), `${order.orderRef}0`, order.orderRef.replace(/_0$/, '_1'),
    order.orderRef.toLowerCase(), `${order.orderRef}%20`, 'ord_', 'x', '%00', '%zz', '__proto__', 'x'.repeat(1_000)];
  for (const ref of refs)
    t.equal(verdict(await cancel(desk.user, ref)), '404 order_not_found', ref.slice(0, 40));
});

t.test('a command that is no order cannot be cancelled by any reference', async (t) => {
  const desk = await openDesk();
  const order = await place(desk, 'working', { type: 'position', cmd: 'close' });
  t.equal(order.orderRef, undefined);
  t.equal(
    verdict(await cancel(desk.user, order.executionId.replace('exe_', 'ord_'))),
    '404 order_not_found',
  );
});

t.test(
  'an order is cancellable while submitted, working, partially filled or unknown, and not otherwise',
  async (t) => {
    const desk = await openDesk();
    for (const wanted of ['submitted', 'working', 'partially_filled', 'unknown']) {
      const order = await place(desk, wanted);
      t.equal((await cancel(desk.user, order.orderRef)).status, 202, wanted);
    }
    for (const wanted of [
      'dispatched',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
    ]) {
      const order = await place(desk, wanted);
      const answer = await cancel(desk.user, order.orderRef);
      t.equal(verdict(answer), '409 order_not_cancellable', wanted);
      t.equal(answer.body.requestId, order.requestId, 'the request that was found is told');
    }
    const denied = (await submit(gateway.url, desk.user.key, signal({ platform: 'terminal_b' })))
      .body;
    const { body } = await status(gateway.url, desk.user.key, denied.requestId);
    t.equal(
      codeOf(await cancel(desk.user, body.executions[0].orderRef)),
      'order_not_cancellable',
      'denied',
    );
  },
);

t.test('one cancel at a time; a new one after rejected, not_sent or unknown', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const first = await cancel(desk.user, order.orderRef);
  t.equal(
    codeOf(await cancel(desk.user, order.orderRef)),
    'cancel_already_in_progress',
    'requested or dispatched',
  );
  await desk.plugin.next('cancel');
  await reportCancel(desk, order, first.body.cancelRequestId, 'pending');
  const busy = await cancel(desk.user, order.orderRef);
  t.equal(verdict(busy), '409 cancel_already_in_progress');
  t.equal(busy.body.requestId, order.requestId);
  let latest = first.body.cancelRequestId;
  for (const ending of ['rejected', 'unknown']) {
    await reportCancel(desk, order, latest, ending);
    const next = await cancel(desk.user, order.orderRef);
    t.equal(next.status, 202, `after ${ending}`);
    t.not(next.body.cancelRequestId, latest);
    latest = next.body.cancelRequestId;
  }
});

t.test('an order is cancelled cancelsPerOrder times at most', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  for (let attempt = 1; attempt <= cancelsPerOrder; attempt++) {
    const { status, body } = await cancel(desk.user, order.orderRef);
    t.equal(status, 202);
    await reportCancel(desk, order, body.cancelRequestId, 'rejected');
  }
  const beyond = await cancel(desk.user, order.orderRef);
  t.equal(verdict(beyond), '409 order_not_cancellable');
});

t.test('of many cancels at once one is accepted', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => cancel(desk.user, order.orderRef)),
  );
  t.equal(answers.filter(({ status }) => status === 202).length, 1);
  t.ok(
    answers.every(
      (answer) => answer.status === 202 || codeOf(answer) === 'cancel_already_in_progress',
    ),
  );
  const { cancelRequestId } = await desk.plugin.next('cancel');
  await reportCancel(desk, order, String(cancelRequestId), 'rejected');
  t.equal(desk.plugin.frames.filter(({ type }) => type === 'cancel').length, 0, 'one frame');
});

t.test('a target that is not connected, or cannot cancel, is unavailable', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  await leave(desk);
  const answer = await cancel(desk.user, order.orderRef);
  t.equal(verdict(answer), '409 terminal_unavailable');
  t.equal(answer.body.requestId, order.requestId);

  const unable = await openDesk(['submit']);
  const other = await place(unable);
  t.equal(verdict(await cancel(unable.user, other.orderRef)), '409 terminal_unavailable');
  t.equal(await cancelOf(unable, other), null, 'nothing is queued');
});

t.test('the checks come in the contract’s order, each pair proved', async (t) => {
  const desk = await openDesk();
  const gone = await openDesk();
  const order = await place(desk);
  const filled = await place(desk, 'filled');
  const lost = await place(gone, 'working');
  const lostFilled = await place(gone, 'filled');
  await submit(gateway.url, desk.user.key, signal(), 'used');
  await submit(gateway.url, gone.user.key, signal(), 'used');
  await leave(gone);

  const bad = 'k'.repeat(129);
  t.equal(
    codeOf(await cancel(desk.user, 'ord_x', { key: bad })),
    'invalid_idempotency_key',
    'key before order',
  );
  t.equal(
    codeOf(await cancel(desk.user, 'ord_x', { key: 'used' })),
    'order_not_found',
    'order before look-up',
  );
  t.equal(
    codeOf(await cancel(desk.user, filled.orderRef, { key: 'used' })),
    'idempotency_conflict',
    'look-up before state',
  );
  t.equal(
    codeOf(await cancel(gone.user, lost.orderRef, { key: 'used' })),
    'idempotency_conflict',
    'look-up before target',
  );
  t.equal(
    codeOf(await cancel(gone.user, lostFilled.orderRef)),
    'order_not_cancellable',
    'state before target',
  );
  t.equal((await cancel(desk.user, order.orderRef)).status, 202);
  await report(desk, order, 'filled');
  t.equal(
    codeOf(await cancel(desk.user, order.orderRef)),
    'order_not_cancellable',
    'state before an earlier cancel',
  );
  t.equal(
    codeOf(await cancel(desk.user, 'ord_x', { body: 'x'.repeat(66_000), key: bad })),
    'invalid_idempotency_key',
  );
});

t.test('an earlier cancel in progress is told before an unavailable target', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const { cancelRequestId } = (await cancel(desk.user, order.orderRef)).body;
  await desk.plugin.next('cancel');
  await reportCancel(desk, order, cancelRequestId, 'pending');
  await leave(desk);
  t.equal(codeOf(await cancel(desk.user, order.orderRef)), 'cancel_already_in_progress');
});

t.test('a retry gets the stored answer byte for byte, whatever happened since', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const first = await cancel(desk.user, order.orderRef, { key: 'again' });
  const second = await createKey(gateway.url, desk.user.token);
  const expectSame = async (name: string, options: object = {}) => {
    const again = await cancel(desk.user, order.orderRef, { key: 'again', ...options });
    t.equal(again.status, 202, name);
    t.equal(again.text, first.text, name);
    t.equal(again.headers.get('idempotent-replayed'), 'true', name);
  };
  await expectSame('at once');
  await expectSame('with another body', { body: '{"other":true}' });
  t.equal(
    (await cancel(second, order.orderRef, { key: 'again' })).text,
    first.text,
    'by another key of the user',
  );
  await desk.plugin.next('cancel');
  t.notOk(
    desk.plugin.frames.some(({ type }) => type === 'cancel'),
    'it was sent once',
  );
  await reportCancel(desk, order, first.body.cancelRequestId, 'cancelled');
  await expectSame('after its end');
  await leave(desk);
  await expectSame('with the terminal gone');
  await gateway.process.kill();
  await gateway.start();
  await expectSame('after a kill');
  const other = await openDesk();
  const foreign = await place(other);
  t.equal(
    (await cancel(other.user, foreign.orderRef, { key: 'again' })).status,
    202,
    'another user’s key is another one',
  );
});

t.test('the same key for another order, or for a signal, is a conflict', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const other = await place(desk);
  t.equal((await cancel(desk.user, order.orderRef, { key: 'mine' })).status, 202);
  t.equal(codeOf(await cancel(desk.user, other.orderRef, { key: 'mine' })), 'idempotency_conflict');
  t.equal(
    codeOf(await submit(gateway.url, desk.user.key, signal(), 'mine')),
    'idempotency_conflict',
  );
  t.equal(await cancelOf(desk, other), null);
});

t.test('a refused cancel leaves its key free', async (t) => {
  const desk = await openDesk(['submit']);
  const order = await place(desk);
  const filled = await place(desk, 'filled');
  t.equal(codeOf(await cancel(desk.user, order.orderRef, { key: 'free' })), 'terminal_unavailable');
  t.equal(
    codeOf(await cancel(desk.user, filled.orderRef, { key: 'free' })),
    'order_not_cancellable',
  );
  t.equal(codeOf(await cancel(desk.user, 'ord_x', { key: 'free' })), 'order_not_found');
  const able = await openPlugin(gateway.url, desk.user.sessionToken);
  t.teardown(() => able.close());
  t.equal((await cancel(desk.user, order.orderRef, { key: 'free' })).status, 202);
});

t.test('of identical cancels at once one is accepted and the rest replay or wait', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => cancel(desk.user, order.orderRef, { key: 'same' })),
  );
  const accepted = answers.filter(({ status }) => status === 202);
  t.equal(new Set(accepted.map(({ text }) => text)).size, 1);
  t.equal(accepted.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 202)) {
    t.equal(verdict(answer), '409 request_in_progress');
    t.ok(Number(answer.headers.get('retry-after')) >= 1);
  }
});

t.test('the body is ignored whatever its type, but bounded', async (t) => {
  const desk = await openDesk();
  // oxfmt-ignore
  const bodies: { body?: string | Uint8Array; headers?: Record<string, string> }[] = [
    {},
    { body: '' },
    { body: '{}' },
    { body: '{', headers: { 'content-type': 'application/json' } },
    { body: 'anything', headers: { 'content-type': 'text/plain' } },
    { body: Uint8Array.from([0xff, 0, 1]), headers: { 'content-type': 'application/octet-stream' } },
    { body: 'x'.repeat(65_536), headers: { 'content-type': 'a/b' } },
  ];
  for (const [index, options] of bodies.entries()) {
    const order = await place(desk);
    t.equal((await cancel(desk.user, order.orderRef, options)).status, 202, `body ${index}`);
  }
  const order = await place(desk);
  const large = await cancel(desk.user, order.orderRef, { body: 'x'.repeat(65_537) });
  t.equal(verdict(large), '413 request_body_too_large');
  t.equal(await cancelOf(desk, order), null);
  const bare = await rawCall(gateway.url, 'POST', `/api/v1/orders/${order.orderRef}/cancel`, [
    `Authorization: Bearer ${desk.user.key}`,
    'Idempotency-Key: bare',
  ]);
  t.equal(bare?.status, 202, 'no Content-Length at all');
});

t.test('a frozen account may still cancel: to reduce risk is never forbidden', async (t) => {
  const desk = await openDesk();
  const order = await place(desk);
  await gateway.command('user', 'set', desk.user.email, '--frozen', 'true');
  t.equal((await cancel(desk.user, order.orderRef)).status, 202);
});
