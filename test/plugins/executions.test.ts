/** The life of an execution as a terminal reports it and a bot reads it. */
import t from 'tap';
import { report, tell } from '../support/frames.js';
import { type HandedOrder, startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { reasonGroups } from '../../src/model/reason-codes.js';

const gateway = await startTestGateway(t, { users: 48 });
const quantity10 = {
  payload: { instrument: 'ES', side: 'buy', executionType: 'limit', limitPrice: 100, quantity: 10 },
};
const fill = (fillId: string, quantity: number, price: number) => ({
  fillId,
  price,
  quantity,
  filledAt: '2026-01-02T03:04:05.678+01:00',
});

async function setUp(fields: object = {}) {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin, fields);
  return { user, plugin, order, read: () => gateway.execution(user, order.requestId) };
}

t.test('a submit frame carries the whole signal', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const ts = Date.now();
  const payload = {
    instrument: 'ES',
    side: 'sell',
    executionType: 'market',
    quantity: 2,
    note: 'ü',
  };
  const { frame, requestId, executionId, orderRef } = await gateway.order(user, plugin, {
    signalId: 'my-signal',
    ts,
    ttlMs: 30_000,
    payload,
  });
  t.same(frame, {
    type: 'submit',
    executionId,
    requestId,
    signalId: 'my-signal',
    orderRef,
    signalType: 'order',
    cmd: 'submit',
    payload,
    ts,
    expiresAt: new Date(ts + 30_000).toISOString(),
  });
  const close = await gateway.order(user, plugin, {
    type: 'position',
    cmd: 'close',
    payload: { instrument: 'ES' },
  });
  t.notOk('orderRef' in close.frame, 'only an order has an orderRef');
  plugin.close();
});

t.test('of a fill only what the protocol names is kept', async (t) => {
  const { plugin, order, read } = await setUp(quantity10);
  const told = { ...fill('f1', 1, 100), venue: 'X', note: 'x'.repeat(1_000) };
  await tell(plugin, report(1, order.executionId, 'partially_filled', { fill: told }));
  t.same((await read()).fills, [{ ...fill('f1', 1, 100), filledAt: '2026-01-02T02:04:05.678Z' }]);
  plugin.close();
});

t.test('an order that rests, fills in parts and is done', async (t) => {
  const { plugin, order, read } = await setUp(quantity10);
  const { executionId } = order;
  await t.resolves(
    eventually(async () => (await read()).status === 'dispatched'),
    'dispatched once written to the socket',
  );
  t.match(await read(), { delivery: 'sent', confirmedAt: null, remainingQuantity: 10, fills: [] });

  plugin.send({ type: 'ack', executionId });
  const submitted = await eventually(async () => {
    const execution = await read();
    return execution.status === 'submitted' && execution;
  });
  t.match(submitted, { delivery: 'confirmed', confirmedAt: null });

  const native = { orderId: 'N-1', state: 'Working', code: 7, text: 'resting' };
  await tell(plugin, report(1, executionId, 'working', { native }));
  t.match(await read(), { status: 'working', native, filledQuantity: 0 });
  t.type((await read()).confirmedAt, 'string');

  await tell(plugin, report(2, executionId, 'partially_filled', { fill: fill('f1', 4, 100) }));
  t.match(await read(), {
    status: 'partially_filled',
    filledQuantity: 4,
    remainingQuantity: 6,
    averageFillPrice: 100,
    native,
  });
  await tell(plugin, report(3, executionId, 'partially_filled', { fill: fill('f2', 3, 101) }));
  await tell(plugin, report(4, executionId, 'filled', { fill: fill('f3', 3, 102) }));
  const done = await read();
  t.match(done, {
    status: 'filled',
    reasonCode: null,
    filledQuantity: 10,
    remainingQuantity: 0,
    averageFillPrice: 100.9,
  });
  t.same(
    done.fills.map(({ fillId, filledAt }: any) => [fillId, filledAt]),
    [
      ['f1', '2026-01-02T02:04:05.678Z'],
      ['f2', '2026-01-02T02:04:05.678Z'],
      ['f3', '2026-01-02T02:04:05.678Z'],
    ],
  );
  t.ok(done.createdAt <= done.dispatchedAt && done.dispatchedAt <= done.confirmedAt);
  plugin.close();
});

t.test('every end that a terminal can report is read back with its reason', async (t) => {
  const ends: [string, string | undefined][] = [
    ['filled', undefined],
    ['completed', undefined],
    ['cancelled', 'cancelled_in_terminal'],
    ['cancelled', 'cancelled_by_broker'],
    ['expired', 'time_in_force_expired'],
    ['unknown', 'plugin_error'],
    ...[...reasonGroups.payload, ...reasonGroups.terminal, ...reasonGroups.broker].map(
      (reason): [string, string] => ['rejected', reason],
    ),
  ];
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const orders: HandedOrder[] = [];
  for (const [index, [status, reasonCode]] of ends.entries()) {
    const order = await gateway.order(user, plugin);
    orders.push(order);
    await tell(
      plugin,
      report(index + 1, order.executionId, status, reasonCode === undefined ? {} : { reasonCode }),
    );
    const execution = await gateway.execution(user, order.requestId);
    t.equal(execution.status, status, `${status} ${reasonCode ?? ''}`);
    t.equal(execution.reasonCode, reasonCode ?? null);
    t.equal(execution.delivery, 'confirmed');
  }
  plugin.close();
});

t.test('a report before the ack does as well', async (t) => {
  const { plugin, order, read } = await setUp();
  await tell(plugin, report(1, order.executionId, 'filled', { fill: fill('f', 1, 5) }));
  plugin.send({ type: 'ack', executionId: order.executionId });
  plugin.send({ type: 'ack', executionId: order.executionId });
  await tell(plugin, report(2, order.executionId, 'working'));
  t.match(await read(), { status: 'filled', delivery: 'confirmed' });
  plugin.close();
});
