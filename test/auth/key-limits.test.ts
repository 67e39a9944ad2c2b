import t from 'tap';
import { isAddressAllowed, parseKeyLimits } from '../../src/auth/key-limits.js';
import { readAddress } from '../../src/lib/cidr.js';
import type { ApiKey, KeyLimits } from '../../src/model/records.js';

const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);

t.test('no limits, or none in them, is null', (t) => {
  for (const none of [undefined, null, {}]) t.equal(parseKeyLimits(none), null);
  t.end();
});

t.test('every limit is taken as it was given, at its edges too', (t) => {
  const good: readonly object[] = [
    { allowedIps: ['192.0.2.7'] },
    { allowedIps: many(16, '2001:db8::/32') },
    { allowedInstruments: ['E'] },
    { allowedInstruments: many(64, 'x'.repeat(60)) },
    { allowedInstruments: [...many(31, 'x'.repeat(128)), 'x'.repeat(31)] },
    { maxOrderQuantity: 5e-324 },
    { maxOrderQuantity: Number.MAX_VALUE },
    { maxOpenOrders: 1 },
    { maxOpenOrders: Number.MAX_SAFE_INTEGER },
    { maxOrdersPerSecond: 1 },
    { maxOrdersPerSecond: 1000 },
    { allowedIps: ['::1'], allowedInstruments: ['ES'], maxOrderQuantity: 1, maxOpenOrders: 1 },
  ];
  for (const limits of good) t.strictSame(parseKeyLimits(limits), limits, JSON.stringify(limits));
  t.end();
});

t.test('a bad limit is named with its rule', (t) => {
  const rows: readonly (readonly [name: string, code: string, values: unknown[]])[] = [
    ['allowedIps', 'array_required', [null, '192.0.2.7', {}, 7]],
    ['allowedIps', 'invalid_length', [[], many(17, '192.0.2.7')]],
    // oxfmt-ignore
    ['allowedIps', 'invalid_address', [[''], ['host'], ['192.0.2.0/33'], ['::/129'], ['fe80::1%eth0'], [7], [null], ['192.0.2.7', '192.0.2']]],
    ['allowedInstruments', 'array_required', [null, 'ES', {}]],
    ['allowedInstruments', 'invalid_length', [[], many(65, 'ES')]],
    // More than 4096 bytes as JSON.
    // oxfmt-ignore
    ['allowedInstruments', 'invalid_length', [[...many(31, 'x'.repeat(128)), 'x'.repeat(32)], many(6, '\u0001'.repeat(128)), many(11, '語'.repeat(128))]],
    ['allowedInstruments', 'invalid_instrument', [[''], [7], [null], ['x'.repeat(129)], [['ES']]]],
    ['maxOrderQuantity', 'out_of_range', [null, '1', 0, -0, -1, Infinity, NaN, [1]]],
    ['maxOpenOrders', 'out_of_range', [null, '1', 0, -1, 1.5, 2 ** 53, true]],
    ['maxOrdersPerSecond', 'out_of_range', [null, '1', 0, 1.5, 1001]],
    ['maxOpenOrder', 'unknown_field', [1, null]],
    ['toString', 'unknown_field', [1]],
  ];
  for (const [name, code, values] of rows) {
    for (const value of values) {
      const expected = [{ field: `limits.${name}`, code }];
      t.strictSame(parseKeyLimits({ [name]: value }), expected, `${name} ${JSON.stringify(value)}`);
    }
  }
  const hidden = JSON.parse('{"__proto__":{"maxOpenOrders":1}}');
  t.strictSame(parseKeyLimits(hidden), [{ field: 'limits.__proto__', code: 'unknown_field' }]);
  for (const value of [[], 'none', 7, true]) {
    t.strictSame(parseKeyLimits(value), [{ field: 'limits', code: 'object_required' }]);
  }
  t.end();
});

t.test('all bad limits are named at once', (t) => {
  t.strictSame(parseKeyLimits({ more: 1, maxOpenOrders: 0, allowedIps: [] }), [
    { field: 'limits.allowedIps', code: 'invalid_length' },
    { field: 'limits.maxOpenOrders', code: 'out_of_range' },
    { field: 'limits.more', code: 'unknown_field' },
  ]);
  t.end();
});

t.test('what is told of unknown limits is bounded', (t) => {
  const names = ['x'.repeat(60_000), ...Array.from({ length: 5_000 }, (_, i) => `f${i}`)];
  const told = parseKeyLimits(Object.fromEntries(names.map((name) => [name, 1])));
  t.ok(Array.isArray(told));
  t.ok(JSON.stringify(told).length < 2_000);
  t.end();
});

t.test('a key without allowedIps works from anywhere, any other from its ranges alone', (t) => {
  const keyOf = (limits?: KeyLimits | null) => ({ limits }) as ApiKey;
  const from = (key: ApiKey, address: string) =>
    isAddressAllowed(key, { address: readAddress(address) ?? new Uint8Array(0) });
  for (const limits of [undefined, null, { maxOpenOrders: 1 }]) {
    t.ok(from(keyOf(limits), '203.0.113.9'));
    t.ok(from(keyOf(limits), ''));
  }
  const key = keyOf({ allowedIps: ['192.0.2.0/24', '2001:db8::7'] });
  for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '2001:db8::7']) t.ok(from(key, address));
  for (const address of ['203.0.113.9', '2001:db8::8', '']) t.notOk(from(key, address), address);
  t.end();
});
