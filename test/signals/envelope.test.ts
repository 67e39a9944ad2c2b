import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import t from 'tap';
import { parseJson } from '../../src/http/json-body.js';
import { unixMsMax } from '../../src/limits.js';
import {
  arePlatforms,
  createEnvelopeReader,
  envelopeSchema,
  platformTokens,
} from '../../src/signals/envelope.js';
import { shippedLimits } from '../support/shipped-limits.js';

const limits = shippedLimits();
const reader = createEnvelopeReader(limits, new Set(['terminal_a', 'terminal_b']));
const now = Date.UTC(2026, 0, 15, 12);
const valid = {
  v: 1,
  signalId: 's-1',
  ts: now,
  ttlMs: 1_000,
  platform: 'terminal_a',
  type: 'order',
  cmd: 'submit',
  payload: {},
};
const emoji = '😀';

/** Each row of the specification's table, with values that break it; `undefined` leaves the field out. */
const rows: [field: string, code: string, values: readonly unknown[]][] = [
  ['v', 'unsupported_version', [undefined, 0, 2, '1', 1.5, true, null, [1], {}]],
  ['signalId', 'invalid_length', [undefined, '', 'x'.repeat(129), 7, null, ['a'], {}]],
  ['type', 'invalid_length', [undefined, '', 'x'.repeat(65), 7, null, ['order'], {}]],
  ['cmd', 'invalid_length', [undefined, '', 'x'.repeat(65), 7, null, {}]],
  [
    'ts',
    'invalid_unix_milliseconds',
    [undefined, null, '', '0', 1.5, -1, unixMsMax + 1, 1e300, `${now}`, true, {}],
  ],
  ['ts', 'signal_from_future', [now + 60_001]],
  ['ttlMs', 'invalid_ttl', [undefined, null, 0, -1, 1.5, 300_001, '1000', true, {}]],
  ['platform', 'required', [undefined, null, '', 7, ['terminal_a'], {}]],
  [
    'platform',
    'unsupported_platform',
    [
      ...['terminal_c', 'terminal_a,', ',terminal_a', ' ', ',', 'Terminal_A', 'terminal_a, '],
      ...['terminal_a,,terminal_b', 'terminal_a;terminal_b', 'terminal_a terminal_b'],
      ...['__proto__', 'constructor'],
    ],
  ],
  ['payload', 'object_required', [undefined, null, [], [{}], '', 'x', 7, true]],
  ['instanceId', 'invalid_length', ['', null, 7, 'x'.repeat(129), {}, []]],
  ['accountName', 'invalid_length', ['', null, 7, 'x'.repeat(129), {}, []]],
];
for (const [field, code, values] of rows) {
  t.test(`${field} is refused as ${code}`, async (t) => {
    for (const value of values) {
      const body = { ...valid, [field]: value };
      if (value === undefined) Reflect.deleteProperty(body, field);
      t.strictSame(reader.read(body, now), [{ field, code }], JSON.stringify({ value }));
    }
  });
}

t.test('ttlMs is refused once the signal’s time has passed', async (t) => {
  const expired = [{ field: 'ttlMs', code: 'signal_expired' }];
  t.strictSame(reader.read({ ...valid, ts: now - 1_001 }, now), expired);
  t.strictSame(reader.read({ ...valid, ts: 0 }, now), expired);
});

t.test('ttlMs is refused where its sum with ts lies beyond the range', async (t) => {
  const body = { ...valid, ts: unixMsMax };
  t.strictSame(reader.read(body, unixMsMax), [{ field: 'ttlMs', code: 'timestamp_overflow' }]);
  t.strictSame(reader.read(body, now), [
    { field: 'ts', code: 'signal_from_future' },
    { field: 'ttlMs', code: 'timestamp_overflow' },
  ]);
  t.strictSame(read({ ...valid, ts: unixMsMax - 1, ttlMs: 1 }), ['ts signal_from_future']);
});

t.test('a wrong ttlMs is told beside a wrong ts', async (t) => {
  const later = { ...valid, ts: now + 60_001, ttlMs: 0 };
  t.strictSame(read(later), ['ts signal_from_future', 'ttlMs invalid_ttl']);
  const unusable = { ...valid, ts: 'x', ttlMs: 'y' };
  t.strictSame(read(unusable), ['ts invalid_unix_milliseconds', 'ttlMs invalid_ttl']);
});

t.test('lengths count UTF-16 code units', async (t) => {
  t.ok(isValid({ signalId: emoji.repeat(64), type: emoji.repeat(32) }));
  for (const long of [
    { signalId: `${emoji.repeat(64)}x` },
    { type: emoji.repeat(33) },
    { cmd: emoji.repeat(33) },
    { instanceId: emoji.repeat(65) },
  ]) {
    t.notOk(isValid(long));
  }
});

t.test('a root that is no object is told as that alone', async (t) => {
  for (const body of [null, [], [valid], 'x', 7, true]) {
    t.strictSame(reader.read(body, now), [{ field: '$', code: 'object_required' }]);
  }
});

t.test('all violations at once, one per rule, in the table’s order', async (t) => {
  t.strictSame(read({}), [
    'v unsupported_version',
    'signalId invalid_length',
    'type invalid_length',
    'cmd invalid_length',
    'ts invalid_unix_milliseconds',
    'ttlMs invalid_ttl',
    'platform required',
    'payload object_required',
  ]);
  t.strictSame(
    read({ instanceId: '', payload: 1, platform: 'x,y', ttlMs: 1, ts: 0, cmd: 'c', type: 't' }),
    [
      'v unsupported_version',
      'signalId invalid_length',
      'ttlMs signal_expired',
      'platform unsupported_platform',
      'payload object_required',
      'instanceId invalid_length',
    ],
  );
});

const accepted: [string, object][] = [
  ['ts as far ahead as the skew allows', { ts: now + 60_000 }],
  ['ts + ttlMs equal to now', { ts: now - 1_000, ttlMs: 1_000 }],
  ['the shortest ttlMs', { ttlMs: 1 }],
  ['the longest ttlMs', { ttlMs: 300_000 }],
  ['the longest texts', { signalId: 'x'.repeat(128), type: 'x'.repeat(64), cmd: 'x'.repeat(64) }],
  ['spaces around a text', { signalId: ' s ' }],
  ['the longest names', { instanceId: 'x'.repeat(128), accountName: 'x'.repeat(128) }],
  ['the shortest texts', { type: 't', cmd: 'c', instanceId: 'i', accountName: 'a' }],
  ['several platforms, spaces and repeats', { platform: ' terminal_b , terminal_a,terminal_b' }],
];
for (const [name, change] of accepted) {
  t.test(`accepted: ${name}`, async (t) => {
    t.ok(isValid(change));
  });
}

t.test('fields named after an object’s inner parts neither help nor harm', async (t) => {
  const hidden = JSON.parse(`{"__proto__": ${JSON.stringify(valid)}}`) as object;
  const told = read(hidden);
  t.equal(told.length, 9, 'what hides in a prototype is missing');
  t.equal(told.at(-1), '__proto__ unknown_field');
  const beside = JSON.parse(
    JSON.stringify(valid).replace('{', '{"__proto__":{"instanceId":""},"constructor":{"v":2},'),
  ) as object;
  t.strictSame(read(beside), ['__proto__ unknown_field', 'constructor unknown_field']);
  t.equal(({} as Record<string, unknown>)['instanceId'], undefined);
});

t.test('a field that is not known is refused, for it may be a misspelt target', async (t) => {
  for (const field of ['accountname', 'account', 'V', '', ' v', 'toString', 'prototype', '0']) {
    for (const value of [1, null, undefined, 'Sim101', {}]) {
      t.strictSame(
        reader.read({ ...valid, [field]: value }, now),
        [{ field, code: 'unknown_field' }],
        JSON.stringify({ field, value }),
      );
    }
  }
});

t.test('unknown fields come after the rows of the table, in the body’s order', async (t) => {
  const body = { zeta: 1, ...valid, alpha: 2, ttlMs: 0, instanceId: '', accountName: 'Sim101' };
  t.strictSame(reader.read(body, now), [
    { field: 'ttlMs', code: 'invalid_ttl' },
    { field: 'instanceId', code: 'invalid_length' },
    { field: 'zeta', code: 'unknown_field' },
    { field: 'alpha', code: 'unknown_field' },
  ]);
});

t.test('a misspelt field is found beside the absence of the one that was meant', async (t) => {
  const { payload, ...rest } = valid;
  t.strictSame(read({ ...rest, payloads: payload }), [
    'payload object_required',
    'payloads unknown_field',
  ]);
  t.strictSame(read({ ...valid, instanceID: 'desk-1' }), ['instanceID unknown_field']);
});

t.test('the operator’s limits apply', async (t) => {
  const own = createEnvelopeReader(
    shippedLimits({
      ttlMsMax: 10,
      signalIdLengthMax: 2,
      instanceIdLengthMax: 1,
      futureSkewMsMax: 0,
    }),
    new Set(['x']),
  );
  const body = {
    ...valid,
    ts: now + 1,
    signalId: 'abc',
    ttlMs: 11,
    platform: 'x',
    instanceId: 'ab',
  };
  t.strictSame(own.read(body, now), [
    { field: 'signalId', code: 'invalid_length' },
    { field: 'ts', code: 'signal_from_future' },
    { field: 'ttlMs', code: 'invalid_ttl' },
    { field: 'instanceId', code: 'invalid_length' },
  ]);
});

t.test('platform tokens: spaces trimmed, repeats once, in the order given', async (t) => {
  t.strictSame(platformTokens(' b, a ,b,,a'), ['b', 'a', '']);
});

t.test('platform tokens are looked at up to the first unknown one', async (t) => {
  const asked: string[] = [];
  class Known extends Set<string> {
    override has(token: string): boolean {
      asked.push(token);
      return super.has(token);
    }
  }
  const known = new Known(['a', 'b']);
  t.notOk(arePlatforms(`a, b ,${'c,'.repeat(30_000)}`, known));
  t.strictSame(asked, ['a', 'b', 'c']);
  t.ok(arePlatforms('b ,a', known));
  for (const text of ['a,', ',a', 'a,,b', ' ', ',']) t.notOk(arePlatforms(text, known), text);
});

t.test('the compiled schema and the table of rules agree on any body', async () => {
  const isEnvelope = new Ajv({ strict: true, unicode: false }).compile(envelopeSchema(limits));
  const timely = [
    'signal_from_future',
    'signal_expired',
    'timestamp_overflow',
    'unsupported_platform',
  ];
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom(1, '', 'x', {}, now, -0, 0.5, 300_000, 'terminal_a'),
    fc.string({ minLength: 60, maxLength: 140, unit: 'binary' }),
    fc.integer({ min: -1, max: 300_001 }),
    fc.double(),
  );
  const bodies = fc.record(
    Object.fromEntries(
      [
        ...Object.entries(valid),
        ['instanceId', 'desk'] as const,
        ['accountName', 'Sim101'] as const,
        ['misspelt', 'x'] as const,
      ].map(([name, value]) => [
        name,
        fc.oneof({ weight: 8, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: anything }),
      ]),
    ),
    { requiredKeys: [] },
  );
  let agreedValid = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: bodies }, fc.jsonValue()), (body) => {
      const verdict = reader.read(body, now);
      const broken = Array.isArray(verdict) ? verdict : [];
      const shape = broken.filter(({ code }) => !timely.includes(code));
      assert.equal(isEnvelope(body), shape.length === 0, JSON.stringify(broken));
      assert.equal(verdict === body, broken.length === 0);
      if (broken.length === 0) agreedValid++;
    }),
    { numRuns: 3_000 },
  );
  assert(agreedValid > 20, 'the property saw valid bodies too');
});

function isValid(change: object): boolean {
  const body = { ...valid, ...change };
  return reader.read(body, now) === body;
}

function read(body: object): string[] {
  const verdict = reader.read(body, now);
  assert(Array.isArray(verdict));
  return verdict.map(({ field, code }) => `${field} ${code}`);
}

t.test('of a long body only what the gateway reads is parsed', async (t) => {
  const terms = {
    side: 'buy',
    executionType: 'limit',
    instrument: 'ES',
    quantity: 1,
    limitPrice: 2,
  };
  const newNames = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`name${i}`, 'text']));
  const body = {
    ...valid,
    instanceId: 'i',
    accountName: 'a',
    payload: { ...newNames, ...terms, deeper: [newNames] },
  };
  const parse = (value: object) =>
    parseJson(Buffer.from(JSON.stringify(value)), 16, reader.outline, 'payload');
  const parsed = parse(body);
  const envelope = reader.read(parsed?.value, now);
  t.match(envelope, { ...valid, instanceId: 'i', accountName: 'a', payload: terms });
  t.notMatch(JSON.stringify(envelope), 'name499');
  t.equal(parsed?.memberText, JSON.stringify(body.payload), 'the terminal gets all');

  const refused = (value: object) => reader.read(parse(value)?.value, now);
  for (const [field, , values] of rows) {
    for (const value of values) {
      const broken = { ...body, [field]: value };
      t.strictSame(refused(broken), reader.read(broken, now), JSON.stringify({ field, value }));
    }
  }
  const misspelt = { ...body, acountName: 'a', ...newNames };
  t.strictSame(refused(misspelt), reader.read(misspelt, now), 'unknown fields are told');
});
