/** The validation of POST /api/v1/signals: every row of its table, every boundary, all at once. */
import t, { type Test } from 'tap';
import { signal, status, submit, verdict } from '../support/api.js';
import { openPlugin } from '../support/plugin.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const { key, sessionToken } = await gateway.user();

const unixMsMax = 253_402_300_799_999;
const without = (name: string) =>
  Object.fromEntries(Object.entries(signal()).filter(([field]) => field !== name));

type Row = [field: string, code: string];

async function isInvalid(
  t: Test,
  body: object | string,
  rows: readonly Row[],
  name?: string,
): Promise<void> {
  const answer = await submit(url, key, body);
  const label = name ?? JSON.stringify(body).slice(0, 80);
  t.equal(verdict(answer), '422 invalid_signal', label);
  t.same(Object.keys(answer.body), ['error'], label);
  t.same(Object.keys(answer.body.error), ['code', 'message', 'traceId', 'details'], label);
  t.same(
    answer.body.error.details,
    rows.map(([field, code]) => ({ field, code })),
    label,
  );
}

async function isValid(t: Test, body: object | string, name?: string): Promise<any> {
  const answer = await submit(url, key, body);
  t.equal(answer.status, 202, `${name ?? ''} ${answer.text}`);
  return answer.body;
}

t.test(
  '$ object_required: the root must be an object, and nothing else is told then',
  async (t) => {
    for (const body of ['null', '[]', '[{"v":1}]', '"text"', '7', 'true']) {
      await isInvalid(t, body, [['$', 'object_required']]);
    }
  },
);

t.test('each field alone: what violates which rule', async (t) => {
  const now = Date.now();
  // oxfmt-ignore
  const rows: [fields: object, violation: Row][] = [
    ...[undefined, null, 0, 2, 1.5, '1', true, [1], {}].map((v): [object, Row] => [{ v }, ['v', 'unsupported_version']]),
    ...[undefined, null, '', 'x'.repeat(129), 7, ['a'], {}].map((signalId): [object, Row] => [{ signalId }, ['signalId', 'invalid_length']]),
    ...[undefined, null, '', 'x'.repeat(65), 7, {}].map((type): [object, Row] => [{ type }, ['type', 'invalid_length']]),
    ...[undefined, null, '', 'x'.repeat(65), 7, {}].map((cmd): [object, Row] => [{ cmd }, ['cmd', 'invalid_length']]),
    ...[undefined, null, '', String(now), now + 0.5, -1, unixMsMax + 1, 1e300, true, {}].map((ts): [object, Row] => [{ ts }, ['ts', 'invalid_unix_milliseconds']]),
    // Far enough ahead for a busy machine that comes to this row late.
    [{ ts: now + 3_600_000 }, ['ts', 'signal_from_future']],
    ...[undefined, null, 0, -1, 1.5, 300_001, '60000', true, {}].map((ttlMs): [object, Row] => [{ ttlMs }, ['ttlMs', 'invalid_ttl']]),
    [{ ts: now - 10_000, ttlMs: 5_000 }, ['ttlMs', 'signal_expired']],
    [{ ts: 0, ttlMs: 300_000 }, ['ttlMs', 'signal_expired']],
    ...[undefined, null, '', 7, [], {}].map((platform): [object, Row] => [{ platform }, ['platform', 'required']]),
    ...['terminal_c', 'Terminal_A', 'terminal_a,', ',terminal_a', 'terminal_a,,terminal_b', ',', ' ', 'terminal_a, ', 'terminal_a;terminal_b',
      'terminal_a terminal_b', '__proto__', 'constructor'].map((platform): [object, Row] => [{ platform }, ['platform', 'unsupported_platform']]),
    ...[undefined, null, '', 'x', 7, true, [], [{}]].map((payload): [object, Row] => [{ payload }, ['payload', 'object_required']]),
    ...[null, '', 'x'.repeat(129), 7, {}, []].map((instanceId): [object, Row] => [{ instanceId }, ['instanceId', 'invalid_length']]),
    ...[null, '', 'x'.repeat(129), 7, {}, []].map((accountName): [object, Row] => [{ accountName }, ['accountName', 'invalid_length']]),
  ];
  for (const [fields, violation] of rows)
    await isInvalid(
      t,
      signal(fields),
      [violation],
      JSON.stringify(fields).slice(0, 60) + String(violation),
    );
});

t.test(
  'an empty object violates every rule of a required field, in the table’s order',
  async (t) => {
    await isInvalid(t, {}, [
      ['v', 'unsupported_version'],
      ['signalId', 'invalid_length'],
      ['type', 'invalid_length'],
      ['cmd', 'invalid_length'],
      ['ts', 'invalid_unix_milliseconds'],
      ['ttlMs', 'invalid_ttl'],
      ['platform', 'required'],
      ['payload', 'object_required'],
    ]);
  },
);

t.test('all violations come at once, in the table’s order, each rule once', async (t) => {
  const body = {
    accountName: '',
    instanceId: '',
    payload: null,
    platform: 'nowhere, nothing',
    ttlMs: 300_000,
    ts: unixMsMax,
    cmd: '',
    type: '',
    signalId: '',
    v: 2,
  };
  await isInvalid(t, body, [
    ['v', 'unsupported_version'],
    ['signalId', 'invalid_length'],
    ['type', 'invalid_length'],
    ['cmd', 'invalid_length'],
    ['ts', 'signal_from_future'],
    ['ttlMs', 'timestamp_overflow'],
    ['platform', 'unsupported_platform'],
    ['payload', 'object_required'],
    ['instanceId', 'invalid_length'],
    ['accountName', 'invalid_length'],
  ]);
});

t.test(
  'a wrong time to live is told beside a time from the future, and an unusable ts beside it',
  async (t) => {
    await isInvalid(t, signal({ ts: Date.now() + 3_600_000, ttlMs: 0 }), [
      ['ts', 'signal_from_future'],
      ['ttlMs', 'invalid_ttl'],
    ]);
    await isInvalid(t, signal({ ts: 'x', ttlMs: 'y' }), [
      ['ts', 'invalid_unix_milliseconds'],
      ['ttlMs', 'invalid_ttl'],
    ]);
    await isInvalid(t, signal({ ts: unixMsMax, ttlMs: 1 }), [
      ['ts', 'signal_from_future'],
      ['ttlMs', 'timestamp_overflow'],
    ]);
    await isInvalid(t, signal({ ts: unixMsMax - 1, ttlMs: 1 }), [['ts', 'signal_from_future']]);
  },
);

t.test('the boundaries are inside', async (t) => {
  // A request takes time: test/signals/envelope.test.ts tests the boundaries of time, with its own clock.
  const now = Date.now();
  // oxfmt-ignore
  const rows: object[] = [
    { signalId: 'b' },
    { signalId: 'b'.repeat(128) },
    { signalId: '😀'.repeat(64) },
    { signalId: ' spaces are part of it ' },
    { type: 't', cmd: 'c' },
    { type: 't'.repeat(64), cmd: 'c'.repeat(64) },
    { ts: now + 59_000 },
    { ts: now - 200_000, ttlMs: 300_000 },
    { ttlMs: 300_000 },
    { platform: 'terminal_b' },
    { payload: {} },
    { instanceId: 'i' },
    { instanceId: 'i'.repeat(128) },
    { accountName: 'a' },
    { accountName: 'a'.repeat(128) },
  ];
  for (const fields of rows) await isValid(t, signal(fields), JSON.stringify(fields).slice(0, 60));
  await isValid(t, JSON.stringify(signal()).replace('"v":1', '"v":1.0'), '1.0 is the integer 1');
  await isValid(
    t,
    JSON.stringify(signal()).replace('"v":1', '"v":10e-1'),
    '10e-1 is the integer 1',
  );
  await isValid(t, signal({ ttlMs: 1, ts: Date.now() + 30_000 }), 'the smallest time to live');
});

t.test('lengths are counted in UTF-16 code units', async (t) => {
  await isInvalid(t, signal({ signalId: `${'😀'.repeat(64)}x` }), [['signalId', 'invalid_length']]);
  await isInvalid(t, signal({ type: '😀'.repeat(33) }), [['type', 'invalid_length']]);
  await isInvalid(t, signal({ instanceId: '😀'.repeat(65) }), [['instanceId', 'invalid_length']]);
});

t.test(
  'platform is a list: spaces around a token trimmed, repeats once, in the order given',
  async (t) => {
    const rows: [platform: string, platforms: string[]][] = [
      ['terminal_a', ['terminal_a']],
      [' terminal_a ', ['terminal_a']],
      ['terminal_a,terminal_b', ['terminal_a', 'terminal_b']],
      [' terminal_b ,  terminal_a', ['terminal_b', 'terminal_a']],
      ['terminal_a,terminal_a, terminal_a ', ['terminal_a']],
      [Array.from({ length: 2_000 }, () => 'terminal_a').join(','), ['terminal_a']],
    ];
    for (const [platform, platforms] of rows) {
      const { requestId } = await isValid(t, signal({ platform }), platform.slice(0, 40));
      const { body } = await status(url, key, requestId);
      t.same(
        body.executions.map((execution: { platform: string }) => execution.platform),
        platforms,
      );
      t.equal(body.platform, platform, 'and is shown as it was sent');
    }
  },
);

t.test(
  'unknown fields of the envelope are refused, also those that name a prototype',
  async (t) => {
    const text = JSON.stringify(signal({ accountname: 'Sim101', nested: { a: [1] } }));
    const hostile = `${text.slice(0, -1)},"__proto__":{"v":2,"frozen":true},"constructor":{"prototype":{"v":2}},"prototype":[],"toString":1,"hasOwnProperty":null}`;
    const unknown = (...fields: string[]): Row[] => fields.map((field) => [field, 'unknown_field']);
    const named = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];
    await isInvalid(t, hostile, unknown('accountname', 'nested', ...named));
    const recovered = `{"__proto__":${JSON.stringify(signal())}}`;
    const answer = await submit(url, key, recovered);
    t.equal(verdict(answer), '422 invalid_signal');
    t.equal(answer.body.error.details.length, 9, 'nothing counts as given that is only recovered');
    t.same(answer.body.error.details.at(-1), { field: '__proto__', code: 'unknown_field' });
    const wrong = JSON.parse(text.replace('"v":1', '"v":2'));
    await isInvalid(t, wrong, [['v', 'unsupported_version'], ...unknown('accountname', 'nested')]);
    await isValid(t, signal(), 'and the next signal is judged as ever');
  },
);

t.test('the message says what to do about each violation', async (t) => {
  const ts = Math.floor(Date.now() / 1_000);
  const { body } = await submit(url, key, signal({ ts, platform: 'terminal_x', ttlMs: 60_000 }));
  const { message } = body.error;
  t.match(message, /It looks like seconds\./);
  t.match(message, /The platforms are: terminal_a, terminal_b\.$/);
});

t.test('what is told of unknown fields is bounded', async (t) => {
  const names = Array.from({ length: 50 }, (_, i) => `${'\u{1f600}'.repeat(200)}${i}`);
  const many = signal(Object.fromEntries(names.map((name) => [name, 1])));
  const { body } = await submit(url, key, many);
  t.equal(body.error.details.length, 16);
  t.ok(body.error.details.every(({ field }: { field: string }) => field.length === 65));
});

t.test(
  'of a field that comes twice the last one counts, in the envelope and at the terminal',
  async (t) => {
    const plugin = await openPlugin(url, sessionToken, { instanceId: 'twice' });
    t.teardown(() => plugin.close());
    const text = JSON.stringify(signal({ instanceId: 'twice', payload: { a: 1 } }));
    const { requestId } = await isValid(t, `${text.slice(0, -1)},"p\\u0061yload":{"a":2},"v":1}`);
    t.same((await plugin.next('submit', { requestId }))['payload'], { a: 2 });
  },
);

t.test('the payload reaches the terminal exactly as it was sent', async (t) => {
  const plugin = await openPlugin(url, sessionToken, { instanceId: 'verbatim' });
  t.teardown(() => plugin.close());
  const texts: string[] = [];
  plugin.socket.on('message', (data: Buffer) => texts.push(data.toString()));
  // oxfmt-ignore
  const payloads = [
    '{"quantity":123456789012345678901234567890,"price":1.00000000000000000001,"tiny":1e-400,"huge":1e400}',
    '{"a":-0,"b":1.0,"c":1E5,"d":0.10}',
    '{ "spaces" : [ 1 , 2 ] ,\n\t"line":"break" }',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"prototype":1}',
    '{"a":1,"a":2}',
    '{"text":"}],\\"payload\\":{}\\\\","payload":{"payload":1}}',
    '{"escapes":"\\u00e9\\ud83d\\ude00 \\/ é😀\\u2028 \u2028","lone":"\\ud800"}',
    '{}',
  ];
  for (const [index, payload] of payloads.entries()) {
    const rest = { ...without('payload'), instanceId: 'verbatim' };
    const { requestId } = await isValid(
      t,
      `${JSON.stringify(rest).slice(0, -1)},"payload":  ${payload}  }`,
    );
    const frame = await plugin.next('submit', { requestId });
    t.ok(
      texts.some((text) => text.includes(requestId) && text.includes(`"payload":${payload}`)),
      `payload ${index}`,
    );
    t.equal(frame['instanceId'], undefined);
    t.equal(({} as Record<string, unknown>)['polluted'], undefined);
  }
});

t.test('what a payload says wrongly is no matter of the envelope', async (t) => {
  // oxfmt-ignore
  const payloads = [{}, { executionType: 'limit' }, { executionType: 'nonsense', quantity: -1 }, { quantity: '1', side: 7, instrument: null, limitPrice: {} }];
  for (const payload of payloads) {
    const { requestId } = await isValid(t, signal({ payload }));
    const [execution] = (await status(url, key, requestId)).body.executions;
    t.equal(execution.instrument, null, 'what is not of its type is not known');
  }
});

t.test('a missing field is told like a wrong one', async (t) => {
  for (const name of ['v', 'signalId', 'ts', 'ttlMs', 'platform', 'type', 'cmd', 'payload']) {
    const answer = await submit(url, key, without(name));
    t.same(
      answer.body.error.details.map(({ field }: { field: string }) => field),
      [name],
    );
  }
});
