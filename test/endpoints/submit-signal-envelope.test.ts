/** The answer to an envelope that is not valid, and what of a valid one reaches the terminal. */
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

async function isInvalid(t: Test, body: object | string, rows: readonly Row[]): Promise<void> {
  const answer = await submit(url, key, body);
  const label = JSON.stringify(body).slice(0, 80);
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
