/** What the catalog of commands promises of orders, at the paper broker. */
import t from 'tap';
import { dayMs } from '../../src/lib/durations.js';
import type { Evidence } from '../../src/plugins/protocol.js';
import type { KnownExecution } from '../../src/terminal/journal-state.js';
import { submitFrame } from './desk.js';
import { limit, market, setUpPaper } from './paper-desk.js';

const stop = { executionType: 'stop', stopPrice: 5_010 };
const stopLimit = { executionType: 'stop_limit', stopPrice: 5_010, limitPrice: 5_011 };

function known(payload: object, fields: Partial<KnownExecution> = {}): KnownExecution {
  const submit = submitFrame('old_1', { payload: { ...market, ...payload } });
  const state = { status: 'working', isReported: true, fills: [], updatedAt: 0 } as const;
  return { executionId: 'old_1', submit, ...state, ...fields };
}

const outcomes = (reports: readonly Evidence[]) =>
  reports.map(({ status, native }) => [status, native?.state]);

t.test('a stop rests until the price reaches it, and then fills at market', (t) => {
  const { broker, order, reports } = setUpPaper();
  order(stop);
  order({ ...stop, side: 'sell', stopPrice: 4_990 });
  broker.setPrice('ES', 5_009.75);
  t.strictSame(outcomes(reports), [
    ['working', 'StopPending'],
    ['working', 'StopPending'],
  ]);
  broker.setPrice('ES', 5_012);
  t.match(reports[2], { executionId: 'exe_1', status: 'filled', averageFillPrice: 5_012 });
  broker.setPrice('ES', 4_990);
  t.match(reports[3], { executionId: 'exe_2', status: 'filled', averageFillPrice: 4_990 });
  t.end();
});

t.test('a stop that the price has already reached fills at once', (t) => {
  const { order, statusesOf } = setUpPaper();
  order({ ...stop, stopPrice: 5_000 });
  t.strictSame(statusesOf('exe_1'), ['filled']);
  t.end();
});

t.test('a stop_limit rests at its limit once it is triggered', (t) => {
  const { broker, order, reports } = setUpPaper();
  order(stopLimit);
  broker.setPrice('ES', 5_012);
  t.strictSame(outcomes(reports), [
    ['working', 'StopPending'],
    ['working', 'Working'],
  ]);
  broker.setPrice('ES', 5_009);
  t.match(reports[2], { status: 'filled', averageFillPrice: 5_009 });
  t.end();
});

t.test('a restart does not forget whether a stop was triggered', (t) => {
  for (const [state, status] of [
    ['StopPending', undefined],
    ['Working', 'filled'],
  ] as const) {
    const { broker, reports } = setUpPaper();
    broker.restore([known(stopLimit, { native: { orderId: 'paper-1', state } })]);
    t.equal(reports[0]?.status, status, state);
  }
  t.end();
});

t.test('a day order ends with the day of UTC, what is filled stays', (t) => {
  const { clock, broker, order, reports } = setUpPaper({ partialFills: 2 });
  order({ ...limit, timeInForce: 'day' });
  broker.setPrice('ES', 4_990);
  broker.setPrice('ES', 4_995);
  clock.advance(dayMs - (clock.now() % dayMs) - 1);
  t.equal(reports.at(-1)?.status, 'partially_filled');
  clock.advance(1);
  t.match(reports.at(-1), {
    status: 'expired',
    reasonCode: 'time_in_force_expired',
    filledQuantity: 1,
    native: { state: 'Expired' },
  });
  t.equal(clock.timerCount, 0);
  t.end();
});

t.test('a day order of an earlier day ends when its terminal starts', (t) => {
  const { clock, broker, reports } = setUpPaper();
  const day = { ...limit, limitPrice: 5_100, timeInForce: 'day' };
  broker.restore([known(day, { updatedAt: clock.now() - dayMs })]);
  t.match(reports, [{ status: 'expired', reasonCode: 'time_in_force_expired' }]);
  t.end();
});

t.test('without a time in force an order is good till cancelled', (t) => {
  const { clock, order, statusesOf } = setUpPaper();
  order(limit);
  clock.advance(10 * dayMs);
  t.strictSame(statusesOf('exe_1'), ['working']);
  t.end();
});

for (const timeInForce of ['ioc', 'fok'] as const) {
  t.test(`an ${timeInForce} order that cannot fill expires at once`, (t) => {
    const { order, reports } = setUpPaper();
    order({ ...limit, timeInForce });
    t.match(reports, [
      { status: 'expired', reasonCode: 'time_in_force_expired', filledQuantity: 0 },
    ]);
    t.end();
  });

  t.test(`a stop with ${timeInForce} waits for its price, and rests no longer`, (t) => {
    const { broker, order, statusesOf } = setUpPaper();
    order({ ...stopLimit, timeInForce });
    broker.setPrice('ES', 5_012);
    t.strictSame(statusesOf('exe_1'), ['working', 'expired']);
    t.end();
  });
}

t.test('an ioc order keeps its first fill, a fok order is filled whole', (t) => {
  const { clock, order, reports } = setUpPaper({ partialFills: 2 });
  order({ timeInForce: 'ioc' });
  order({ timeInForce: 'fok' });
  t.match(reports, [
    { executionId: 'exe_1', status: 'partially_filled', filledQuantity: 1 },
    { executionId: 'exe_1', status: 'expired', filledQuantity: 1, remainingQuantity: 1 },
    { executionId: 'exe_2', status: 'filled', fill: { quantity: 2 } },
  ]);
  t.equal(reports.length, 3);
  t.equal(clock.timerCount, 0);
  t.end();
});

for (const [name, exits, price, side] of [
  ['stop loss', { stopLoss: 4_990 }, 4_989.75, 'buy'],
  ['take profit', { takeProfit: 5_010 }, 5_010, 'buy'],
  ['stop loss', { stopLoss: 5_010 }, 5_010, 'sell'],
  ['take profit', { takeProfit: 4_990 }, 4_990, 'sell'],
] as const) {
  t.test(`the ${name} of a ${side} closes the position, once`, (t) => {
    const { broker, order, reports, events, dataOf } = setUpPaper();
    order({ ...exits, side });
    t.match(dataOf('position_update'), [{ quantity: 2, ...exits }]);
    broker.setPrice('ES', side === 'buy' ? 4_999 : 5_001);
    t.equal(dataOf('position_update').length, 1);
    broker.setPrice('ES', price);
    t.match(dataOf('position_update').at(-1), { side: 'flat', quantity: 0 });
    const told = events.find(({ event }) => event === 'terminal_message');
    t.match(told, { executionId: 'exe_1', rawText: new RegExp(name, 'i') });
    t.equal(reports.length, 1, 'the order itself stays filled');
    order({ side });
    broker.setPrice('ES', price);
    t.match(dataOf('position_update').at(-1), { quantity: 2 }, 'it has ended with the position');
    t.end();
  });
}

t.test('an order that adds to a position changes its exits only if it has any', (t) => {
  const { broker, order, dataOf } = setUpPaper();
  order({ stopLoss: 4_990 });
  order({});
  t.match(dataOf('position_update').at(-1), { quantity: 4, stopLoss: 4_990 });
  order({ stopLoss: 4_980, takeProfit: 5_020 });
  order({ side: 'sell', quantity: 1, stopLoss: 5_050 });
  t.match(dataOf('position_update').at(-1), { quantity: 5, stopLoss: 4_980, takeProfit: 5_020 });
  order({ side: 'sell', quantity: 6, stopLoss: 5_050 });
  t.match(dataOf('position_update').at(-1), { side: 'short', quantity: 1, stopLoss: 5_050 });
  t.notOk('takeProfit' in (dataOf('position_update').at(-1) as object));
  broker.setPrice('ES', 5_050);
  t.match(dataOf('position_update').at(-1), { side: 'flat' });
  t.end();
});

t.test('a fill beyond the stop loss is closed at once', (t) => {
  const { broker, order, dataOf } = setUpPaper();
  order({ ...limit, stopLoss: 4_980 });
  broker.setPrice('ES', 4_970);
  t.match(dataOf('position_update'), [{ side: 'long', averagePrice: 4_970 }, { side: 'flat' }]);
  t.end();
});

t.test('the comment and the prices are shown with the order', (t) => {
  const { order, dataOf, reports } = setUpPaper();
  order({ ...stopLimit, comment: 'trend-7', timeInForce: 'day' });
  t.match(dataOf('order_update')[0], {
    executionType: 'stop_limit',
    stopPrice: 5_010,
    limitPrice: 5_011,
    timeInForce: 'day',
    comment: 'trend-7',
  });
  t.match(reports[0]?.native?.text, /stop_limit 5010 5011 day: StopPending \(trend-7\)$/);
  t.end();
});
