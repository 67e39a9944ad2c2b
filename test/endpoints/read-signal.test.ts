/** GET /api/v1/signals/{requestId}: the shape of the answer, field by field, and who may see it. */
import t, { type Test } from 'tap';
import { createKey, get, signal, status, submit, verdict } from '../support/api.js';
import { openPlugin } from '../support/plugin.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const requestFields = [
  'requestId',
  'signalId',
  'status',
  'acceptedAt',
  'expiresAt',
  'platform',
  'type',
  'cmd',
  'instanceId',
  'accountName',
  'executions',
];
// oxfmt-ignore
const executionFields = ['executionId', 'platform', 'instanceId', 'accountName', 'status', 'reasonCode', 'delivery', 'orderRef', 'side',
  'executionType', 'instrument', 'quantity', 'limitPrice', 'filledQuantity', 'remainingQuantity', 'averageFillPrice', 'fills', 'native',
  'createdAt', 'dispatchedAt', 'confirmedAt', 'updatedAt', 'cancel'];

function isWhole(t: Test, body: any): void {
  t.same(Object.keys(body), requestFields);
  for (const execution of body.executions) t.same(Object.keys(execution), executionFields);
}

t.test('a signal for which no terminal is there is denied, and completed at once', async (t) => {
  const { key } = await gateway.user();
  const sent = signal({ platform: 'terminal_b,terminal_a', ts: Date.now() - 1_000, ttlMs: 65_000 });
  const accepted = (await submit(url, key, sent)).body;
  const answer = await status(url, key, accepted.requestId);
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), /^application\/json/);
  isWhole(t, answer.body);
  const { executions, ...request } = answer.body;
  t.same(request, {
    requestId: accepted.requestId,
    signalId: sent['signalId'],
    status: 'completed',
    acceptedAt: accepted.acceptedAt,
    expiresAt: new Date(Number(sent['ts']) + 65_000).toISOString(),
    platform: 'terminal_b,terminal_a',
    type: 'order',
    cmd: 'submit',
    instanceId: null,
    accountName: null,
  });
  t.equal(executions.length, 2);
  const [{ executionId, orderRef, ...first }, second] = executions;
  t.ok(executionId.length > 0 && orderRef.length > 0);
  t.not(second.executionId, executionId);
  t.not(second.orderRef, orderRef);
  t.same(first, {
    platform: 'terminal_b',
    instanceId: null,
    accountName: null,
    status: 'denied',
    reasonCode: 'no_active_terminal',
    delivery: 'not_sent',
    side: 'buy',
    executionType: 'market',
    instrument: 'ES',
    quantity: 1,
    limitPrice: null,
    filledQuantity: 0,
    remainingQuantity: 1,
    averageFillPrice: null,
    fills: [],
    native: null,
    createdAt: accepted.acceptedAt,
    dispatchedAt: null,
    confirmedAt: null,
    updatedAt: accepted.acceptedAt,
    cancel: null,
  });
});

t.test('a command that is no order has no orderRef and no terms of an order', async (t) => {
  const { key } = await gateway.user();
  const payload = { instrument: 'ES', side: 'buy', quantity: 1 };
  for (const fields of [
    { type: 'position', cmd: 'close' },
    { type: 'order', cmd: 'Submit' },
    { type: 'Order', cmd: 'submit' },
  ]) {
    const { requestId } = (await submit(url, key, signal({ ...fields, payload }))).body;
    const { body } = await status(url, key, requestId);
    isWhole(t, body);
    const [{ orderRef, side, instrument, quantity, filledQuantity, remainingQuantity }] =
      body.executions;
    t.same(
      { orderRef, side, instrument, quantity, filledQuantity, remainingQuantity },
      {
        orderRef: null,
        side: null,
        instrument: null,
        quantity: null,
        filledQuantity: null,
        remainingQuantity: null,
      },
    );
  }
});

t.test('an order’s way is read back at each step', async (t) => {
  const { key, sessionToken } = await gateway.user();
  const plugin = await openPlugin(url, sessionToken, { instanceId: 'desk', accountName: 'Sim' });
  t.teardown(() => plugin.close());
  const payload = {
    instrument: 'ES',
    side: 'sell',
    executionType: 'limit',
    limitPrice: 5000.25,
    quantity: 3,
  };
  const { requestId } = (await submit(url, key, signal({ payload, instanceId: 'desk' }))).body;
  const frame = await plugin.next('submit', { requestId });
  const executionId = frame['executionId'];
  const reach = async (wanted: string) => {
    const answer = await until(
      () => status(url, key, requestId),
      ({ body }) => body.executions[0].status === wanted,
    );
    isWhole(t, answer.body);
    return { ...answer.body, execution: answer.body.executions[0] };
  };

  const dispatched = await reach('dispatched');
  t.equal(dispatched.status, 'accepted');
  t.equal(dispatched.instanceId, 'desk');
  t.match(dispatched.execution, {
    executionId,
    platform: 'terminal_a',
    instanceId: 'desk',
    accountName: 'Sim',
    reasonCode: null,
    delivery: 'sent',
    orderRef: frame['orderRef'],
    side: 'sell',
    executionType: 'limit',
    instrument: 'ES',
    quantity: 3,
    limitPrice: 5000.25,
    filledQuantity: 0,
    remainingQuantity: 3,
    confirmedAt: null,
  });
  t.match(dispatched.execution.dispatchedAt, time);

  plugin.send({ type: 'ack', executionId });
  const submitted = await reach('submitted');
  t.equal(submitted.execution.delivery, 'confirmed');

  plugin.send({
    type: 'report',
    seq: 1,
    executionId,
    status: 'working',
    native: { orderId: 'N1', state: 'Accepted', code: 7, text: 'ok' },
  });
  const working = await reach('working');
  t.same(working.execution.native, { orderId: 'N1', state: 'Accepted', code: 7, text: 'ok' });
  t.match(working.execution.confirmedAt, time);

  const fill = { fillId: 'F1', price: 5000.5, quantity: 1, filledAt: '2026-01-01T00:00:00.000Z' };
  plugin.send({
    type: 'report',
    seq: 2,
    executionId,
    status: 'partially_filled',
    filledQuantity: 1,
    remainingQuantity: 2,
    averageFillPrice: 5000.5,
    fill,
  });
  const partial = await reach('partially_filled');
  t.equal(partial.status, 'accepted');
  t.same(partial.execution.fills, [fill]);
  t.match(partial.execution, { filledQuantity: 1, remainingQuantity: 2, averageFillPrice: 5000.5 });

  plugin.send({
    type: 'report',
    seq: 3,
    executionId,
    status: 'cancelled',
    reasonCode: 'cancelled_in_terminal',
    native: { orderId: 'N1' },
  });
  const cancelled = await reach('cancelled');
  t.equal(cancelled.status, 'completed');
  t.match(cancelled.execution, {
    reasonCode: 'cancelled_in_terminal',
    fills: [fill],
    filledQuantity: 1,
  });
  t.ok(cancelled.execution.updatedAt >= working.execution.updatedAt);
  t.equal(cancelled.execution.dispatchedAt, dispatched.execution.dispatchedAt);

  await gateway.process.kill();
  await gateway.start();
  t.same(
    (await status(gateway.url, key, requestId)).body.executions[0],
    cancelled.execution,
    'and survives a kill',
  );
});

t.test('an order that was filled hundreds of times is shown with every fill', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const { requestId, executionId } = await gateway.order(user, plugin);
  const filledAt = '2026-01-01T00:00:00.000Z';
  const fills = Array.from({ length: 700 }, (_, i) => ({
    fillId: `F${i}`,
    price: 5_000,
    quantity: 1,
    filledAt,
  }));
  for (const [index, fill] of fills.entries()) {
    plugin.send({ type: 'report', seq: index + 1, executionId, status: 'partially_filled', fill });
  }
  const read = () => status(gateway.url, user.key, requestId);
  await until(read, ({ body }) => body.executions[0].fills.length === fills.length);
  for (const { body } of await Promise.all([read(), read(), read()])) {
    t.same(body.executions[0].fills, fills);
  }
});

t.test('404 for what is unknown, foreign or malformed, and nothing tells them apart', async (t) => {
  const ann = await gateway.user();
  const bob = await gateway.user();
  const { requestId } = (await submit(gateway.url, ann.key, signal())).body;
  t.equal((await status(gateway.url, ann.key, requestId)).status, 200);
  const messages = new Set<string>();
  // oxfmt-ignore
  const ids = ['req_01AAAAAAAAAAAAAAAAAAAAAAAA', requestId.toLowerCase(), requestId.slice(0, -1), `${requestId}0`, requestId.slice(4),
    `exe_${requestId.slice(4)}_0`, 'x', '%00', '%zz', '%2f', '__proto__', 'x'.repeat(1_000), `${requestId}%20`, `${requestId}%00`];
  for (const [id, { key }] of [[requestId, bob] as const, ...ids.map((id) => [id, ann] as const)]) {
    const answer = await get(gateway.url, `/api/v1/signals/${id}`, key);
    t.equal(verdict(answer), '404 request_not_found', id.slice(0, 40));
    t.same(Object.keys(answer.body), ['error']);
    messages.add(answer.body.error.message);
  }
  t.equal(messages.size, 1);
});

t.test('any key of the user with the scope reads what another one sent', async (t) => {
  const { key, token } = await gateway.user();
  const reader = await createKey(gateway.url, token, { scopes: ['signals:read'] });
  const { requestId } = (await submit(gateway.url, key, signal())).body;
  t.equal((await status(gateway.url, reader.key, requestId)).status, 200);
});
