import { getEventListeners } from 'node:events';
import t, { type Test } from 'tap';
import { flood, refusal, type Reply } from '../support/fake-api.js';
import { answerBytesMax } from '../../src/client/answer.js';
import { accepted, draft, startScriptedClient, timeoutMs } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api, clock, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
  scripted.onPause = (delayMs) => clock.advance(delayMs);
});

/** Checks that every request since the script began carried the same key and the same bytes. */
function sentTheSame(t: Test, times: number): void {
  t.equal(api.seen.length, times);
  for (const { method, path, headers, body } of api.seen) {
    t.match({ method, path }, { method: 'POST', path: '/api/v1/signals' });
    t.equal(headers['idempotency-key'], api.seen[0]?.headers['idempotency-key']);
    // A connection that is reset before the body was read shows none of it.
    if (body.length > 0) t.strictSame(body, api.seen.at(-1)?.body);
  }
}

const padded = (bytes: number): Reply => ({
  status: 202,
  body: JSON.stringify(accepted.body).padEnd(bytes),
});
const tooLarge = padded(answerBytesMax + 1);

const transient: readonly [name: string, reply: Reply, pauseMs: number][] = [
  ['a connection reset before the body was read', 'reset-before-body', 250],
  ['a connection reset after the body was read', 'reset-after-body', 250],
  ['an answer that breaks off', 'cut', 250],
  ['no answer in time', 'silent', 250],
  ['409 request_in_progress', refusal(409, 'request_in_progress', { 'Retry-After': '3' }), 3_000],
  ['409 request_in_progress without Retry-After', refusal(409, 'request_in_progress'), 250],
  ['429', refusal(429, 'api_rate_limited', { 'Retry-After': '2' }), 2_250],
  ['429 without Retry-After', refusal(429, 'api_rate_limited'), 250],
  ['429 of the account', refusal(429, 'signal_rate_limit_exceeded', { 'Retry-After': '1' }), 1_250],
  ['429 with an unknown code', refusal(429, 'limit_of_the_future'), 250],
  ['500 signal_processing_failed', refusal(500, 'signal_processing_failed'), 250],
  ['500 internal_error', refusal(500, 'internal_error'), 250],
  ['502 of a proxy', { status: 502, body: '<h1>Bad Gateway</h1>' }, 250],
  ['503', refusal(503, 'public_api_disabled'), 250],
  ['503 with Retry-After', refusal(503, 'shutting_down', { 'Retry-After': '5' }), 5_250],
  ['507, a status that no rule names', { status: 507 }, 250],
  ['202 with malformed JSON', { status: 202, body: '{"requestId":"req_1",' }, 250],
  ['202 without a requestId', { status: 202, body: { status: 'accepted' } }, 250],
  ['202 with more bytes than any answer of a gateway', tooLarge, 250],
];

for (const [name, reply, pauseMs] of transient) {
  t.test(`after ${name} the same request is sent again`, async (t) => {
    api.play(reply, accepted);
    const result = await scripted.client().submit(draft);
    t.match(result, { ok: true, value: accepted.body });
    t.equal(result.ok && result.value.idempotencyKey, api.seen[0]?.headers['idempotency-key']);
    t.strictSame(pauses, [pauseMs]);
    sentTheSame(t, 2);
  });
}

t.test('an answer of as many bytes as one may have counts', async (t) => {
  api.play(padded(answerBytesMax));
  t.match(await scripted.client().submit(draft), { ok: true, value: accepted.body });
});

t.test('an answer without an end leaves the outcome unknown', async (t) => {
  api.play({ status: 202, stream: (out) => flood(out, ' '.repeat(64 * 1024)) });
  const result = await scripted.client({ giveUpAfterMs: 0 }).submit(draft);
  const message = new RegExp(`more than ${answerBytesMax} bytes`);
  t.match(result, { ok: false, error: { kind: 'unknown', message } });
});

t.test('an answer that came while the bot was suspended counts', async (t) => {
  scripted.onPause = () => undefined;
  api.play({
    status: accepted.status,
    get body() {
      clock.elapse(60_000);
      clock.advance(0);
      return accepted.body;
    },
  });
  const result = await scripted.client().submit(draft);
  t.match(result, { ok: true, value: accepted.body });
  sentTheSame(t, 1);
});

t.test('a Retry-After that is a date is waited for', async (t) => {
  const date = new Date(clock.now() + 4_000);
  date.setMilliseconds(0);
  const untilDate = date.getTime() - clock.now();
  api.play(refusal(429, 'api_rate_limited', { 'Retry-After': date.toUTCString() }), accepted);
  t.match(await scripted.client().submit(draft), { ok: true });
  t.strictSame(pauses, [untilDate + 250]);
});

t.test('after 505 the same request goes out at once, on a new connection', async (t) => {
  const tooEarly = { status: 505, headers: { Connection: 'close' }, body: '<h1>No</h1>' };
  api.play(tooEarly, tooEarly, accepted);
  t.match(await scripted.client().submit(draft), { ok: true });
  t.strictSame(pauses, [0, 500]);
  t.equal(new Set(api.seen.map((request) => request.connection)).size, 3);
  sentTheSame(t, 3);
});

t.test('the waits grow up to ten seconds', async (t) => {
  api.play(...Array<Reply>(9).fill({ status: 500 }), accepted);
  t.match(await scripted.client({ giveUpAfterMs: 60_000 }).submit(draft), { ok: true });
  t.strictSame(pauses, [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
  sentTheSame(t, 10);
});

t.test('jitter makes a wait longer by up to a quarter', async (t) => {
  api.play({ status: 500 }, accepted);
  await scripted.client({ random: () => 0.5 }).submit(draft);
  t.strictSame(pauses, [250 * 1.125]);
});

const definitive: readonly Reply[] = [
  refusal(400, 'invalid_idempotency_key'),
  refusal(400, 'malformed_json'),
  refusal(401, 'invalid_api_key'),
  refusal(403, 'insufficient_scope'),
  refusal(403, 'business_plan_required'),
  refusal(403, 'account_frozen'),
  refusal(404, 'not_found'),
  refusal(409, 'idempotency_conflict'),
  refusal(409, 'duplicate_signal_id'),
  refusal(413, 'request_body_too_large'),
  refusal(415, 'unsupported_media_type'),
  refusal(422, 'invalid_signal'),
  refusal(418, 'code_of_the_future'),
  refusal(431, 'header_too_large'),
  refusal(403, 'constructor'),
  refusal(307, 'moved', { Location: '/api/v1/elsewhere' }),
];

for (const reply of definitive) {
  const { status, body } = reply as { status: number; body: { error: { code: string } } };
  t.test(`${status} ${body.error.code} is refused, without a retry`, async (t) => {
    api.play(reply, accepted);
    const result = await scripted.client().submit(draft, { idempotencyKey: 'key 1' });
    t.match(result, {
      ok: false,
      error: {
        kind: 'refused',
        status,
        code: body.error.code,
        traceId: 'trace-1',
        idempotencyKey: 'key 1',
      },
    });
    sentTheSame(t, 1);
  });
}

function invalidFor(...codes: string[]): Reply {
  const details = codes.map((code) => ({ field: 'ts', code }));
  return { status: 422, body: { error: { code: 'invalid_signal', message: 'no', details } } };
}

t.test(
  'a signal that is only too early is sent again, the same, until its time has come',
  async (t) => {
    const early = invalidFor('signal_from_future');
    api.play(early, early, accepted);
    const result = await scripted.client().submit(draft, { idempotencyKey: 'key 1' });
    t.match(result, { ok: true });
    sentTheSame(t, 3);
    api.play(invalidFor('signal_from_future', 'invalid_ttl'), accepted);
    t.match(await scripted.client().submit(draft), { ok: false, error: { kind: 'refused' } });
  },
);

t.test('the details of an invalid signal are passed on, and nothing but the details', async (t) => {
  const details = [{ field: 'ttlMs', code: 'invalid_ttl' }];
  const error = {
    code: 'invalid_signal',
    message: 'no',
    details: [...details, { field: 1 }, null],
  };
  api.play({ status: 422, headers: { 'X-Trace-Id': 'trace-2' }, body: { error } });
  const result = await scripted.client().submit(draft);
  t.strictSame(!result.ok && result.error.details, details);
  t.equal(!result.ok && result.error.traceId, 'trace-2');
});

t.test('idempotency_outcome_unknown is unknown, without a retry', async (t) => {
  const body = { error: { code: 'idempotency_outcome_unknown' }, requestId: 'req_9' };
  api.play({ status: 409, body }, accepted);
  t.match(await scripted.client().submit(draft), {
    ok: false,
    error: { kind: 'unknown', code: 'idempotency_outcome_unknown', requestId: 'req_9' },
  });
  sentTheSame(t, 1);
});

const unauthorised = refusal(401, 'invalid_api_key');
const invalid = refusal(422, 'invalid_signal');
const day = 24 * 60 * 60_000;

const doubts: readonly [rule: string, script: Reply[], kind: string][] = [
  ['a refusal before the key is looked up settles nothing', ['cut', unauthorised], 'unknown'],
  ['a rate limit settles nothing', ['cut', refusal(429, 'api_rate_limited')], 'unknown'],
  ['a used signalId may be its own', ['cut', refusal(409, 'duplicate_signal_id')], 'unknown'],
  ['a quota may be lifted', ['cut', refusal(429, 'signal_rate_limit_exceeded')], 'unknown'],
  ['an account may be thawed', ['cut', refusal(403, 'account_frozen')], 'unknown'],
  ['a limit raises none', [refusal(429, 'api_rate_limited'), unauthorised], 'refused'],
  ['a disabled API raises none', [refusal(503, 'public_api_disabled'), unauthorised], 'refused'],
];

for (const [rule, script, kind] of doubts) {
  t.test(`whether it took effect: ${rule}`, async (t) => {
    api.play(...script);
    t.match(await scripted.client().submit(draft), { ok: false, error: { kind } });
  });
}

const lookedUp: readonly [status: number, code: string][] = [
  [400, 'malformed_json'],
  [409, 'idempotency_conflict'],
  [422, 'invalid_signal'],
];
for (const [status, code] of lookedUp) {
  t.test(`whether it took effect: ${code}, said after the look-up, settles it`, async (t) => {
    api.play('cut', refusal(status, code));
    t.match(await scripted.client().submit(draft), { ok: false, error: { kind: 'refused', code } });
  });
}

t.test('a resumed signal is in doubt until the gateway has looked up its key', async (t) => {
  const client = scripted.client();
  const prepared = client.prepare(draft);
  const kindAfter = async (reply: Reply): Promise<string> => {
    api.play(reply);
    const result = await client.send(prepared, { resumed: true });
    return result.ok ? 'accepted' : result.error.kind;
  };
  t.equal(await kindAfter(accepted), 'accepted');
  t.equal(await kindAfter(unauthorised), 'unknown');
  t.equal(await kindAfter(invalid), 'refused');
  t.equal(api.seen[0]?.headers['idempotency-key'], prepared.idempotencyKey);
  t.equal(api.seen[0]?.body.toString(), prepared.body);
  clock.advance(day);
  t.equal(await kindAfter(invalid), 'unknown', 'the gateway may have forgotten the key');
});

t.test('an aborted resumption is unknown although it sent nothing', async (t) => {
  api.play(accepted);
  const client = scripted.client();
  const options = { resumed: true, signal: AbortSignal.abort() };
  t.match(await client.send(client.prepare(draft), options), { error: { kind: 'unknown' } });
  t.equal(api.seen.length, 0);
});

const endless: readonly [script: Reply, kind: string, code: string | undefined][] = [
  ['reset-before-body', 'unknown', undefined],
  ['reset-after-body', 'unknown', undefined],
  ['silent', 'unknown', undefined],
  ['cut', 'unknown', undefined],
  [refusal(500, 'signal_processing_failed'), 'unknown', 'signal_processing_failed'],
  [refusal(409, 'request_in_progress'), 'unknown', 'request_in_progress'],
  [{ status: 202, body: 'accepted' }, 'unknown', undefined],
  [refusal(429, 'api_rate_limited'), 'refused', 'api_rate_limited'],
  [refusal(503, 'public_api_disabled'), 'refused', 'public_api_disabled'],
];

for (const [reply, kind, code] of endless) {
  const name = typeof reply === 'string' ? reply : `${reply.status} ${code ?? ''}`;
  t.test(`when nothing but ${name} comes, it gives up as ${kind}`, async (t) => {
    api.play(reply);
    const begin = clock.monotonic();
    const result = await scripted.client({ giveUpAfterMs: 10_000 }).submit(draft);
    t.equal(!result.ok && result.error.kind, kind);
    t.equal(!result.ok && result.error.code, code);
    const elapsedMs = clock.monotonic() - begin;
    t.ok(elapsedMs >= 10_000 && elapsedMs <= 10_000 + timeoutMs, `${elapsedMs} ms`);
    sentTheSame(t, pauses.length + 1);
  });
}

t.test('the last attempt is made when the time is over', async (t) => {
  api.play({ status: 500 });
  await scripted.client({ giveUpAfterMs: 1_000 }).submit(draft);
  t.strictSame(pauses, [250, 500, 250]);
  sentTheSame(t, 4);
});

t.test('without time for retries there is one attempt', async (t) => {
  api.play({ status: 500 });
  await scripted.client({ giveUpAfterMs: 0 }).submit(draft);
  sentTheSame(t, 1);
});

t.test('by default it asks for 30 s longer than the signal lives', async (t) => {
  api.play({ status: 500 });
  const begin = clock.monotonic();
  await scripted.client().submit(draft);
  t.equal(clock.monotonic() - begin, draft.ttlMs + 30_000);
});

t.test('a Retry-After beyond the time ends it at once, and is told', async (t) => {
  api.play(refusal(429, 'daily_signal_limit_exceeded', { 'Retry-After': '3600' }));
  const result = await scripted.client().submit(draft);
  t.match(result, { error: { kind: 'refused', status: 429, retryAfterMs: 3_600_000 } });
  t.strictSame(pauses, []);
  sentTheSame(t, 1);
});

t.test('aborted beforehand, nothing is sent', async (t) => {
  api.play(accepted);
  const result = await scripted.client().submit(draft, { signal: AbortSignal.abort() });
  t.match(result, { ok: false, error: { kind: 'aborted' } });
  t.equal(api.seen.length, 0);
});

const abortedInPause: readonly [reply: Reply, kind: string][] = [
  [refusal(429, 'api_rate_limited'), 'aborted'],
  [{ status: 500 }, 'unknown'],
];
for (const [reply, kind] of abortedInPause) {
  const { status } = reply as { status: number };
  t.test(`aborted in the pause after ${status}, it ends as ${kind}`, async (t) => {
    api.play(reply, accepted);
    const abort = new AbortController();
    scripted.onPause = () => abort.abort();
    const result = await scripted.client().submit(draft, { signal: abort.signal });
    t.match(result, { ok: false, error: { kind, status } });
    sentTheSame(t, 1);
  });
}

t.test('aborted while an attempt is under way, it is unknown', async (t) => {
  api.play('silent');
  const abort = new AbortController();
  const onSilence = api.onSilence;
  api.onSilence = () => abort.abort();
  t.teardown(() => (api.onSilence = onSilence));
  const result = await scripted.client().submit(draft, { signal: abort.signal });
  t.match(result, { ok: false, error: { kind: 'unknown', message: /aborted by the caller/ } });
  sentTheSame(t, 1);
});

t.test('a refusal that crosses an abort is a refusal', async (t) => {
  const abort = new AbortController();
  const fetch = async (): Promise<Response> => {
    abort.abort();
    return new Response('', { status: 401 });
  };
  const result = await scripted.client({ fetch }).submit(draft, { signal: abort.signal });
  t.match(result, { ok: false, error: { kind: 'refused', status: 401 } });
});

t.test('an operation leaves no timer and no listener behind', async (t) => {
  api.play('cut', { status: 500 }, 'silent', accepted);
  const { signal } = new AbortController();
  t.match(await scripted.client().submit(draft, { signal }), { ok: true });
  t.equal(clock.timerCount, 0);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

t.test('no connection at all is unreachable: nothing was sent', async (t) => {
  const gone = await startScriptedClient(t);
  const client = gone.client({ giveUpAfterMs: 1_000 });
  await gone.api.close();
  const result = await client.submit(draft);
  t.match(result, { ok: false, error: { kind: 'unreachable', message: /ECONNREFUSED/ } });
  t.strictSame(gone.pauses, [250, 500, 250]);
});

t.test('only what surely never left is unreachable', async (t) => {
  const connect = Object.assign(new Error('refused'), { syscall: 'connect' });
  const write = Object.assign(new Error('broken pipe'), { syscall: 'write', code: 'EPIPE' });
  const lookup = Object.assign(new Error('no such host'), { code: 'ENOTFOUND' });
  const causes: readonly [cause: unknown, kind: string][] = [
    [connect, 'unreachable'],
    [lookup, 'unreachable'],
    [new AggregateError([connect, connect]), 'unreachable'],
    [new AggregateError([connect, write]), 'unknown'],
    [new AggregateError([]), 'unknown'],
    [write, 'unknown'],
    [undefined, 'unknown'],
  ];
  for (const [cause, kind] of causes) {
    const fetch = async (): Promise<never> => {
      throw new TypeError('fetch failed', { cause });
    };
    const result = await scripted.client({ fetch, giveUpAfterMs: 0 }).submit(draft);
    t.match(result, { ok: false, error: { kind } }, String(cause));
  }
});
