import t, { type Test } from 'tap';
import { refusal, type Reply } from '../support/fake-api.js';
import { startScriptedClient, timeoutMs } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api, clock, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
  scripted.onPause = (delayMs) => clock.advance(delayMs);
});

const requested = {
  status: 202,
  body: {
    cancelRequestId: 'can_1',
    orderRef: 'ord_1',
    executionId: 'exe_1',
    requestId: 'req_1',
    signalId: 'sig_1',
    status: 'requested',
    requestedAt: '2026-01-31T12:00:00.000Z',
  },
};

/** Checks that every request since the script began asked for the same cancel under the same key. */
function sentTheSame(t: Test, times: number, key = api.seen[0]?.headers['idempotency-key']): void {
  t.equal(api.seen.length, times);
  for (const { method, path, headers, body } of api.seen) {
    t.match({ method, path }, { method: 'POST', path: '/api/v1/orders/ord_1/cancel' });
    t.equal(headers['idempotency-key'], key);
    t.equal(body.length, 0);
  }
}

t.test('an accepted cancel tells all that the gateway said, and its key', async (t) => {
  api.play(requested);
  const result = await scripted.client().cancel('ord_1', { idempotencyKey: 'key-1' });
  const value = { ...requested.body, idempotencyKey: 'key-1', replayed: false };
  t.strictSame(result, { ok: true, value });
  sentTheSame(t, 1, 'key-1');
});

t.test('every cancel gets a key of its own', (t) => {
  const client = scripted.client();
  const keys = [client.prepareCancel('ord_1'), client.prepareCancel('ord_1')];
  t.match(keys[0]?.idempotencyKey, /^[0-9A-HJKMNP-TV-Z]{26}$/);
  t.not(keys[0]?.idempotencyKey, keys[1]?.idempotencyKey);
  t.end();
});

t.test('a stored cancel is sent under its key by another client', async (t) => {
  const stored = JSON.stringify(scripted.client().prepareCancel('ord_1'));
  const prepared = JSON.parse(stored);
  clock.advance(1_000);
  api.play({ ...requested, headers: { 'Idempotent-Replayed': 'true' } });
  const result = await scripted.client().sendCancel(prepared, { resumed: true });
  t.match(result, { ok: true, value: { replayed: true, idempotencyKey: prepared.idempotencyKey } });
  sentTheSame(t, 1, prepared.idempotencyKey);
});

t.test('an orderRef stays one part of the path, whatever it holds', async (t) => {
  api.play(requested);
  await scripted.client({ baseUrl: `${api.baseUrl}/gate/` }).cancel('o/1?&#é %');
  t.equal(api.seen[0]?.path, '/gate/api/v1/orders/o%2F1%3F%26%23%C3%A9%20%25/cancel');
});

const withoutTime = { ...requested.body, requestedAt: undefined };
const transient: readonly [name: string, reply: Reply, pauseMs: number][] = [
  ['a connection reset before the request was read', 'reset-before-body', 250],
  ['a connection reset after the request was read', 'reset-after-body', 250],
  ['an answer that breaks off', 'cut', 250],
  ['no answer in time', 'silent', 250],
  ['409 request_in_progress', refusal(409, 'request_in_progress', { 'Retry-After': '3' }), 3_000],
  ['429', refusal(429, 'api_rate_limited', { 'Retry-After': '2' }), 2_250],
  ['429 without Retry-After', refusal(429, 'api_rate_limited'), 250],
  ['500 signal_processing_failed', refusal(500, 'signal_processing_failed'), 250],
  ['500 internal_error', refusal(500, 'internal_error'), 250],
  ['502 of a proxy', { status: 502, body: '<h1>Bad Gateway</h1>' }, 250],
  ['503 with Retry-After', refusal(503, 'shutting_down', { 'Retry-After': '5' }), 5_250],
  ['505', { status: 505, headers: { Connection: 'close' }, body: '<h1>No</h1>' }, 0],
  ['202 with malformed JSON', { status: 202, body: '{"cancelRequestId":' }, 250],
  ['202 without a requestedAt', { status: 202, body: withoutTime }, 250],
];
for (const [name, reply, pauseMs] of transient) {
  t.test(`after ${name} the same cancel is sent again under the same key`, async (t) => {
    api.play(reply, requested);
    t.match(await scripted.client().cancel('ord_1'), { ok: true, value: requested.body });
    t.strictSame(pauses, [pauseMs]);
    sentTheSame(t, 2);
  });
}

const definitive: readonly [status: number, code: string][] = [
  [400, 'invalid_idempotency_key'],
  [401, 'invalid_api_key'],
  [403, 'insufficient_scope'],
  [403, 'business_plan_required'],
  [404, 'order_not_found'],
  [409, 'idempotency_conflict'],
  [409, 'order_not_cancellable'],
  [409, 'cancel_already_in_progress'],
  [409, 'terminal_unavailable'],
  [409, 'code_of_the_future'],
];
for (const [status, code] of definitive) {
  t.test(`${status} ${code} is refused, without a retry`, async (t) => {
    api.play(refusal(status, code), requested);
    const result = await scripted.client().cancel('ord_1', { idempotencyKey: 'key-1' });
    const error = { kind: 'refused', status, code, traceId: 'trace-1', idempotencyKey: 'key-1' };
    t.match(result, { ok: false, error });
    sentTheSame(t, 1, 'key-1');
  });
}

const endless: readonly [reply: Reply, kind: string][] = [
  ['reset-after-body', 'unknown'],
  ['silent', 'unknown'],
  ['cut', 'unknown'],
  [refusal(409, 'request_in_progress'), 'unknown'],
  [refusal(409, 'idempotency_outcome_unknown'), 'unknown'],
  [refusal(500, 'signal_processing_failed'), 'unknown'],
  [{ status: 202, body: 'accepted' }, 'unknown'],
  [refusal(429, 'api_rate_limited'), 'refused'],
  [refusal(503, 'public_api_disabled'), 'refused'],
];
for (const [reply, kind] of endless) {
  t.test(`a cancel that gets nothing but ${JSON.stringify(reply)} is ${kind}`, async (t) => {
    api.play(reply);
    const result = await scripted.client({ giveUpAfterMs: 10_000 }).cancel('ord_1');
    t.match(result, { ok: false, error: { kind } });
    sentTheSame(t, pauses.length + 1);
  });
}

const doubts: readonly [rule: string, status: number, code: string, kind: string][] = [
  ['the order may have been cancelled by it', 409, 'order_not_cancellable', 'unknown'],
  ['the cancel in progress may be its own', 409, 'cancel_already_in_progress', 'unknown'],
  ['the terminal may come back before it arrives', 409, 'terminal_unavailable', 'unknown'],
  ['an order is looked up before the key', 404, 'order_not_found', 'unknown'],
  ['a key of another operation never was this one', 409, 'idempotency_conflict', 'refused'],
];
for (const [rule, status, code, kind] of doubts) {
  t.test(`after an attempt without an answer, ${code} is ${kind}: ${rule}`, async (t) => {
    api.play('cut', refusal(status, code));
    t.match(await scripted.client().cancel('ord_1'), { ok: false, error: { kind, code } });
  });
}

t.test('a resumed cancel is in doubt until the gateway has looked up its key', async (t) => {
  const client = scripted.client();
  const prepared = client.prepareCancel('ord_1');
  const kindAfter = async (code: string): Promise<string> => {
    api.play(refusal(409, code));
    const result = await client.sendCancel(prepared, { resumed: true });
    return result.ok ? 'accepted' : result.error.kind;
  };
  t.equal(await kindAfter('terminal_unavailable'), 'unknown');
  t.equal(await kindAfter('idempotency_conflict'), 'refused');
  clock.advance(24 * 60 * 60_000);
  t.equal(await kindAfter('idempotency_conflict'), 'unknown', 'the key may be forgotten');
});

t.test('by default a cancel is tried for a minute', async (t) => {
  api.play({ status: 500 });
  const begin = clock.monotonic();
  await scripted.client().cancel('ord_1');
  t.equal(clock.monotonic() - begin, 60_000);
});

t.test('a cancel that is aborted beforehand is not sent', async (t) => {
  api.play(requested);
  const result = await scripted.client().cancel('ord_1', { signal: AbortSignal.abort() });
  t.match(result, { ok: false, error: { kind: 'aborted' } });
  t.equal(api.seen.length, 0);
});

t.test('a cancel that is aborted under way is unknown', async (t) => {
  const abort = new AbortController();
  api.onSilence = () => abort.abort();
  t.teardown(() => (api.onSilence = () => clock.advance(timeoutMs)));
  api.play('silent');
  const result = await scripted.client().cancel('ord_1', { signal: abort.signal });
  t.match(result, { ok: false, error: { kind: 'unknown', idempotencyKey: /./ } });
});

t.test('an Idempotency-Key that no header can carry is thrown back', async (t) => {
  const client = scripted.client();
  const prepared = client.prepareCancel('ord_1');
  for (const idempotencyKey of ['', ' key', 'a\nb', 'clé']) {
    t.throws(() => client.prepareCancel('ord_1', { idempotencyKey }), TypeError);
    await t.rejects(client.cancel('ord_1', { idempotencyKey }), TypeError);
    await t.rejects(client.sendCancel({ ...prepared, idempotencyKey }), TypeError);
  }
});
