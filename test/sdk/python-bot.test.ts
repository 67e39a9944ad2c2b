/** The bot client for Python: the rules of the TypeScript one, over real sockets and on its own clock. */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { ruleFor } from '../../src/client/retry-rules.js';
import { errors } from '../../src/errors.js';
import { eventually } from '../support/eventually.js';
import {
  drip,
  refusal,
  startFakeApi,
  type Drip,
  type FakeApi,
  type Reply,
} from '../support/fake-api.js';
import { startTestGateway } from '../support/gateway.js';
import { issueCertificate } from '../support/own-certificate.js';
import { environment, noPython, python, root } from './python.js';

interface Outcome {
  readonly value?: any;
  readonly failure?: {
    readonly kind: string;
    readonly code: string;
    readonly status: number;
    readonly text: string;
    readonly request_id: string | null;
  };
  /** Seconds. */
  readonly pauses: readonly number[];
}

type Call = (method: string, args: object) => Promise<Outcome>;

/** Time-out of an attempt, which bot_program.py sets. */
const attemptMs = 2_000;
const apiKey = 'svc_api_secret-of-the-test';
const order = {
  platform: 'terminal_a',
  type: 'order',
  cmd: 'submit',
  ttl_ms: 60_000,
  payload: { instrument: 'ES', side: 'buy', executionType: 'market', quantity: 1 },
};
const accepted: Reply = {
  status: 202,
  body: { requestId: 'req_1', signalId: 's', status: 'accepted', acceptedAt: 'now' },
};

/** More bytes than any answer of a gateway has. */
const tooLong = 2 ** 26;
const json = '{"requestId":"req_slow","status":"accepted"}';
const head = (status: string, fields: string): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${fields}\r\n\r\n`;
const spaces = ' '.repeat(100);
const refused = JSON.stringify(refusal(422, 'invalid_signal').body) + spaces;
/** Answers that take 5 s or more, while the client waits for 2 s. */
const slow: readonly [name: string, reply: Drip][] = [
  ['a head', { atOnce: '', slowly: head('202 Accepted', `Content-Length: ${json.length}`) + json }],
  [
    'a body',
    { atOnce: head('202 Accepted', `Content-Length: ${json.length + 100}`) + json, slowly: spaces },
  ],
  [
    'a body that only the end of its connection ends',
    { atOnce: head('202 Accepted', 'Connection: close') + json, slowly: spaces },
  ],
  [
    'the body of a refusal',
    {
      atOnce: head('422 Unprocessable Content', `Content-Length: ${refused.length}`),
      slowly: refused,
    },
  ],
];

const program = `${root}test/sdk/python/bot_program.py`;

function startBot(t: Test, url: string, key = apiKey, authority = ''): Call {
  const child = spawn(String(python), [program, url, key], {
    env: {
      ...process.env,
      ...environment,
      ...(authority === '' ? {} : { SSL_CERT_FILE: authority }),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (method, args) => {
    child.stdin.write(`${JSON.stringify([method, args])}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the program ended on ${method}`);
    return JSON.parse(value) as Outcome;
  };
}

/**
 * Submits. Repeats a run that needed more attempts and took so long that the second answer may have come
 * after the attempt's time-out, on a machine that paused.
 */
function inTwoAttempts(api: FakeApi, call: Call, first: Reply | Drip): Promise<Outcome> {
  return eventually(async () => {
    api.play(first, accepted);
    const begunAt = performance.now();
    const outcome = await call('submit', order);
    const isLate = performance.now() - begunAt > attemptMs;
    return !(isLate && api.seen.length > 2) && outcome;
  }, 120_000);
}

await t.test('the bot client for Python', { skip: noPython }, async (t) => {
  const api = await startFakeApi();
  t.teardown(() => api.close());
  const call = startBot(t, api.baseUrl);

  await t.test('a key that no header can carry is refused, and not shown', (t) => {
    for (const key of [
      'svc_api_',
      'svc_api_a b',
      'svc_api_a\n',
      'svc_api_\u{20ac}',
      'svc_api_\u00e9',
    ]) {
      const { stderr } = spawnSync(String(python), [program, 'http://127.0.0.1:1', key], {
        env: { ...process.env, ...environment },
        encoding: 'utf8',
        input: '["status", ["req_1"]]\n',
      });
      t.match(stderr, /ValueError: api_key must be a Public API key\n$/);
      t.notMatch(stderr, key);
    }
    t.end();
  });

  await t.test('its rule for every answer is that of the TypeScript client', async (t) => {
    const codes = [...Object.keys(errors), 'code_of_the_future'];
    for (const status of [200, 302, 400, 401, 404, 409, 422, 429, 430, 500, 502, 503, 505, 599]) {
      for (const code of codes) {
        const { value } = await call('rule', [{ status, error: { code } }]);
        const { retry, doubt } = ruleFor(status, code);
        if (value[0] !== retry || value[1] !== doubt) t.fail(`${status} ${code}: ${value}`);
      }
    }
    const details = [{ field: 'ts', code: 'signal_from_future' }];
    const early = await call('rule', [{ status: 422, error: { code: 'invalid_signal', details } }]);
    t.strictSame(early.value, ['backoff', 'unchanged']);
    t.strictSame((await call('rule', [null])).value, ['backoff', 'raised']);
  });

  const cured: readonly [name: string, reply: Reply | Drip, pause: number][] = [
    ['a connection that breaks', 'reset-after-body', 0.25],
    ['an answer that breaks off', 'cut', 0.25],
    ['an answer whose head breaks off', { atOnce: 'HTTP/1.1 409 No\r\nRetry-A', slowly: '' }, 0.25],
    ['no answer in time', 'silent', 0.25],
    ['a proxy that answers', { status: 502, body: '<h1>Bad Gateway</h1>' }, 0.25],
    ['a success that is unreadable', { status: 202, body: '<h1>Welcome</h1>' }, 0.25],
    ['a success that is too long', { status: 202, body: json.padEnd(tooLong) }, 0.25],
    [
      'a success that announces more than any memory',
      { status: 202, headers: { 'Content-Length': '99999999999999' }, body: json },
      0.25,
    ],
    ['in progress', refusal(409, 'request_in_progress', { 'Retry-After': '3' }), 3],
    ['too many', refusal(429, 'api_rate_limited', { 'Retry-After': '2' }), 2.25],
    ['shutting down', refusal(503, 'shutting_down', { 'Retry-After': '5' }), 5.25],
  ];
  for (const [name, reply, pause] of cured) {
    await t.test(`${name}: repeated with the same key and bytes`, async (t) => {
      const { value, pauses } = await inTwoAttempts(api, call, reply);
      t.equal(value?.requestId, 'req_1');
      t.strictSame(pauses, [pause]);
      const [first, second] = api.seen;
      t.match(first?.headers['idempotency-key'], /^.{16,}$/);
      t.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key']);
      t.strictSame(second?.body, first?.body);
      t.equal(second?.headers.authorization, `Bearer ${apiKey}`);
    });
  }

  const issued = await issueCertificate();
  const authority = join(t.testdir(), 'authority.pem');
  writeFileSync(authority, issued.authority);
  const behindTls = await startFakeApi({ cert: issued.chain, key: issued.key });
  t.teardown(() => behindTls.close());
  const callByTls = startBot(t, behindTls.baseUrl, apiKey, authority);

  for (const [transport, fake, submit] of [
    ['TCP', api, call],
    ['TLS', behindTls, callByTls],
  ] as const) {
    for (const [name, reply] of slow) {
      const rule = 'ends with the timeout of its attempt, and is repeated with the same key';
      await t.test(`${name} that drips over ${transport} ${rule}`, async (t) => {
        const { value, pauses } = await inTwoAttempts(fake, submit, reply);
        t.equal(value?.requestId, 'req_1');
        t.strictSame(pauses, [0.25]);
        const [first, second] = fake.seen;
        t.match(first?.headers['idempotency-key'], /^.{16,}$/);
        t.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key']);
        t.strictSame(second?.body, first?.body);
      });
    }
  }

  const strange: readonly [name: string, reply: Reply, pause: number][] = [
    [
      'a date that is none',
      refusal(503, 'shutting_down', { 'Retry-After': 'Mon, 01 Jan 99999 00:00:00 GMT' }),
      0.25,
    ],
    ['a number that is none', refusal(503, 'shutting_down', { 'Retry-After': '\xb2' }), 0.25],
    ['a code that is no text', { status: 500, body: { error: { code: [1] } } }, 0.25],
    ['nesting without end', { status: 500, body: '['.repeat(100_000) }, 0.25],
  ];
  for (const [name, reply, pause] of strange) {
    await t.test(`${name} in an answer hides no outcome`, async (t) => {
      const { value, pauses } = await inTwoAttempts(api, call, reply);
      t.equal(value?.requestId, 'req_1');
      t.strictSame(pauses, [pause]);
    });
  }

  await t.test('what a proxy sends before the answer is passed over', async (t) => {
    const early = ['102 Processing', '103 Early Hints'].map((status) => head(status, 'X: y'));
    const answer = head('202 Accepted', `Content-Length: ${json.length}`) + json;
    api.play({ atOnce: early.join('') + answer, slowly: '' });
    const { value, pauses } = await call('submit', order);
    t.equal(value?.requestId, 'req_slow');
    t.strictSame(pauses, []);
  });

  await t.test('a refusal that is too long leaves the outcome unknown', async (t) => {
    const { status, body } = refusal(422, 'invalid_signal');
    api.play(
      { status, body: JSON.stringify(body).padEnd(tooLong) },
      refusal(403, 'account_frozen'),
    );
    t.match((await call('submit', order)).failure, { kind: 'unknown', code: 'account_frozen' });
  });

  await t.test('a refusal that drips leaves the outcome unknown', async (t) => {
    const [, reply] = slow[3] as (typeof slow)[number];
    api.play(reply, refusal(403, 'account_frozen'));
    t.match((await call('submit', order)).failure, { kind: 'unknown', code: 'account_frozen' });
  });

  await t.test('a refusal is not repeated, and had no effect', async (t) => {
    api.play(refusal(422, 'invalid_signal'));
    const { failure } = await call('submit', order);
    t.match(failure, { kind: 'refused', code: 'invalid_signal', status: 422 });
    t.equal(api.seen.length, 1);
    t.equal(failure?.text, 'refused: HTTP 422, invalid_signal, says invalid_signal');
    t.notMatch(failure?.text, 'secret');
  });

  await t.test('a refusal names the request that the gateway has found', async (t) => {
    const { status, body } = refusal(409, 'duplicate_signal_id');
    api.play({ status, body: { ...(body as object), requestId: 'req_0' } });
    t.equal((await call('submit', order)).failure?.request_id, 'req_0');
    api.play({ status, body });
    t.equal((await call('submit', order)).failure?.request_id, null);
  });

  await t.test('an outcome that nobody knows is unknown, also after a later refusal', async (t) => {
    api.play(refusal(409, 'idempotency_outcome_unknown'));
    t.match((await call('submit', order)).failure, { kind: 'unknown' });
    api.play('reset-after-body', refusal(403, 'account_frozen'));
    t.match((await call('submit', order)).failure, { kind: 'unknown', code: 'account_frozen' });
    api.play('reset-after-body', refusal(422, 'invalid_signal'));
    t.match((await call('submit', order)).failure, { kind: 'refused', code: 'invalid_signal' });
  });

  await t.test(
    'it gives up when the signal has expired and its outcome was asked for',
    async (t) => {
      api.play({ status: 500 });
      const { failure, pauses } = await call('submit', { ...order, ttl_ms: 10_000 });
      t.match(failure, { kind: 'unknown', status: 500 });
      const waited = pauses.reduce((sum, pause) => sum + pause, 0);
      t.ok(waited > 38 && waited < 41, `${waited} s`);
    },
  );

  await t.test('a wait for a result ends with its time when the gateway is away', async (t) => {
    api.play('reset-before-body');
    const { failure, pauses } = await call('wait_for_result', ['req_1', 2]);
    t.match(failure, { kind: 'unreachable' });
    const waited = pauses.reduce((sum, pause) => sum + pause, 0);
    t.ok(waited <= 2, `${waited} s`);
  });

  const misshapen: readonly [method: string, args: object, wrong: object, right: object][] = [
    ['submit', order, { requestId: 5 }, { requestId: 'req_1' }],
    ['cancel', ['ref'], { cancelRequestId: null }, { cancelRequestId: 'can_1' }],
    ['status', ['req_1'], { executions: [] }, { status: 'accepted', executions: [] }],
    ['wait_for_result', ['req_1', 20], { executions: [] }, { status: 'completed', executions: [] }],
    ['open', [], { signals: 5 }, { signals: [] }],
    ['sources', [], { sources: null }, { sources: [] }],
  ];
  for (const [method, args, wrong, right] of misshapen) {
    await t.test(`${method}: a success of another shape is asked for again`, async (t) => {
      api.play({ status: 200, body: wrong }, { status: 200, body: right });
      const { value } = await call(method, args);
      t.strictSame(value, Array.isArray(value) ? [] : right);
      t.equal(api.seen.length, 2);
    });
  }

  await t.test('pages that do not go on end as unreachable', async (t) => {
    api.play({ status: 200, body: { signals: [], next: 'req_1' } });
    t.match((await call('open', [])).failure, { kind: 'unreachable' });
    t.equal(api.seen.length, 2);
  });

  await t.test('a wait that is repeated asks the gateway for the time left', async (t) => {
    api.play({ status: 503 }, { status: 200, body: { status: 'completed', executions: [] } });
    const { value } = await call('wait_for_result', ['req_1', 20]);
    t.match(value, { status: 'completed' });
    const [first = 0, second = 0] = api.seen.map(({ path }) => Number(path.split('?waitMs=')[1]));
    t.ok(first > 19_000 && first <= 20_000, `${first} ms`);
    t.ok(second > 0 && second <= 19_000, `${second} ms`);
  });

  await t.test('a stream is resumed after its last event', async (t) => {
    const block = 'id: e-1\nevent: order_update\ndata: {"n":1}\n\n';
    api.play(
      { status: 200, stream: (out) => out.end(`retry: 1000\nid: e-0\n\n: hi\n\n${block}`) },
      { status: 503 },
      { status: 200, stream: (out) => out.write(block.replaceAll('1', '2')) },
    );
    const source = ['terminal_a', '', 'Sim101'];
    t.strictSame((await call('next_event', source)).value, ['e-1', 'order_update', { n: 1 }]);
    const second = await call('next_event', source);
    t.strictSame(second.value, ['e-2', 'order_update', { n: 2 }]);
    t.strictSame(second.pauses, [1, 2]);
    t.equal(api.seen[0]?.headers['last-event-id'], undefined);
    t.equal(api.seen[2]?.headers['last-event-id'], 'e-1');
    t.equal(
      api.seen[0]?.path,
      '/api/v1/terminal-events/stream?platform=terminal_a&instanceId=&accountName=Sim101',
    );
  });

  await t.test('a stream that the gateway ends waits as long as it was told', async (t) => {
    const block = (n: number) => `id: e-${n}\nevent: order_update\ndata: {"n":${n}}\n\n`;
    const begin = 'retry: 1000\nid: e-0\n\n';
    api.play(
      { status: 200, stream: (out) => out.end(`${begin}${block(1)}retry: 7500\n\n`) },
      { status: 200, stream: (out) => out.end(`${begin}${block(2)}retry: \u00b2\n\n`) },
      { status: 200, stream: (out) => out.write(`${block(3)}event:\ndata: [4]\n\n`) },
    );
    const source = ['terminal_a', '', 'Sim103'];
    t.strictSame((await call('next_event', source)).pauses, []);
    t.strictSame((await call('next_event', source)).pauses, [7.5]);
    t.strictSame((await call('next_event', source)).pauses, [1]);
    t.strictSame((await call('next_event', source)).value, ['', 'message', [4]]);
  });

  await t.test('a stream outlasts the timeout of an attempt', async (t) => {
    const block = `id: e-1\nevent: order_update\ndata: {"n":1}${spaces}\n\n`;
    api.play({ status: 200, stream: (out) => drip(block, out) });
    const { value, pauses } = await call('next_event', ['terminal_a', '', 'Sim102']);
    t.strictSame(value, ['e-1', 'order_update', { n: 1 }]);
    t.strictSame(pauses, []);
  });

  const streamed = (text: string, encoding: BufferEncoding = 'utf8'): Reply => ({
    status: 200,
    stream: (out) => out.end(text, encoding),
  });
  const broken: readonly [name: string, reply: Reply | Drip][] = [
    ['a head that drips', { atOnce: '', slowly: head('200 OK', 'X: y\r\n'.repeat(100)) }],
    ['a refusal that drips', slow[3]?.[1] as Drip],
    ['a refusal that is too long', { status: 404, body: ' '.repeat(tooLong) }],
    ['an event that is not UTF-8', streamed('id: e-2\ndata: \xff\n\n', 'latin1')],
    ['an event that is not JSON', streamed('id: e-2\ndata: <html>\n\n')],
    ['an event without an end', streamed('x'.repeat(2 ** 21))],
    [
      'a Retry-After without end',
      refusal(503, 'shutting_down', { 'Retry-After': '9'.repeat(400) }),
    ],
  ];
  for (const [number, [name, reply]] of broken.entries()) {
    await t.test(`a stream outlasts ${name}`, async (t) => {
      const block = 'id: e-1\nevent: order_update\ndata: {"n":1}\n\n';
      const last = 'id: e-3\nevent: order_update\ndata: {"n":3}\n\n';
      api.play({ status: 200, stream: (out) => out.end(block) }, reply, {
        status: 200,
        stream: (out) => out.end(last),
      });
      const source = ['terminal_a', '', `Broken${number}`];
      t.strictSame((await call('next_event', source)).value, ['e-1', 'order_update', { n: 1 }]);
      t.strictSame((await call('next_event', source)).value, ['e-3', 'order_update', { n: 3 }]);
      t.equal(api.seen[2]?.headers['last-event-id'], 'e-1');
    });
  }

  await t.test('the real gateway understands it', async (t) => {
    const gateway = await startTestGateway(t, { users: 1 });
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const bot = startBot(t, gateway.url, user.key);
    const { value: signal } = await bot('submit', order);
    const { executionId } = await plugin.next('submit', { requestId: signal.requestId });
    plugin.send({ type: 'ack', executionId });
    plugin.send({ type: 'report', seq: 1, executionId, status: 'working' });
    await plugin.next('ack', { seq: 1 });

    const [open] = (await bot('open', [])).value;
    t.match(open.executions, [{ executionId, status: 'working' }]);
    const { value: cancel } = await bot('cancel', [open.executions[0].orderRef]);
    const { cancelRequestId } = await plugin.next('cancel', { executionId });
    t.equal(cancel.cancelRequestId, cancelRequestId);
    plugin.send({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
    const result = await bot('wait_for_result', [signal.requestId, 60]);
    t.match(result.value, { status: 'completed', executions: [{ status: 'cancelled' }] });
    t.match((await bot('sources', [])).value, [{ platform: 'terminal_a', connected: true }]);
    t.match((await bot('status', ['req_none'])).failure, { code: 'request_not_found' });
  });
});
