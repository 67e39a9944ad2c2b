import t from 'tap';
import { createBotClient } from '../../src/client/bot-client.js';
import { refusal, type Reply } from '../support/fake-api.js';
import { accepted, apiKey, draft, startScriptedClient, timeoutMs } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api, clock, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
});

const statusOf = (status: string): Reply => ({
  status: 200,
  body: { requestId: 'req_1', signalId: 'sig_1', status, executions: [] },
});

t.test('a signal carries the key, and what the caller left out', async (t) => {
  api.play(accepted);
  await scripted.client().submit(draft);
  const [request] = api.seen;
  t.equal(request?.headers.authorization, `Bearer ${apiKey}`);
  t.equal(request?.headers['content-type'], 'application/json');
  const { signalId, ...sent } = JSON.parse(String(request?.body));
  t.strictSame(sent, { ...draft, v: 1, ts: clock.now() });
  t.match(signalId, /^[0-9A-HJKMNP-TV-Z]{26}$/);
});

t.test('a signal keeps what the caller gave', (t) => {
  const signal = { ...draft, v: 1, signalId: 'mine', ts: 1_000, instanceId: 'desk-1' } as const;
  const prepared = scripted.client().prepare(signal, { idempotencyKey: 'key-1' });
  t.strictSame(JSON.parse(prepared.body), signal);
  t.match(prepared, { idempotencyKey: 'key-1', signalId: 'mine', expiresAt: 21_000 });
  t.end();
});

t.test('a signal is not for all terminals because its target is undefined', (t) => {
  for (const name of ['platform', 'instanceId', 'accountName']) {
    const signal = { ...draft, [name]: undefined };
    t.throws(
      () => scripted.client().prepare(signal),
      new TypeError(`${name} must not be undefined: JSON leaves it out, which may mean all.`),
    );
  }
  t.end();
});

t.test('every operation gets a key of its own', (t) => {
  const client = scripted.client();
  t.not(client.prepare(draft).idempotencyKey, client.prepare(draft).idempotencyKey);
  t.end();
});

t.test('a stored signal is sent byte for byte by another client', async (t) => {
  const stored = JSON.stringify(scripted.client().prepare(draft));
  const prepared = JSON.parse(stored);
  clock.advance(1_000);
  api.play({ ...accepted, headers: { 'Idempotent-Replayed': 'true' } });
  const result = await scripted.client().send(prepared, { resumed: true });
  t.match(result, { ok: true, value: { replayed: true, idempotencyKey: prepared.idempotencyKey } });
  t.equal(api.seen[0]?.body.toString(), prepared.body);
});

t.test('a path prefix of baseUrl is kept, and identifiers are encoded', async (t) => {
  api.play(statusOf('accepted'));
  await scripted.client({ baseUrl: `${api.baseUrl}/gate/` }).status('req/1?');
  t.equal(api.seen[0]?.path, '/gate/api/v1/signals/req%2F1%3F');
  t.equal(api.seen[0]?.method, 'GET');
  t.equal(api.seen[0]?.headers['idempotency-key'], undefined);
});

t.test('a status is read once when the answer is there', async (t) => {
  api.play(statusOf('accepted'));
  t.match(await scripted.client().status('req_1'), { ok: true, value: { status: 'accepted' } });
  t.equal(api.seen.length, 1);
});

t.test('a read is retried after 1, 2, 5, then 10 s, and ends after 30 s', async (t) => {
  api.play(refusal(503, 'shutting_down'));
  const result = await scripted.client().status('req_1');
  t.match(result, { ok: false, error: { kind: 'refused', code: 'shutting_down' } });
  t.strictSame(pauses, [1_000, 2_000, 5_000, 10_000, 10_000, 2_000]);
});

const readFailures: readonly [reply: Reply, kind: string, attempts: number][] = [
  [refusal(404, 'request_not_found'), 'refused', 1],
  [refusal(401, 'invalid_api_key'), 'refused', 1],
  [refusal(429, 'api_rate_limited'), 'refused', 3],
  ['reset-after-body', 'unreachable', 3],
  ['cut', 'unreachable', 3],
  ['silent', 'unreachable', 1],
  [{ status: 200, body: '{"requestId"' }, 'unreachable', 3],
  [{ status: 200, body: { requestId: 'req_1', status: 'accepted' } }, 'unreachable', 3],
];
for (const [reply, kind, attempts] of readFailures) {
  const name = typeof reply === 'string' ? reply : `${reply.status} ${JSON.stringify(reply.body)}`;
  t.test(`a read that gets nothing but ${name} is ${kind}, never unknown`, async (t) => {
    api.play(reply);
    const result = await scripted.client({ giveUpAfterMs: 3_000 }).status('req_1');
    t.match(result, { ok: false, error: { kind } });
    t.equal(api.seen.length, attempts);
  });
}

t.test('a read that is aborted under way is aborted', async (t) => {
  const { onSilence } = api;
  t.teardown(() => (api.onSilence = onSilence));
  const abort = new AbortController();
  api.onSilence = () => abort.abort();
  api.play('silent');
  const result = await scripted.client().status('req_1', { signal: abort.signal });
  t.match(result, { ok: false, error: { kind: 'aborted' } });
});

t.test('no read that is aborted beforehand is asked for', async (t) => {
  api.play(statusOf('completed'));
  const client = scripted.client();
  const options = { signal: AbortSignal.abort() };
  const source = { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' };
  const reads = [
    client.status('req_1', options),
    client.waitForResult('req_1', { ...options, timeoutMs: 1_000 }),
    client.open(options),
    client.sources(options),
    client.snapshot(source, options),
  ];
  for (const read of reads) t.match(await read, { ok: false, error: { kind: 'aborted' } });
  t.equal(api.seen.length, 0);
});

t.test(
  'a gateway that does not wait is asked at once, after 1, 2, 5, then every 10 s',
  async (t) => {
    api.play(...Array<Reply>(6).fill(statusOf('accepted')), statusOf('completed'));
    const result = await scripted.client().waitForResult('req_1', { timeoutMs: 60_000 });
    t.match(result, { ok: true, value: { status: 'completed' } });
    t.strictSame(pauses, [1_000, 2_000, 5_000, 10_000, 10_000, 10_000]);
  },
);

t.test('the polls take the times that the caller gives, plus jitter', async (t) => {
  api.play(statusOf('accepted'), statusOf('accepted'), statusOf('completed'));
  const client = scripted.client({ random: () => 0.5 });
  await client.waitForResult('req_1', { timeoutMs: 1_000, pollMs: [50, 100] });
  t.strictSame(pauses, [56.25, 112.5]);
});

t.test('when the time is over, the status so far is the answer', async (t) => {
  api.play(statusOf('accepted'));
  const result = await scripted.client().waitForResult('req_1', { timeoutMs: 4_000 });
  t.match(result, { ok: true, value: { status: 'accepted' } });
  t.strictSame(pauses, [1_000, 2_000, 1_000], 'the last poll is at the end');
});

t.test('a failed poll is followed by the next', async (t) => {
  api.play('cut', refusal(429, 'api_rate_limited', { 'Retry-After': '7' }), statusOf('completed'));
  const result = await scripted.client().waitForResult('req_1', { timeoutMs: 60_000 });
  t.match(result, { ok: true, value: { status: 'completed' } });
  t.strictSame(pauses, [1_000, 9_000]);
});

t.test('a wait that ends in a failed poll tells the failure', async (t) => {
  api.play(statusOf('accepted'), 'reset-after-body');
  const result = await scripted.client().waitForResult('req_1', { timeoutMs: 2_000 });
  t.match(result, { ok: false, error: { kind: 'unreachable' } });
});

t.test('a wait for a request that does not exist ends at once', async (t) => {
  api.play(refusal(404, 'request_not_found'));
  const result = await scripted.client().waitForResult('req_1', { timeoutMs: 60_000 });
  t.match(result, { ok: false, error: { kind: 'refused', code: 'request_not_found' } });
  t.equal(api.seen.length, 1);
});

const bodyOf = (reply: Reply): object => (typeof reply === 'string' ? {} : (reply.body as object));
const completed = statusOf('completed');
const open = bodyOf(statusOf('accepted'));

t.test('the gateway waits in the place of the client, as long as there is time', async (t) => {
  const asked: (string | null)[] = [];
  const fetch = async (input: unknown): Promise<Response> => {
    const { searchParams } = new URL(String(input));
    asked.push(searchParams.get('waitMs'));
    const isLast = asked.length === 3;
    scripted.clock.advance(isLast ? 100 : Number(searchParams.get('waitMs')));
    return Response.json(isLast ? bodyOf(completed) : open);
  };
  const result = await scripted.client({ fetch }).waitForResult('req_1', { timeoutMs: 50_500 });
  t.match(result, { ok: true, value: { status: 'completed' } });
  t.strictSame(asked, ['20000', '20000', '10500'], 'each 20 s at most');
  t.strictSame(pauses, [0, 0], 'and no pause of its own between them');
});

t.test('an attempt lasts as much longer as the gateway may wait', async (t) => {
  const { onSilence } = api;
  t.teardown(() => (api.onSilence = onSilence));
  let silences = 0;
  api.onSilence = () => {
    silences++;
    scripted.clock.advance(timeoutMs + 20_000 - 1);
    t.equal(scripted.clock.timerCount, 1, 'still waiting');
    scripted.clock.advance(1);
  };
  api.play('silent', completed);
  const result = await scripted.client().waitForResult('req_1', { timeoutMs: 60_000 });
  t.match(result, { ok: true, value: { status: 'completed' } });
  t.equal(silences, 1);
});

t.test('what is open is read page by page, also past empty pages', async (t) => {
  const one = (requestId: string) => ({ ...open, requestId });
  const page = (signals: object[], next: string | null): Reply => ({
    status: 200,
    body: { signals, next },
  });
  api.play(page([one('r3')], 'r3'), page([], 'r2'), page([one('r1')], null));
  const result = await scripted.client().open();
  t.match(result, { ok: true, value: [{ requestId: 'r3' }, { requestId: 'r1' }] });
  const list = '/api/v1/signals?status=open&limit=200';
  t.strictSame(
    api.seen.map(({ path }) => path),
    [list, `${list}&before=r3`, `${list}&before=r2`],
  );
});

t.test('pages that do not go on end as unreachable', async (t) => {
  api.play({ status: 200, body: { signals: [], next: 'req_1' } });
  const result = await scripted.client({ giveUpAfterMs: 3_000 }).open();
  t.match(result, { ok: false, error: { kind: 'unreachable' } });
  t.equal(api.seen.length, 4);
});

t.test('a page that is none is read again; a refusal ends the list', async (t) => {
  api.play(
    { status: 200, body: { signals: [{}], next: null } },
    { status: 200, body: { signals: [] } },
    { status: 200, body: { signals: [], next: null } },
  );
  t.strictSame(await scripted.client().open(), { ok: true, value: [] });
  api.play(refusal(403, 'insufficient_scope'));
  t.match(await scripted.client().open(), { ok: false, error: { code: 'insufficient_scope' } });
});

t.test('a snapshot is the data of an event', async (t) => {
  const event = { eventId: 'e-1', event: 'state_snapshot', data: { positions: [] } };
  api.play(refusal(504, 'terminal_timeout'), { status: 200, body: event });
  const source = { platform: 'terminal_b', instanceId: '', accountName: '7@A & B' };
  const result = await scripted.client().snapshot(source);
  t.strictSame(result, { ok: true, value: event });
  const url = new URL(api.seen[0]?.path ?? '', api.baseUrl);
  t.equal(url.pathname, '/api/v1/terminal-events/snapshot');
  t.strictSame(Object.fromEntries(url.searchParams), source);
  t.strictSame(pauses, [1_000]);
  api.play(refusal(409, 'terminal_unavailable'));
  t.match(await scripted.client().snapshot(source), { error: { code: 'terminal_unavailable' } });
});

t.test('no result holds the API key, even when the other side repeats it', async (t) => {
  const echo = {
    error: { code: apiKey, message: apiKey, details: [{ field: apiKey, code: 'x' }] },
  };
  const broken = async (): Promise<never> => {
    throw new Error(`bad header: Bearer ${apiKey}`);
  };
  api.play({ status: 400, body: echo, headers: { 'X-Trace-Id': apiKey } });
  const results = [
    await scripted.client().submit(draft),
    await scripted.client({ fetch: broken, giveUpAfterMs: 0 }).submit(draft),
  ];
  t.match(results, [{ error: { kind: 'refused' } }, { error: { kind: 'unknown' } }]);
  t.notMatch(JSON.stringify(results), apiKey);
});

t.test('settings that cannot be right are thrown back without being quoted', (t) => {
  const baseUrl = 'http://127.0.0.1:8080';
  const tryKey = (key: string) => () => createBotClient({ baseUrl, apiKey: key });
  for (const key of ['', 'svc_api_', 'Xy7', 'svc_api_a\nXy7', 'svc_api_Xy7 ']) {
    t.throws(tryKey(key), { name: 'TypeError', message: /^((?!Xy7).)*$/ }, JSON.stringify(key));
  }
  for (const url of ['gateway', '127.0.0.1:8080', 'ftp://gateway', 'http://user:pass@gateway']) {
    const message = /^baseUrl must begin with http/;
    t.throws(() => createBotClient({ baseUrl: url, apiKey }), { name: 'TypeError', message }, url);
  }
  t.end();
});

t.test('an Idempotency-Key that no header can carry is thrown back', async (t) => {
  const client = scripted.client();
  for (const idempotencyKey of ['', ' key', 'key ', 'a\nb', 'clé']) {
    t.throws(() => client.prepare(draft, { idempotencyKey }), TypeError);
    await t.rejects(client.submit(draft, { idempotencyKey }), TypeError);
    await t.rejects(client.send({ ...client.prepare(draft), idempotencyKey }), TypeError);
  }
});
