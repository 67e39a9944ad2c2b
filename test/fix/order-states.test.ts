/** Statuses of FIX at the gateway: each value of OrdStatus and OrdRejReason, and the tables of appendix D. */
import t from 'tap';
import { toIsoTime } from '../../src/lib/clock.js';
import { withoutUndefined } from '../../src/lib/without-undefined.js';
import { cancelId, cancelName, id, limitOrder, MemoryDesk, name } from './memory-desk.js';

function submitted(timeInForce: string): MemoryDesk {
  const desk = new MemoryDesk();
  desk.submit(id, { ...limitOrder, timeInForce });
  desk.taken();
  return desk;
}

t.test('each OrdStatus of an order that rests, or has ended, is its status', async (t) => {
  const statuses: Record<string, [state: string, status: string]> = {
    '0': ['New', 'working'],
    '1': ['PartiallyFilled', 'partially_filled'],
    '2': ['Filled', 'filled'],
    '3': ['DoneForDay', 'working'],
    '4': ['Canceled', 'cancelled'],
    '5': ['Replaced', 'working'],
    '6': ['PendingCancel', 'working'],
    '7': ['Stopped', 'working'],
    '8': ['Rejected', 'rejected'],
    '9': ['Suspended', 'working'],
    A: ['PendingNew', 'submitted'],
    B: ['Calculated', 'working'],
    C: ['Expired', 'expired'],
    D: ['AcceptedForBidding', 'working'],
    E: ['PendingReplace', 'working'],
    // A venue's own.
    Z: ['Z', 'working'],
  };
  for (const [ordStatus, [state, status]] of Object.entries(statuses)) {
    const desk = submitted('day');
    desk.receive(`35=8|37=V1|17=E1|150=0|39=${ordStatus}|11=${name}|14=0|151=100|6=0|58=why`);
    const known = desk.plugin.execution(id);
    t.equal(known?.status, status);
    t.strictSame(known?.native, { orderId: 'V1', state, text: 'why' });
  }
});

t.test('each OrdRejReason that has one is told as its reason', async (t) => {
  const reasons = {
    '0': 'broker_rejected',
    '1': 'unknown_instrument',
    '2': 'market_closed',
    '3': 'volume_limit_reached',
    '13': 'invalid_quantity',
    '15': 'unknown_account',
  };
  for (const [code, reasonCode] of Object.entries(reasons)) {
    const desk = submitted('day');
    desk.receive(`35=8|37=V1|17=E1|150=8|39=8|103=${code}|11=${name}|14=0|151=0|6=0`);
    t.match(desk.plugin.execution(id), { status: 'rejected', reasonCode, native: { code } });
  }
});

t.test('ExecType tells an end that OrdStatus hides behind what ranks above it', async (t) => {
  const ends: Record<string, string> = {
    '150=4|39=9|14=0|151=0': 'cancelled, cancelled_by_broker, 0 filled',
    '150=4|39=7|14=0': 'cancelled, cancelled_by_broker, 0 filled',
    '150=C|39=3|14=40|151=0': 'expired, time_in_force_expired, 40 filled',
    '150=C|39=B|14=40|151=0': 'expired, time_in_force_expired, 40 filled',
    '150=4|39=6|14=100|151=0': 'filled, 100 filled',
    '150=4|39=1|14=40|151=30': 'partially_filled, 40 filled',
    '150=9|39=9|14=0|151=0': 'working, 0 filled',
  };
  for (const [fields, told] of Object.entries(ends)) {
    const desk = submitted('gtc');
    desk.receive(`35=8|37=V1|17=E1|${fields}|11=${name}|6=1.1`);
    t.strictSame(desk.taken().told, [told], fields);
  }
});

interface Story {
  readonly timeInForce?: string;
  /**
   * The lines of a table of appendix D: ExecType, OrdStatus, CumQty, LeavesQty, and LastQty if it is a trade; `cancel`
   * where the gateway asks for a cancel; `refused` and OrdStatus for an OrderCancelReject.
   */
  readonly lines: readonly string[];
  readonly ends: string;
}

/** The stories of appendix D of FIX 4.4 that an order of this terminal can take; each order is for 100. */
const stories: Readonly<Record<string, Story>> = {
  'A.1.a filled order': {
    lines: ['0 0 0 100', 'F 1 20 80 20', 'F 2 100 0 80'],
    ends: 'filled, 100 filled',
  },
  'A.1.b part-filled day order, done for day': {
    lines: ['0 0 0 100', 'F 1 20 80 20', '3 3 20 0'],
    ends: 'expired time_in_force_expired, 20 filled',
  },
  'B.1.a cancel request for a zero-filled order': {
    lines: ['0 0 0 100', 'cancel', '6 6 0 100', '4 4 0 0'],
    ends: 'cancelled cancelled_by_api, 0 filled; cancelled',
  },
  'B.1.a the same, refused': {
    lines: ['0 0 0 100', 'cancel', '6 6 0 100', 'refused 0'],
    ends: 'working, 0 filled; rejected unable_to_cancel',
  },
  'B.1.b executions whilst the cancel request is active': {
    lines: ['0 0 0 100', 'F 1 20 80 20', 'cancel', '6 6 20 80', 'F 6 50 50 30', '4 4 50 0'],
    ends: 'cancelled cancelled_by_api, 50 filled; cancelled',
  },
  'B.1.c filled before the cancel request can be accepted': {
    lines: ['0 0 0 100', 'cancel', '6 6 0 100', 'F 6 100 0 100', 'refused 2'],
    ends: 'filled, 100 filled; too_late already_filled',
  },
  'B.1.d cancel request for an order that has not been acknowledged': {
    lines: ['cancel', 'A A 0 100', '6 6 0 100', '4 4 0 0'],
    ends: 'cancelled cancelled_by_api, 0 filled; cancelled',
  },
  'E.1 unsolicited cancel of a part-filled order': {
    lines: ['0 0 0 100', 'F 1 20 80 20', '4 4 20 0'],
    ends: 'cancelled cancelled_by_broker, 20 filled',
  },
  'E.1 unsolicited reduction of the quantity': {
    lines: ['0 0 0 100', 'D 0 0 90', 'F 1 40 50 40', 'F 2 90 0 50'],
    ends: 'filled, 90 filled',
  },
  'G.1 status requests during the life of the order': {
    lines: [
      'I A 0 100',
      '0 0 0 100',
      'I 0 0 100',
      'F 1 20 80 20',
      'I 1 20 80',
      'F 2 100 0 80',
      'I 2 100 0',
    ],
    ends: 'filled, 100 filled',
  },
  'H.1.a GTC order restated, and filled the following day': {
    timeInForce: 'gtc',
    lines: ['0 0 0 100', 'F 1 20 80 20', '3 3 20 80', 'D 1 20 80', 'F 1 50 50 30', '3 3 50 50'],
    ends: 'partially_filled, 50 filled',
  },
  'H.1.b GTC order, a stock split, and filled the following day': {
    timeInForce: 'gtc',
    lines: [
      '0 0 0 100',
      'F 1 60 40 60',
      '3 3 60 40',
      'D 1 120 80',
      'F 1 150 50 30',
      'F 2 200 0 50',
    ],
    ends: 'filled, 200 filled',
  },
  'H.1.c GTC order restated, and cancelled the following day': {
    timeInForce: 'gtc',
    lines: [
      '0 0 0 100',
      'F 1 20 80 20',
      '3 3 20 80',
      'D 1 20 80',
      'cancel',
      '6 6 20 80',
      '4 4 20 0',
    ],
    ends: 'cancelled cancelled_by_api, 20 filled; cancelled',
  },
  'I.1.a fill-or-kill order that cannot be filled': {
    timeInForce: 'fok',
    lines: ['0 0 0 100', '4 4 0 0'],
    ends: 'cancelled time_in_force_expired, 0 filled',
  },
  'I.1.b immediate-or-cancel order that cannot be hit completely': {
    timeInForce: 'ioc',
    lines: ['0 0 0 100', 'F 1 20 80 20', '4 4 20 0'],
    ends: 'cancelled time_in_force_expired, 20 filled',
  },
  // Quantities at the gateway never fall: a warning tells of the correction.
  'J.1.a filled order, then a correction and a cancel of executions': {
    lines: ['0 0 0 100', 'F 1 20 80 20', 'F 2 100 0 80', 'G 2 100 0 80', 'H 1 80 20 20'],
    ends: 'filled, 100 filled; 2 warnings',
  },
  'J.1.b cancelled order, then a busted execution and a new one': {
    lines: ['0 0 0 100', 'F 1 50 50 50', 'cancel', '4 4 50 0', 'H 4 0 0 50', 'F 4 40 0 40'],
    // The reason was reported with the first end.
    ends: 'cancelled, 50 filled; cancelled; 1 warnings',
  },
  'J.1.d part-filled day order done for day, then a correction and a bust': {
    lines: ['0 0 0 100', 'F 1 50 50 50', '3 3 50 0', 'G 3 40 0 40', 'H 3 0 0 40'],
    ends: 'expired time_in_force_expired, 50 filled; 2 warnings',
  },
  'K.1.a trading halt, reinstated': {
    lines: ['0 0 0 100', 'F 1 20 80 20', '9 9 20 80', 'D 1 20 80'],
    ends: 'partially_filled, 20 filled',
  },
  'K.1.b trading halt, cancelled': {
    lines: ['0 0 0 100', 'F 1 20 80 20', '4 4 20 0'],
    ends: 'cancelled cancelled_by_broker, 20 filled',
  },
  'L.1.a guarantee of execution prior to execution': {
    lines: ['0 0 0 100', '7 7 0 100', 'F 7 20 80 20', 'F 2 100 0 80'],
    ends: 'filled, 100 filled',
  },
};

for (const [table, { timeInForce = 'day', lines, ends }] of Object.entries(stories)) {
  t.test(`appendix D, ${table}`, async (t) => {
    const desk = submitted(timeInForce);
    const told: string[] = [];
    let called = `11=${name}`;
    lines.forEach((line, at) => {
      const [execType, ordStatus, cum, leaves, last] = line.split(' ');
      if (line === 'cancel') {
        desk.desk.cancel({ cancelRequestId: cancelId, executionId: id });
        called = `11=${cancelName}|41=${name}`;
      } else if (execType === 'refused') {
        desk.receive(`35=9|37=V1|${called}|434=1|39=${ordStatus}|102=2`);
      } else {
        const trade = last === undefined ? '' : `|31=1.1|32=${last}`;
        const report = `17=E${at}|150=${execType}|39=${ordStatus}|14=${cum}|151=${leaves}${trade}`;
        desk.receive(`35=8|37=V1|${called}|${report}|6=1.1`);
      }
      told.push(...desk.taken().told);
    });
    const { status, reasonCode, filledQuantity } = desk.plugin.execution(id) ?? {};
    const cancel = told.filter((said) => said.startsWith(cancelId)).at(-1);
    const warnings = told.filter((said) => said.startsWith('event ')).length;
    const parts = [
      `${[status, reasonCode].filter((part) => part !== undefined).join(' ')}, ${filledQuantity} filled`,
      ...(cancel === undefined ? [] : [cancel.slice(cancelId.length + 1).replace(',', '')]),
      ...(warnings === 0 ? [] : [`${warnings} warnings`]),
    ];
    t.equal(parts.join('; '), ends);
  });
}

const report = `35=8|37=V1|11=${name}`;
const isNew = `${report}|17=E0|150=0|39=0|14=0|151=100|6=0`;
const isPartlyFilled = `${report}|17=E1|150=F|39=1|14=40|151=60|6=1.1|31=1.1|32=40`;

function reported(...reports: string[]): MemoryDesk {
  const desk = submitted('gtc');
  for (const each of reports) desk.receive(each);
  desk.taken();
  return desk;
}

t.test('FIX 4.2 says by ExecTransType that a trade is taken back or corrected', async (t) => {
  for (const transType of ['1', '2']) {
    const desk = reported(isPartlyFilled);
    desk.receive(`${report}|17=E2|20=${transType}|150=1|39=1|14=20|151=80|6=1.1|31=1.1|32=20`);
    const { told } = desk.taken();
    t.equal(told.length, 1);
    t.match(told[0], /^event .*takes back or corrects a trade/);
    t.equal(desk.plugin.execution(id)?.fills.length, 1);
  }
});

t.test('a report that is no trade tells no fill, though it repeats the last one', async (t) => {
  for (const fields of [
    '150=I|39=1|14=40|151=60',
    '150=D|39=1|14=40|151=60',
    '150=4|39=4|14=40|151=0',
  ]) {
    const desk = reported(isPartlyFilled);
    desk.receive(`${report}|17=E2|${fields}|6=1.1|31=1.1|32=40`);
    t.match(desk.plugin.execution(id), { filledQuantity: 40, fills: [{ fillId: 'E1' }] });
    t.equal(desk.plugin.execution(id)?.fills.length, 1, fields);
  }
});

t.test('where a trade says no CumQty it counts beside what was filled before', async (t) => {
  const isAnswered = `${report}|17=0|150=I|39=1|14=40|151=60|6=1.1`;
  for (const before of [isPartlyFilled, isAnswered]) {
    const desk = reported(before);
    desk.receive(`${report}|17=E2|150=F|39=6|31=1.1|32=60`);
    t.equal(desk.plugin.execution(id)?.status, 'filled');
  }
});

t.test('a late fill says what was open then: of an order that has ended nothing is', async (t) => {
  const desk = reported(isNew, `${report}|17=E2|150=4|39=4|14=40|151=0|6=1.1`);
  desk.receive(isPartlyFilled);
  t.match(desk.plugin.execution(id), { status: 'cancelled', filledQuantity: 40 });
  t.not(desk.plugin.execution(id)?.remainingQuantity, 60);
});

t.test(
  'after a bust the trades that follow count, up to what was filled before, too',
  async (t) => {
    const desk = reported(isPartlyFilled);
    desk.receive(`${report}|17=E2|150=H|39=0|14=0|151=100|6=0|31=1.1|32=40`);
    desk.taken();
    desk.receive(`${report}|17=E3|150=F|39=1|14=40|151=60|6=1.2|31=1.2|32=40`);
    desk.receive(`${report}|17=E4|150=F|39=1|14=50|151=50|6=1.2|31=1.2|32=10`);
    t.strictSame(desk.taken().told, [
      'partially_filled, 40 filled, E3: 40 at 1.2',
      'partially_filled, 50 filled, E4: 10 at 1.2',
    ]);
  },
);

for (const [end, told] of [
  ['150=C|39=C|14=90|151=0|6=1.2', 'expired, time_in_force_expired'],
  ['150=F|39=2|14=100|151=0|6=1.2|31=1.2|32=10', 'filled, E5: 10 at 1.2'],
] as const) {
  t.test(`an end below what the gateway has counted since a bust is told: ${told}`, async (t) => {
    const desk = reported(isPartlyFilled);
    desk.receive(`${report}|17=E2|150=H|39=0|14=0|151=100|6=0|31=1.1|32=40`);
    // The gateway knows no busts: for it these are 130, with the first one.
    desk.receive(`${report}|17=E3|150=F|39=1|14=40|151=60|6=1.2|31=1.2|32=40`);
    desk.receive(`${report}|17=E4|150=F|39=1|14=90|151=10|6=1.2|31=1.2|32=50`);
    desk.taken();
    desk.receive(`${report}|17=E5|${end}`);
    t.strictSame(desk.taken().told, [told]);
    t.match(desk.plugin.execution(id), { status: told.split(',')[0] });
  });
}

t.test(
  'an end after a bust is told, and a trade of an order that was forgotten counts',
  async (t) => {
    const bust = `${report}|17=E2|150=H|39=0|14=0|151=100|6=0|31=1.1|32=40`;
    const ended = reported(isPartlyFilled, bust);
    ended.receive(`${report}|17=E3|150=C|39=C|14=0|151=0|6=0`);
    t.strictSame(ended.taken().told, ['expired, time_in_force_expired']);
    const forgotten = reported(isPartlyFilled, bust, `${report}|17=0|150=8|39=8|103=5|14=0|151=0`);
    forgotten.receive(`${report}|17=E3|150=F|39=1|14=20|151=80|6=1.2|31=1.2|32=20`);
    t.strictSame(forgotten.taken().told, ['partially_filled, E3: 20 at 1.2']);
  },
);

t.test(
  'a cancelled order that turns out filled is filled; what is older changes nothing',
  async (t) => {
    const desk = reported(isNew, `${report}|17=E2|150=4|39=4|14=0|151=0|6=0`);
    desk.receive(`${report}|17=E3|150=I|39=2|14=100|151=0|6=1.1`);
    t.strictSame(desk.taken().told, ['filled, 100 filled']);
    const working = reported(isNew);
    working.receive(`${report}|17=E4|150=A|39=A|14=0|151=100|6=0`);
    t.strictSame(working.taken().told, []);
  },
);

t.test('an order that was rejected and turns out filled is said', async (t) => {
  const desk = reported(`${report}|17=E0|150=8|39=8|103=1|14=0|151=0|6=0`);
  desk.receive(`${report}|17=E1|150=F|39=2|14=100|151=0|6=1.1|31=1.1|32=100`);
  const { told } = desk.taken();
  t.match(told[0], /^event .*an order that it had rejected/);
  t.equal(told[1], 'rejected, 100 filled, E1: 100 at 1.1');
});

t.test(
  'an answer alone tells that an order is forgotten, and its OrderID means nothing',
  async (t) => {
    const desk = reported(isNew);
    desk.receive(`35=8|37=0|11=${name}|17=0|150=I|39=8|14=0|151=0|6=0`);
    const known = { status: 'unknown', remainingQuantity: 100, native: { orderId: 'V1' } };
    t.match(desk.plugin.execution(id), known);
    const before44 = reported(isNew);
    before44.receive(`35=8|37=0|11=${name}|17=0|20=3|150=8|39=8|14=0|151=0|6=0`);
    t.match(before44.plugin.execution(id), known);
  },
);

t.test('a fill in the first or the last year that a frame can carry was filled then', async (t) => {
  for (const [time, filledAt] of Object.entries({
    '10000101-00:00:00': '1000-01-01T00:00:00.000Z',
    '29991231-23:59:59.999': '2999-12-31T23:59:59.999Z',
  })) {
    const desk = reported(`${isPartlyFilled}|60=${time}`);
    t.match(desk.plugin.execution(id)?.fills, [{ filledAt }]);
  }
  for (const time of ['09991231-23:59:59.999', '30000101-00:00:00']) {
    const desk = reported(`${isPartlyFilled}|60=${time}`);
    t.match(desk.plugin.execution(id)?.fills, [{ filledAt: toIsoTime(desk.clock.now()) }]);
  }
});

t.test('a report tells what is filled, what remains, and at what average', async (t) => {
  const told: Record<string, object> = {
    '39=1|14=40|151=60|6=1.1': { filledQuantity: 40, remainingQuantity: 60, averageFillPrice: 1.1 },
    '39=1|14=0.5|151=99.5|6=-0.5': {
      filledQuantity: 0.5,
      remainingQuantity: 99.5,
      averageFillPrice: -0.5,
    },
    // An average price means nothing while nothing is filled.
    '39=0|14=0|151=100|6=1.1': { filledQuantity: 0, remainingQuantity: 100 },
    '39=0|151=100|6=1.1': { remainingQuantity: 100 },
    '39=0|14=x|151=-1|6=1e5': {},
  };
  for (const [fields, amounts] of Object.entries(told)) {
    const desk = reported(`${report}|17=E1|150=I|${fields}`);
    const known = desk.plugin.execution(id);
    const { filledQuantity, remainingQuantity, averageFillPrice } = known ?? {};
    const said = withoutUndefined({ filledQuantity, remainingQuantity, averageFillPrice });
    t.strictSame(said, amounts, fields);
  }
});

t.test('less than 1 of an order counts as any other quantity', async (t) => {
  const little = `${report}|17=E1|150=F|39=1|14=0.5|151=99.5|6=1.1|31=1.1|32=0.5`;
  const desk = reported(little);
  t.match(desk.plugin.execution(id), { status: 'partially_filled', fills: [{ quantity: 0.5 }] });
  desk.receive(`${report}|17=E2|150=8|39=8|103=0|151=0|6=1.1`);
  t.equal(desk.plugin.execution(id)?.status, 'cancelled');
  const resting = reported(`${report}|17=E1|150=D|39=0|14=0.5|151=99.5|6=1.1`);
  t.equal(resting.plugin.execution(id)?.status, 'partially_filled');
});

t.test(
  'an order that the venue has made larger is not filled while something is open',
  async (t) => {
    const desk = reported(`${report}|17=E1|150=D|39=1|14=120|151=80|6=1.1`);
    t.equal(desk.plugin.execution(id)?.status, 'partially_filled');
  },
);

t.test(
  'a trade without an ExecID, a price or a quantity tells no fill, and what is filled',
  async (t) => {
    for (const field of ['17=E1', '31=1.1', '32=40']) {
      const desk = reported(isPartlyFilled.replace(`|${field}`, ''));
      t.match(desk.plugin.execution(id), { filledQuantity: 40, remainingQuantity: 60 });
      t.strictSame(desk.plugin.execution(id)?.fills, [], field);
    }
    const nothing = reported(isPartlyFilled.replace('32=40', '32=0'));
    t.strictSame(nothing.plugin.execution(id)?.fills, []);
  },
);

t.test('a long ExecID that is given again makes an id that a frame carries', async (t) => {
  const long = `17=${'E'.repeat(200)}`;
  const desk = reported(isPartlyFilled.replace('17=E1', long));
  desk.receive(`${report}|${long}|150=F|39=2|14=100|151=0|6=1.1|31=1.1|32=60`);
  const ids = desk.plugin.execution(id)?.fills.map(({ fillId }) => fillId);
  t.strictSame(ids, ['E'.repeat(128), `${'E'.repeat(124)}/100`]);
});

t.test('a cancel of an order that has ended tells how it ended', async (t) => {
  const request = { cancelRequestId: cancelId, executionId: id };
  const ends: Record<string, string> = {
    '150=8|39=8|103=1|14=0': 'too_late, already_cancelled',
    '150=C|39=C|14=0': 'too_late, already_cancelled',
    '150=4|39=4|14=0': 'cancelled',
    '150=2|39=2|14=100': 'too_late, already_filled',
  };
  for (const [fields, told] of Object.entries(ends)) {
    const ended = reported(`${report}|17=E1|${fields}|151=0`);
    ended.desk.cancel(request);
    t.strictSame(ended.taken(), { sent: [], told: [`${cancelId} ${told}`] });
    const asked = reported();
    asked.desk.cancel(request);
    asked.receive(`${report}|17=E1|${fields}|151=0`);
    t.equal(asked.taken().told.at(-1), `${cancelId} ${told}`);
  }
});

t.test(
  'a refused cancel tells code and text, and too late alone means that it is filled',
  async (t) => {
    const refusals: Record<string, object> = {
      '102=0': {
        status: 'too_late',
        reasonCode: 'already_filled',
        native: { code: '0', text: 'no' },
      },
      '102=0|39=C': {
        status: 'too_late',
        reasonCode: 'already_cancelled',
        native: { code: '0', text: 'no' },
      },
      '102=1|39=8': {
        status: 'rejected',
        reasonCode: 'order_unknown_at_terminal',
        native: { code: '1', text: 'no' },
      },
      '102=2|39=0': {
        status: 'rejected',
        reasonCode: 'unable_to_cancel',
        native: { code: '2', text: 'no' },
      },
    };
    for (const [fields, evidence] of Object.entries(refusals)) {
      const desk = reported(isNew);
      desk.desk.cancel({ cancelRequestId: cancelId, executionId: id });
      const frames: object[] = [];
      desk.note = (frame) => void frames.push(frame);
      desk.receive(`35=9|37=V1|11=${cancelName}|41=${name}|434=1|${fields}|58=no`);
      t.strictSame(frames, [{ type: 'cancel_report', cancelRequestId: cancelId, ...evidence }]);
    }
  },
);
