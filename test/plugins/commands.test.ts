/** Judging commands by the catalog: the schemas and the rules of a terminal say the same. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import t from 'tap';
import {
  commands,
  executionTypes,
  isFault,
  readCommand,
  type CommandFault,
  type CommandName,
  type TerminalFields,
} from '../../src/plugins/commands.js';

const order = { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 2 };
const read = (name: string, payload: object, fields?: TerminalFields) => {
  const [signalType = '', cmd = ''] = name.split('/');
  return readCommand({ signalType, cmd, payload: payload as Record<string, unknown> }, fields);
};
const ajv = new Ajv2020({ unicode: false, logger: false });

t.test('commands of the catalog are read as they came', async (t) => {
  for (const [name, payload] of [
    ['order/submit', { ...order, timeInForce: 'ioc', stopLoss: -1.5, takeProfit: 3, comment: '' }],
    ['order/submit', { ...order, executionType: 'stop_limit', limitPrice: 1, stopPrice: 2 }],
    ['position/close', { instrument: 'ES' }],
    ['account/flatten', {}],
  ] as const) {
    t.strictSame(read(name, payload), { name, payload });
  }
});

for (const [reasonCode, named, name, payload] of [
  ['unknown_command', 'order/submit', 'order/modify', order],
  ['unknown_command', 'order/submit', 'constructor/constructor', order],
  ['invalid_field', 'stoploss', 'order/submit', { ...order, stoploss: 4_990 }],
  ['invalid_field', '__proto__', 'order/submit', JSON.parse('{"__proto__": 1}') as object],
  ['invalid_field', 'quantity', 'position/close', { instrument: 'ES', quantity: 1 }],
  ['invalid_field', 'all', 'account/flatten', { all: true }],
  ['missing_field', 'side', 'order/submit', { ...order, side: undefined }],
  ['missing_field', 'quantity', 'order/submit', { ...order, quantity: null }],
  ['missing_field', 'stopPrice', 'order/submit', { ...order, executionType: 'stop' }],
  ['missing_limit_price', 'limitPrice', 'order/submit', { ...order, executionType: 'limit' }],
  ['invalid_field', 'limitPrice', 'order/submit', { ...order, limitPrice: 1 }],
  ['invalid_field', 'timeInForce', 'order/submit', { ...order, timeInForce: 'gtd' }],
  ['invalid_field', 'timeInForce', 'order/submit', { ...order, timeInForce: null }],
  ['invalid_field', 'comment', 'order/submit', { ...order, comment: 'x'.repeat(65) }],
  ['invalid_price', 'stopLoss', 'order/submit', { ...order, stopLoss: '4990' }],
  ['invalid_quantity', 'quantity', 'order/submit', { ...order, quantity: 1e19 }],
] as const) {
  t.test(`${name} ${JSON.stringify(payload).slice(0, 90)} is ${reasonCode}`, async (t) => {
    const fault = read(name, payload);
    t.match(fault, { reasonCode, text: new RegExp(named) });
  });
}

t.test('a number out of its range is not called no number', async (t) => {
  const texts = (field: string, ...values: number[]) =>
    values.map(
      (value) => (read('order/submit', { ...order, [field]: value }) as CommandFault).text,
    );
  t.strictSame(texts('quantity', 0, 1e19), [
    'quantity must be a number above 0 and at most 10^18, not 0.',
    'quantity must be a number above 0 and at most 10^18, not 10000000000000000000.',
  ]);
  t.strictSame(texts('stopLoss', -1e19), [
    'stopLoss must be a number from -10^18 to 10^18, not -10000000000000000000.',
  ]);
});

t.test('what a message shows of a payload is not cut within a character', async (t) => {
  const { text } = read('order/submit', { ...order, [`${'x'.repeat(78)}😀`]: 1 }) as CommandFault;
  t.match(text, /x{78}\.$/);
});

t.test('a terminal may support less than the catalog, and take fields of its own', async (t) => {
  const without = { without: ['stopLoss', 'takeProfit'] } as const;
  t.match(read('order/submit', { ...order, stopLoss: 1 }, without), {
    reasonCode: 'invalid_field',
    text: /stopLoss/,
  });
  const extra = { extra: ['partialFills'] };
  t.notOk(isFault(read('order/submit', { ...order, partialFills: 3 }, extra)));
  t.ok(isFault(read('position/close', { instrument: 'ES', partialFills: 3 }, extra)));
});

t.test('the schemas accept exactly what a terminal accepts', async (t) => {
  const price = fc.constantFrom(-1, 0, 4_990.25, 1e19, '1', null);
  const orders = fc.record(
    {
      instrument: fc.constantFrom('ES', '', 'x'.repeat(65), 7),
      side: fc.constantFrom('buy', 'sell', 'hold'),
      executionType: fc.constantFrom(...executionTypes, 'iceberg', null),
      quantity: fc.constantFrom(1, 0.01, 0, -1, '2'),
      limitPrice: price,
      stopPrice: price,
      timeInForce: fc.constantFrom('day', 'gtc', 'ioc', 'fok', 'gtd'),
      stopLoss: price,
      takeProfit: price,
      comment: fc.constantFrom('', 'x'.repeat(64), 'x'.repeat(65), 1),
      other: fc.constant(1),
    },
    { requiredKeys: [] },
  );
  // Mostly valid ones, so that both answers occur.
  const nearlyValid = fc
    .tuple(fc.constantFrom(...executionTypes), orders, fc.subarray(Object.keys(order)))
    .map(([executionType, odd, keys]) => ({
      ...order,
      executionType,
      ...(/limit/.test(executionType) && { limitPrice: 1 }),
      ...(/stop/.test(executionType) && { stopPrice: 1 }),
      ...Object.fromEntries(Object.entries(odd).filter(([key]) => keys.includes(key))),
    }));
  const seen = { accepted: 0, rejected: 0 };
  for (const name of Object.keys(commands) as CommandName[]) {
    const validate = ajv.compile(commands[name]);
    fc.assert(
      fc.property(fc.oneof(orders, nearlyValid), (payload) => {
        const isRejected = isFault(read(name, payload));
        seen[isRejected ? 'rejected' : 'accepted']++;
        return validate(payload) === !isRejected;
      }),
      { numRuns: 2_000 },
    );
  }
  t.ok(seen.accepted > 100 && seen.rejected > 100, JSON.stringify(seen));
});
