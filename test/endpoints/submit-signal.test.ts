/** POST /api/v1/signals: its answers, its errors and their order; validation has a file of its own. */
import t from 'tap';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  json,
  patiently,
  signal,
  status,
  submit,
  verdict,
} from '../support/api.js';
import { rawCall } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';
import { dayOfAtLeast } from '../support/utc-day.js';

const plans = {
  business: { publicApi: true, signalsPerMinute: 1_000, signalsPerDay: 100_000 },
  slow: { publicApi: true, signalsPerMinute: 1, signalsPerDay: 10 },
  small: { publicApi: true, signalsPerMinute: 1, signalsPerDay: 1 },
};
const gateway = await startTestGateway(t, { plans });
const { url } = gateway;
const path = '/api/v1/signals';
const { key } = await gateway.user();

function send(
  bearerToken: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const all = {
    ...json,
    ...bearer(bearerToken),
    'idempotency-key': `k${Math.random()}`,
    ...headers,
  };
  return patiently(() => call(url, 'POST', path, { headers: all, body }));
}

const valid = (fields: object = {}) => JSON.stringify(signal(fields));
/** @returns a valid signal of exactly this size. */
function sized(bytes: number): string {
  const text = valid({ payload: { pad: '' } });
  return text.replace('"pad":""', `"pad":"${'x'.repeat(bytes - text.length)}"`);
}

t.test('202 tells the request, and where its status is', async (t) => {
  const body = signal({ signalId: 'first-of-all' });
  const before = Date.now();
  const answer = await submit(url, key, body);
  t.equal(answer.status, 202);
  t.same(Object.keys(answer.body), ['requestId', 'signalId', 'status', 'acceptedAt']);
  t.equal(answer.body.signalId, 'first-of-all');
  t.equal(answer.body.status, 'accepted');
  t.match(answer.body.acceptedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.ok(
    Date.parse(answer.body.acceptedAt) >= before &&
      Date.parse(answer.body.acceptedAt) <= Date.now(),
  );
  t.equal(answer.headers.get('location'), `/api/v1/signals/${answer.body.requestId}`);
  t.equal(answer.headers.get('idempotent-replayed'), null);
  const found = await call(url, 'GET', answer.headers.get('location') ?? '', {
    headers: bearer(key),
  });
  t.equal(found.body.requestId, answer.body.requestId);
});

t.test('415 unless the body is called JSON', async (t) => {
  for (const type of [
    'text/plain',
    'text/json',
    'application/json2',
    'application/xml',
    'json',
    '',
  ]) {
    t.equal(
      verdict(await send(key, valid(), { 'content-type': type })),
      '415 unsupported_media_type',
      type,
    );
  }
  const missing = await rawCall(
    url,
    'POST',
    path,
    [`Authorization: Bearer ${key}`, 'Idempotency-Key: k'],
    valid(),
  );
  t.equal(missing?.status, 415);
  for (const type of [
    'application/json',
    'application/json;charset=utf-8',
    'APPLICATION/JSON ; charset="UTF-8"',
  ]) {
    t.equal((await send(key, valid(), { 'content-type': type })).status, 202, type);
  }
});

t.test(
  'the Idempotency-Key is exactly one header of 1 to 128 characters without control characters',
  async (t) => {
    const lines = (...more: string[]) => [
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      ...more,
    ];
    // oxfmt-ignore
    const bad: string[][] = [
    [],
    ['Idempotency-Key:'],
    ['Idempotency-Key:    '],
    ['Idempotency-Key: one', 'Idempotency-Key: two'],
    ['Idempotency-Key: same', 'idempotency-key: same'],
    ['Idempotency-Key: ', 'Idempotency-Key: one'],
    [`Idempotency-Key: ${'k'.repeat(129)}`],
    ['Idempotency-Key: a\x7fb'],
    ['Idempotency-Key: a\tb'],
    ['Idempotency-Key: stop-\xe9-1'],
  ];
    for (const more of bad) {
      const answer = await rawCall(url, 'POST', path, lines(...more), valid());
      t.equal(answer?.status, 400, JSON.stringify(more).slice(0, 60));
      t.equal(
        answer === undefined ? '' : JSON.parse(answer.body).error.code,
        'invalid_idempotency_key',
      );
    }
    for (const value of [
      'k',
      'k'.repeat(128),
      `  ${'l'.repeat(128)}  `,
      'a b',
      'a ключ b',
      '"quoted"',
      '__proto__',
      '../..',
      '%00',
    ]) {
      const answer = await rawCall(
        url,
        'POST',
        path,
        lines(`Idempotency-Key: ${Buffer.from(value).toString('latin1')}`),
        valid(),
      );
      t.equal(answer?.status, 202, value.slice(0, 20));
    }
  },
);

t.test('control characters in the Idempotency-Key are never accepted', async (t) => {
  const codes = [
    ...Array.from({ length: 32 }, (_, code) => code).filter((code) => code !== 9),
    0x7f,
  ];
  const seen = new Set<number>();
  await Promise.all(
    codes.map(async (code) => {
      const text = valid();
      const { signalId } = JSON.parse(text);
      const lines = [
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Idempotency-Key: a${String.fromCharCode(code)}b`,
      ];
      const answer = await Promise.race([
        rawCall(url, 'POST', path, lines, text),
        new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 500).unref()),
      ]);
      if (answer !== undefined) seen.add(answer.status);
      const again = await send(key, valid({ signalId }));
      t.equal(again.status, 202, `0x${code.toString(16)} left the signalId free`);
    }),
  );
  t.ok(
    [...seen].every((code) => code >= 400),
    [...seen].join(),
  );
});

t.test('413 above 65536 bytes, and not at them', async (t) => {
  const largest = sized(65_536);
  t.equal(Buffer.byteLength(largest), 65_536);
  t.equal((await send(key, largest)).status, 202);
  t.equal(verdict(await send(key, sized(65_537))), '413 request_body_too_large');
  t.equal(verdict(await send(key, sized(1_000_000))), '413 request_body_too_large');
});

t.test('400 malformed_json for what is no JSON text', async (t) => {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part))),
    );
  const text = valid();
  // oxfmt-ignore
  const bad: [name: string, body: string | Uint8Array][] = [
    ['empty', ''],
    ['blank', ' \n'],
    ['cut', text.slice(0, -1)],
    ['more after it', `${text} x`],
    ['two texts', `${text}${text}`],
    ['a trailing comma', `${text.slice(0, -1)},}`],
    ['a comment', `/* */${text}`],
    ['single quotes', text.replaceAll('"', "'")],
    ['NaN', text.replace('"quantity":1', '"quantity":NaN')],
    ['a leading zero', text.replace('"quantity":1', '"quantity":01')],
    ['a line break in a text', text.replace('ES', 'E\nS')],
    ['a byte order mark', `\ufeff${text}`],
    ['UTF-16', Buffer.from(text, 'utf16le')],
    ['invalid UTF-8', bytes(text.slice(0, -1), ',"x":"', [0xff], '"}')],
    ['overlong UTF-8', bytes(text.slice(0, -1), ',"x":"', [0xc0, 0xaf], '"}')],
    ['a surrogate in UTF-8', bytes(text.slice(0, -1), ',"x":"', [0xed, 0xa0, 0x80], '"}')],
    ['a cut UTF-8 character', bytes(text.slice(0, -1), ',"x":"', [0xe2, 0x82], '"}')],
    ['a NUL', `${text}\0`],
    ['gzip', Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0])],
    ['words', 'v=1&signalId=x'],
  ];
  for (const [name, body] of bad) {
    const answer = await send(key, body);
    t.equal(verdict(answer), '400 malformed_json', name);
    t.same(Object.keys(answer.body.error), ['code', 'message', 'traceId'], name);
  }
});

t.test('nesting of 16 levels is read, 17 is not, and brackets in texts do not count', async (t) => {
  const nested = (levels: number, open = '[', close = ']') =>
    valid({ payload: { deep: 0 } }).replace(
      '"deep":0',
      `"deep":${open.repeat(levels)}1${close.repeat(levels)}`,
    );
  t.equal((await send(key, nested(14))).status, 202, 'envelope, payload and 14 more');
  t.equal(verdict(await send(key, nested(15))), '400 malformed_json');
  t.equal((await send(key, nested(14, '{"a":', '}'))).status, 202);
  t.equal(verdict(await send(key, nested(15, '{"a":', '}'))), '400 malformed_json');
  t.equal(verdict(await send(key, '['.repeat(60_000))), '400 malformed_json');
  t.equal(
    verdict(await send(key, `${'['.repeat(30_000)}${']'.repeat(30_000)}`)),
    '400 malformed_json',
  );
  t.equal(
    (await send(key, valid({ payload: { text: '[{"'.repeat(30), more: '\\"[[[[[[[[[[[[[[[[[[' } })))
      .status,
    202,
  );
});

t.test('a frozen account accepts nothing, reads on, and is thawed at once', async (t) => {
  const user = await gateway.user();
  const before = await submit(url, user.key, signal());
  await gateway.command('user', 'set', user.email, '--frozen', 'true');
  t.equal(verdict(await submit(url, user.key, signal())), '403 account_frozen');
  t.equal((await status(url, user.key, before.body.requestId)).status, 200);
  await gateway.command('user', 'set', user.email, '--frozen', 'false');
  t.equal((await submit(url, user.key, signal())).status, 202);
});

t.test('a frozen account still gets the answer of what it did before', async (t) => {
  const user = await gateway.user();
  const body = valid();
  const first = await submit(url, user.key, body, 'before-the-frost');
  await gateway.command('user', 'set', user.email, '--frozen', 'true');
  const again = await submit(url, user.key, body, 'before-the-frost');
  t.equal(again.status, 202);
  t.equal(again.text, first.text);
});

t.test(
  '409 duplicate_signal_id for a signalId of the same user, whatever else differs',
  async (t) => {
    const other = await gateway.user();
    const body = signal();
    const { signalId } = body;
    t.equal((await submit(url, key, body)).status, 202);
    t.equal(
      verdict(await submit(url, key, body)),
      '409 duplicate_signal_id',
      'same body, other key',
    );
    t.equal(
      verdict(await submit(url, key, signal({ signalId, type: 'position', cmd: 'close' }))),
      '409 duplicate_signal_id',
    );
    t.equal(
      (await submit(url, other.key, body)).status,
      202,
      'another user has signalIds of his own',
    );
    t.equal(
      (await submit(url, key, signal({ signalId: `${String(signalId)} ` }))).status,
      202,
      'a space makes another one',
    );
  },
);

t.test('a signalId may be any text', async (t) => {
  // oxfmt-ignore
  const signalIds = ['__proto__', 'constructor', '\u0000', 'a\u0000b', 'a', 'b', 'a/b', '😀', '\ud800', '\ud801', '\ufffd', '\u2028', '"', ' ',
    'req_x', 'é', 'e\u0301', '\u0000'.repeat(128), '\uffff'.repeat(128)];
  for (const [index, signalId] of signalIds.entries()) {
    const text = valid({ signalId });
    const answer = await send(key, text);
    t.equal(answer.status, 202, `signalId ${index}: ${codeOf(answer)}`);
    t.equal(answer.body.signalId, signalId);
    t.equal(verdict(await send(key, text)), '409 duplicate_signal_id', `signalId ${index}`);
    const { body } = await status(url, key, answer.body.requestId);
    t.equal(body.signalId, signalId);
  }
});

t.test('429 tells which quota is used up, and when it comes back', async (t) => {
  await dayOfAtLeast(20_000);
  const slow = await gateway.user({ plan: 'slow' });
  t.equal((await submit(url, slow.key, signal())).status, 202);
  const minute = await submit(url, slow.key, signal());
  t.equal(verdict(minute), '429 signal_rate_limit_exceeded');
  const minuteWait = Number(minute.headers.get('retry-after'));
  t.ok(minuteWait >= 50 && minuteWait <= 60, `${minuteWait}`);

  const small = await gateway.user({ plan: 'small' });
  t.equal((await submit(url, small.key, signal())).status, 202);
  const day = await submit(url, small.key, signal());
  t.equal(verdict(day), '429 daily_signal_limit_exceeded', 'the day before the minute');
  const dayWait = Number(day.headers.get('retry-after'));
  const untilMidnight = 86_400 - ((Date.now() / 1000) % 86_400);
  t.ok(Math.abs(dayWait - untilMidnight) < 10, `${dayWait}`);
});

t.test('the checks come in the contract’s order, each pair proved', async (t) => {
  const user = await gateway.user({ plan: 'slow' });
  const used = signal();
  t.equal((await submit(url, user.key, used, 'used')).status, 202);
  const text = { 'content-type': 'text/plain' };
  const badKey = { 'idempotency-key': 'k'.repeat(129) };
  const usedKey = { 'idempotency-key': 'used' };
  const large = 'x'.repeat(66_000);
  const invalid = JSON.stringify({ ...used, v: 2 });
  const duplicate = JSON.stringify({ ...used, cmd: 'other' });
  const post = (body: string, headers: Record<string, string> = {}) =>
    send(user.key, body, headers).then(codeOf);

  t.equal(
    await post(valid(), { ...text, ...badKey }),
    'unsupported_media_type',
    '415 before the key',
  );
  t.equal(await post(large, text), 'unsupported_media_type', '415 before 413');
  t.equal(await post(large, badKey), 'invalid_idempotency_key', 'the key before 413');
  t.equal(await post('{', badKey), 'invalid_idempotency_key', 'the key before the JSON');
  t.equal(await post(large, usedKey), 'request_body_too_large', '413 before the look-up');
  t.equal(await post('{', usedKey), 'idempotency_conflict', 'the look-up before the JSON');
  t.equal(
    await post(invalid, usedKey),
    'idempotency_conflict',
    'the look-up before the validation',
  );
  t.equal(
    await post(duplicate, usedKey),
    'idempotency_conflict',
    'the look-up before the signalId',
  );
  t.equal(await post(duplicate), 'duplicate_signal_id', 'the signalId before the quota');
  t.equal(await post(invalid), 'invalid_signal', 'the validation before signalId and quota');
  t.equal(await post(valid()), 'signal_rate_limit_exceeded');
  await gateway.command('user', 'set', user.email, '--frozen', 'true');
  t.equal(await post('{'), 'malformed_json', 'the JSON before the frost');
  t.equal(await post('{', usedKey), 'idempotency_conflict', 'the look-up before the frost');
  t.equal(await post(invalid), 'account_frozen', 'the frost before the validation');
  t.equal(await post(duplicate), 'account_frozen', 'the frost before the signalId');
  t.equal(await post(valid()), 'account_frozen', 'the frost before the quota');
});

t.test('a refused signal uses up neither quota nor signalId nor key', async (t) => {
  const user = await gateway.user({ plan: 'slow' });
  const body = signal();
  const refusals = [
    await submit(url, user.key, '{', 'mine'),
    await submit(url, user.key, { ...body, v: 2 }, 'mine'),
    await submit(url, user.key, 'x'.repeat(66_000), 'mine'),
    await call(url, 'POST', path, {
      headers: { ...bearer(user.key), 'content-type': 'a/b', 'idempotency-key': 'mine' },
      body: 'x',
    }),
  ];
  t.same(
    refusals.map((answer) => answer.status),
    [400, 422, 413, 415],
  );
  await gateway.command('user', 'set', user.email, '--frozen', 'true');
  t.equal(verdict(await submit(url, user.key, body, 'mine')), '403 account_frozen');
  await gateway.command('user', 'set', user.email, '--frozen', 'false');
  t.equal((await submit(url, user.key, body, 'mine')).status, 202);
  const next = signal();
  t.equal(verdict(await submit(url, user.key, next, 'next')), '429 signal_rate_limit_exceeded');
  await gateway.command('user', 'set', user.email, '--plan', 'business');
  t.equal(
    (await submit(url, user.key, next, 'next')).status,
    202,
    'what a quota refused is free too',
  );
});

t.test('what is echoed cannot become a header', async (t) => {
  const answer = await send(
    key,
    valid({ signalId: 'x\r\nSet-Cookie: a=b', type: 'a\r\nX-Evil: 1' }),
  );
  t.equal(answer.status, 202);
  t.equal(answer.headers.get('set-cookie'), null);
  t.equal(answer.headers.get('x-evil'), null);
});
