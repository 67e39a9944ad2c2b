/** The life of an execution as a terminal reports it and a bot reads it. */
import t from 'tap';
import { barrier, report, tell } from '../support/frames.js';
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

t.test('a fill is counted once, however often it is reported', async (t) => {
  const { plugin, order, read } = await setUp(quantity10);
  const once = { fill: fill('f1', 4, 100) };
  await tell(plugin, report(1, order.executionId, 'partially_filled', once));
  await tell(plugin, report(2, order.executionId, 'partially_filled', once));
  await tell(plugin, report(3, order.executionId, 'partially_filled', { fill: fill('f1', 6, 1) }));
  t.match(await read(), { filledQuantity: 4, averageFillPrice: 100, fills: { length: 1 } });
  plugin.close();
});

t.test('the terminal knows its quantities best', async (t) => {
  const { plugin, order, read } = await setUp(quantity10);
  await tell(
    plugin,
    report(1, order.executionId, 'partially_filled', {
      filledQuantity: 4.5,
      remainingQuantity: 5.5,
      averageFillPrice: 99.875,
    }),
  );
  t.match(await read(), { filledQuantity: 4.5, remainingQuantity: 5.5, averageFillPrice: 99.875 });
  await tell(plugin, report(2, order.executionId, 'partially_filled', { filledQuantity: 3 }));
  t.match(await read(), { filledQuantity: 4.5 }, 'what was filled is not taken back');
  plugin.close();
});

/** From a state reached by `before`, the report of `word` changes nothing. */
const backward: Record<string, { before: string[]; word: string }> = {
  'working after partially_filled': { before: ['partially_filled'], word: 'working' },
  'submitted after working': { before: ['working'], word: 'submitted' },
  'rejected after partially_filled': { before: ['partially_filled'], word: 'rejected' },
  'working after filled': { before: ['filled'], word: 'working' },
  'rejected after filled': { before: ['filled'], word: 'rejected' },
  'cancelled after filled': { before: ['filled'], word: 'cancelled' },
  'unknown after filled': { before: ['filled'], word: 'unknown' },
  'filled after rejected': { before: ['rejected'], word: 'filled' },
  'filled after expired': { before: ['working', 'expired'], word: 'filled' },
  'working after cancelled': { before: ['working', 'cancelled'], word: 'working' },
  'cancelled after completed': { before: ['completed'], word: 'cancelled' },
};

t.test('a report that moves backwards is acknowledged and ignored', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  let seq = 0;
  for (const [name, { before, word }] of Object.entries(backward)) {
    const order = await gateway.order(user, plugin);
    for (const status of before) await tell(plugin, report(++seq, order.executionId, status));
    const stood = await gateway.execution(user, order.requestId);
    t.equal(stood.status, before.at(-1));
    await tell(plugin, report(++seq, order.executionId, word, { native: { text: 'late' } }));
    t.same(await gateway.execution(user, order.requestId), stood, name);
  }
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

t.test('a late fill corrects a cancel, and the fills of a cancelled order are kept', async (t) => {
  const { plugin, order, read } = await setUp(quantity10);
  await tell(
    plugin,
    report(1, order.executionId, 'partially_filled', { fill: fill('f1', 4, 100) }),
  );
  await tell(
    plugin,
    report(2, order.executionId, 'cancelled', { reasonCode: 'cancelled_by_broker' }),
  );
  t.match(await read(), { status: 'cancelled', filledQuantity: 4, fills: { length: 1 } });
  await tell(plugin, report(3, order.executionId, 'cancelled', { fill: fill('f2', 1, 100) }));
  t.match(await read(), { status: 'cancelled', filledQuantity: 5, fills: { length: 2 } });
  await tell(plugin, report(4, order.executionId, 'filled', { fill: fill('f3', 5, 100) }));
  t.match(await read(), { status: 'filled', reasonCode: null, filledQuantity: 10 });
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

t.test('what a plugin knows at hello counts as reports', async (t) => {
  const { user, plugin, order, read } = await setUp(quantity10);
  plugin.cut();
  const again = await gateway.plugin(user, {
    executions: [
      { executionId: order.executionId, status: 'partially_filled', fill: fill('f1', 4, 100) },
      { executionId: 'exe_unheard_of', status: 'filled' },
    ],
  });
  await eventually(async () => (await read()).status === 'partially_filled');
  t.match(await read(), { delivery: 'confirmed', filledQuantity: 4, fills: { length: 1 } });
  await barrier(again, 1);
  t.notOk(
    again.frames.some(({ type }) => type === 'submit'),
    'and what it knows is not sent again',
  );
  again.close();
});
