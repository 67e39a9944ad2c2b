import t from 'tap';
import { submitFrame } from './desk.js';
import { limit, market, setUpPaper as setUp } from './paper-desk.js';

const refusals: [string, object][] = [
  ['missing_field', { instrument: undefined }],
  ['missing_field', { side: undefined }],
  ['missing_field', { executionType: undefined }],
  ['missing_field', { quantity: undefined }],
  ['missing_field', { quantity: null }],
  ['invalid_field', { instrument: 7 }],
  ['invalid_field', { side: 'hold' }],
  ['invalid_field', { side: 1 }],
  ['invalid_field', { partialFills: 0 }],
  ['invalid_field', { partialFills: 1.5 }],
  ['invalid_field', { partialFills: 101 }],
  ['unsupported_execution_type', { executionType: 'iceberg' }],
  ['unsupported_execution_type', { executionType: {} }],
  ['missing_limit_price', { executionType: 'limit' }],
  ['invalid_price', { executionType: 'limit', limitPrice: null }],
  ['invalid_quantity', { quantity: 0 }],
  ['invalid_quantity', { quantity: -1 }],
  ['invalid_quantity', { quantity: '2' }],
  ['invalid_quantity', { quantity: 1.5 }],
  ['invalid_price', { executionType: 'limit', limitPrice: 0 }],
  ['invalid_price', { executionType: 'limit', limitPrice: -5 }],
  ['invalid_price', { executionType: 'limit', limitPrice: '4990' }],
  ['invalid_price', { executionType: 'limit', limitPrice: 4_990.1 }],
  ['invalid_price', { stopLoss: 4_990.1 }],
  ['invalid_price', { stopLoss: 5_000 }],
  ['invalid_price', { takeProfit: 5_000 }],
  ['invalid_price', { side: 'sell', stopLoss: 4_990 }],
  ['invalid_price', { executionType: 'stop', stopPrice: 5_010, stopLoss: 5_010 }],
  ['unknown_instrument', { instrument: 'GME' }],
  ['unknown_instrument', { instrument: '__proto__' }],
];
for (const [reasonCode, fields] of refusals) {
  t.test(`an order with ${JSON.stringify(fields)} is rejected as ${reasonCode}`, (t) => {
    const { order, reports, events } = setUp();
    order(fields);
    t.equal(reports.length, 1);
    t.match(reports[0], { status: 'rejected', reasonCode, native: { text: String } });
    t.match(events, [{ event: 'order_update', orderRef: 'ord_exe_1', data: { reasonCode } }]);
    t.end();
  });
}

for (const [type, cmd] of [
  ['order', 'modify'],
  ['position', 'submit'],
  ['constructor', 'constructor'],
] as const) {
  t.test(`${type}/${cmd} is rejected as unknown_command`, (t) => {
    const { send, reports } = setUp();
    send(type, cmd, market);
    t.match(reports, [{ status: 'rejected', reasonCode: 'unknown_command' }]);
    t.end();
  });
}

t.test('a market order fills at the simulated price', (t) => {
  const { broker, order, reports } = setUp();
  t.ok(broker.setPrice('ES', 5_001.25));
  order();
  t.match(reports, [
    {
      status: 'filled',
      filledQuantity: 2,
      remainingQuantity: 0,
      averageFillPrice: 5_001.25,
      fill: { fillId: 'exe_1-1', price: 5_001.25, quantity: 2, filledAt: String },
      native: { orderId: 'paper-1', state: 'Filled' },
    },
  ]);
  t.equal(reports.length, 1);
  t.end();
});

t.test('a fill is told as order, execution, position and account', (t) => {
  const { order, events } = setUp();
  order();
  t.strictSame(
    events.map(({ event }) => event),
    ['order_update', 'order_update', 'execution_update', 'position_update', 'account_update'],
  );
  t.match(events[2], { executionId: 'exe_1', orderRef: 'ord_exe_1', rawText: String });
  t.match(events[3]?.data, { instrument: 'ES', side: 'long', quantity: 2, averagePrice: 5_000 });
  t.end();
});

t.test('a limit order rests until the price crosses', (t) => {
  const { broker, order, reports, statusesOf } = setUp();
  order(limit);
  t.match(reports, [{ status: 'working', filledQuantity: 0, remainingQuantity: 2 }]);
  broker.setPrice('ES', 4_990.25);
  broker.setPrice('NQ', 1);
  t.strictSame(statusesOf('exe_1'), ['working']);
  broker.setPrice('ES', 4_990);
  t.strictSame(statusesOf('exe_1'), ['working', 'filled']);
  t.equal(reports[1]?.averageFillPrice, 4_990);
  t.end();
});

t.test('a limit order fills at its limit or better', (t) => {
  const { broker, order, reports } = setUp();
  order(limit);
  order({ side: 'sell', executionType: 'limit', limitPrice: 5_010 });
  broker.setPrice('ES', 4_980);
  broker.setPrice('ES', 5_020);
  t.match(
    reports.filter(({ status }) => status === 'filled'),
    [
      { executionId: 'exe_1', averageFillPrice: 4_980 },
      { executionId: 'exe_2', averageFillPrice: 5_020 },
    ],
  );
  t.end();
});

t.test('a limit order that already crosses fills at once', (t) => {
  const { order, statusesOf } = setUp();
  order({ executionType: 'limit', limitPrice: 5_010 });
  t.strictSame(statusesOf('exe_1'), ['filled']);
  t.end();
});

t.test('orders are filled in the order in which they came', (t) => {
  const { broker, order, reports } = setUp();
  order(limit);
  order(limit);
  broker.setPrice('ES', 4_990);
  const filled = reports.filter(({ status }) => status === 'filled');
  t.strictSame(
    filled.map(({ executionId }) => executionId),
    ['exe_1', 'exe_2'],
  );
  t.end();
});

t.test('an order is filled in as many pieces as it asks for', (t) => {
  const { clock, broker, order, reports } = setUp();
  order({ quantity: 5, partialFills: 3 });
  broker.setPrice('ES', 5_001);
  clock.advance(100);
  broker.setPrice('ES', 5_002);
  clock.advance(100);
  t.match(reports, [
    { status: 'partially_filled', filledQuantity: 2, remainingQuantity: 3, fill: { quantity: 2 } },
    { status: 'partially_filled', filledQuantity: 4, remainingQuantity: 1, fill: { quantity: 2 } },
    { status: 'filled', filledQuantity: 5, remainingQuantity: 0, fill: { quantity: 1 } },
  ]);
  t.equal(new Set(reports.map(({ fill }) => fill?.fillId)).size, 3);
  t.equal(reports[2]?.averageFillPrice, 5_000.8);
  t.end();
});

t.test('the terminal can fill every order in pieces', (t) => {
  const { clock, order, statusesOf } = setUp({ partialFills: 2 });
  order();
  order({ partialFills: 1 });
  clock.advance(100);
  t.strictSame(statusesOf('exe_1'), ['partially_filled', 'filled']);
  t.strictSame(statusesOf('exe_2'), ['filled']);
  t.end();
});

t.test('there are no more pieces than the quantity has steps', (t) => {
  const { clock, order, statusesOf, reports } = setUp();
  order({ partialFills: 100 });
  clock.advance(10_000);
  t.strictSame(statusesOf('exe_1'), ['partially_filled', 'filled']);
  order({ instrument: 'EURUSD', quantity: 0.03, partialFills: 2 });
  clock.advance(10_000);
  t.match(reports.slice(2), [{ filledQuantity: 0.02 }, { filledQuantity: 0.03 }]);
  t.end();
});

t.test('a limit order in pieces waits when the price moves away', (t) => {
  const { clock, broker, order, statusesOf } = setUp({ partialFills: 2 });
  order(limit);
  broker.setPrice('ES', 4_990);
  broker.setPrice('ES', 4_995);
  clock.advance(1_000);
  t.strictSame(statusesOf('exe_1'), ['working', 'partially_filled']);
  broker.setPrice('ES', 4_989);
  t.strictSame(statusesOf('exe_1'), ['working', 'partially_filled', 'filled']);
  t.end();
});

t.test('a cancel ends a working order', (t) => {
  const { broker, order, reports, cancels } = setUp();
  order(limit);
  broker.cancel('can_1', 'exe_1');
  t.match(reports[1], { status: 'cancelled', reasonCode: 'cancelled_by_api', filledQuantity: 0 });
  t.match(cancels, [{ cancelRequestId: 'can_1', status: 'cancelled' }]);
  broker.setPrice('ES', 4_000);
  t.equal(reports.length, 2, 'and it is never filled');
  t.end();
});

t.test('a cancelled order keeps its fills', (t) => {
  const { clock, broker, order, reports } = setUp({ partialFills: 2 });
  order();
  broker.cancel('can_1', 'exe_1');
  clock.advance(1_000);
  t.match(reports[1], { status: 'cancelled', filledQuantity: 1, remainingQuantity: 1 });
  t.equal(reports.length, 2);
  t.end();
});

t.test('a cancel of what has ended or never was gets a true answer', (t) => {
  const { broker, order, send, cancels } = setUp();
  order();
  order(limit);
  order({ side: 'hold' });
  send('account', 'flatten', {});
  for (const n of [1, 2, 3, 4, 5]) broker.cancel(`can_${n}`, `exe_${n}`);
  t.strictSame(
    cancels.map(({ status, reasonCode }) => [status, reasonCode]),
    [
      ['too_late', 'already_filled'],
      ['cancelled', 'already_cancelled'],
      ['too_late', 'already_cancelled'],
      ['rejected', 'order_unknown_at_terminal'],
      ['rejected', 'order_unknown_at_terminal'],
    ],
  );
  t.end();
});

t.test('position/close closes the net position at market and completes', (t) => {
  const { broker, order, send, reports, dataOf } = setUp();
  order({ quantity: 3 });
  order({ side: 'sell', quantity: 1 });
  broker.setPrice('ES', 5_010);
  const executionId = send('position', 'close', { instrument: 'ES' });
  t.match(reports[2], { executionId, status: 'completed', native: { text: /sell 2 ES at 5010/ } });
  t.match(dataOf('position_update').at(-1), { side: 'flat', quantity: 0, averagePrice: null });
  t.match(dataOf('account_update').at(-1), {
    balance: 101_000,
    realizedProfit: 1_000,
    unrealizedProfit: 0,
    equity: 101_000,
  });
  t.end();
});

t.test('position/close of a flat position completes', (t) => {
  const { send, reports, events } = setUp();
  send('position', 'close', { instrument: 'NQ' });
  t.match(reports, [{ status: 'completed', native: { text: /no position/ } }]);
  t.equal(events.length, 0);
  t.end();
});

for (const [reasonCode, payload] of [
  ['missing_field', {}],
  ['invalid_field', { instrument: 5 }],
  ['unknown_instrument', { instrument: 'GME' }],
] as const) {
  t.test(`position/close with ${JSON.stringify(payload)} is rejected as ${reasonCode}`, (t) => {
    const { send, reports, events } = setUp();
    send('position', 'close', payload);
    t.match(reports, [{ status: 'rejected', reasonCode }]);
    t.match(events, [{ event: 'terminal_message' }]);
    t.end();
  });
}

t.test('account/flatten cancels working orders, closes every position and completes', (t) => {
  const { broker, order, send, statusesOf, dataOf } = setUp();
  order({ side: 'sell' });
  order({ instrument: 'EURUSD', quantity: 0.5 });
  order(limit);
  const executionId = send('account', 'flatten', {});
  t.strictSame(statusesOf('exe_3'), ['working', 'cancelled']);
  t.strictSame(statusesOf(executionId), ['completed']);
  t.match(dataOf('position_update').slice(2), [
    { instrument: 'ES', side: 'flat' },
    { instrument: 'EURUSD', side: 'flat' },
  ]);
  broker.setPrice('ES', 4_000);
  t.equal(dataOf('position_update').length, 4);
  t.end();
});

t.test('positions net, turn and are priced by what they cost', (t) => {
  const { broker, order, dataOf } = setUp();
  order({ quantity: 2 });
  broker.setPrice('ES', 5_010);
  order({ quantity: 2 });
  broker.setPrice('ES', 5_020);
  order({ side: 'sell', quantity: 5 });
  t.match(dataOf('position_update'), [
    { side: 'long', quantity: 2, averagePrice: 5_000 },
    { side: 'long', quantity: 4, averagePrice: 5_005 },
    { side: 'short', quantity: 1, averagePrice: 5_020 },
  ]);
  t.match(dataOf('account_update').at(-1), { realizedProfit: 3_000 });
  broker.setPrice('ES', 5_030);
  broker.sendState();
  t.match(dataOf('state_snapshot')[0], {
    account: { balance: 103_000, unrealizedProfit: -500, equity: 102_500 },
  });
  t.end();
});

t.test('the state is told as connection, account and snapshot', (t) => {
  const { broker, order, events } = setUp();
  order();
  order(limit);
  events.length = 0;
  broker.sendState();
  t.match(events, [
    { event: 'connection_status', data: { status: 'connected' } },
    { event: 'account_status', data: { status: 'active', tradingEnabled: true } },
    {
      event: 'state_snapshot',
      data: {
        positions: [{ instrument: 'ES', side: 'long' }],
        orders: [{ executionId: 'exe_2', orderRef: 'ord_exe_2', state: 'Working' }],
        ordersOmitted: 0,
      },
    },
  ]);
  t.end();
});

t.test('a price of an unknown instrument or of no worth is refused', (t) => {
  const { broker } = setUp();
  t.notOk(broker.setPrice('GME', 1));
  for (const price of [0, -1, NaN, Infinity]) t.notOk(broker.setPrice('ES', price));
  t.equal(broker.priceOf('ES'), 5_000);
  t.end();
});

t.test('orders of an earlier process are taken up where they stood', (t) => {
  const { broker, clock, reports, cancels, order } = setUp();
  const payload = { ...market, ...limit, quantity: 4, partialFills: 4 };
  const known = { isReported: true, fills: [], updatedAt: 0 };
  broker.restore([
    {
      ...known,
      executionId: 'old_1',
      submit: submitFrame('old_1', { payload }),
      status: 'partially_filled',
      fills: [{ fillId: 'old_1-1', price: 4_990, quantity: 1, filledAt: '' }],
      native: { orderId: 'paper-7' },
    },
    { ...known, executionId: 'old_2', submit: submitFrame('old_2'), status: 'filled' },
  ]);
  t.equal(reports.length, 0, 'nothing is reported that was reported before');
  broker.setPrice('ES', 4_980);
  clock.advance(1_000);
  t.match(reports, [
    {
      executionId: 'old_1',
      filledQuantity: 2,
      averageFillPrice: 4_985,
      fill: { fillId: 'old_1-2' },
    },
    { filledQuantity: 3 },
    { status: 'filled', filledQuantity: 4, native: { orderId: 'paper-7' } },
  ]);
  broker.cancel('can_1', 'old_2');
  t.match(cancels, [{ status: 'too_late' }]);
  order();
  t.equal(reports.at(-1)?.native?.orderId, 'paper-8');
  t.end();
});

t.test('a stopped broker does nothing more', (t) => {
  const { clock, broker, order, reports } = setUp({ partialFills: 2 });
  order();
  order(limit);
  broker.stop();
  clock.advance(10_000);
  t.equal(reports.length, 2);
  t.equal(clock.timerCount, 0);
  t.end();
});
