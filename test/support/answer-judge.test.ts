import t from 'tap';
import { mismatchOf, mismatchOfEvent, mismatchOfRequest, type SeenAnswer } from './answer-judge.js';
import { mismatchOfFrame } from './frame-watch.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const keyHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'x-trace-id': traceId,
  'ratelimit-policy': '"key";q=1200;w=60',
  ratelimit: '"key";r=1199;t=60',
};
const sources = { method: 'GET', path: '/api/v1/terminal-events/sources' };

function answer(
  status: number,
  body: unknown,
  headers: Record<string, string> = keyHeaders,
  request: SeenAnswer['request'] | 'any' = sources,
): SeenAnswer {
  return {
    request: request === 'any' ? undefined : request,
    status,
    header: (name) => headers[name.toLowerCase()],
    headerNames: Object.keys(headers),
    text: body === undefined ? undefined : JSON.stringify(body),
  };
}

const refusal = (code: string) => ({ error: { code, message: 'm', traceId } });
const without = (name: string) =>
  Object.fromEntries(Object.entries(keyHeaders).filter(([key]) => key !== name));

t.test('a documented answer has no mismatch', async (t) => {
  t.equal(mismatchOf(answer(200, { sources: [] })), undefined);
  t.equal(mismatchOf(answer(403, refusal('insufficient_scope'))), undefined);
  t.equal(
    mismatchOf(answer(200, undefined, keyHeaders, { ...sources, method: 'HEAD' })),
    undefined,
  );
  t.equal(mismatchOf(answer(200, { sources: [] }, keyHeaders, 'any')), undefined);
  const unknown = { method: 'GET', path: '/api/v1/nothing' };
  t.equal(mismatchOf(answer(404, refusal('not_found'), keyHeaders, unknown)), undefined);
});

t.test('status, headers, body and code are looked at', async (t) => {
  t.match(mismatchOf(answer(202, { sources: [] })), /no such status/);
  t.match(mismatchOf(answer(200, { sources: [] }, without('x-trace-id'))), /X-Trace-Id is missing/);
  t.match(mismatchOf(answer(200, { sources: [] }, without('ratelimit'))), /RateLimit is missing/);
  t.match(
    mismatchOf(answer(200, { sources: [] }, { ...keyHeaders, 'x-other': '1' })),
    /x-other is not documented/,
  );
  t.match(
    mismatchOf(answer(200, { sources: [] }, { ...keyHeaders, ratelimit: 'many' })),
    /must match pattern/,
  );
  t.match(mismatchOf(answer(200, {})), /must have required property 'sources'/);
  t.match(mismatchOf(answer(200, { sources: [], more: 1 })), /additional properties/);
  t.match(mismatchOf(answer(200, { sources: [{ platform: 'terminal_a' }] })), /instanceId/);
  t.match(mismatchOf(answer(403, refusal('account_frozen'))), /account_frozen is not documented/);
  t.match(mismatchOf(answer(429, refusal('api_rate_limited'))), /Retry-After is missing/);
  t.match(mismatchOf(answer(418, { sources: [] }, keyHeaders, 'any')), /as no operation/);
  const unknown = { method: 'GET', path: '/api/v1/nothing' };
  t.match(
    mismatchOf(answer(404, { code: 'not_found', message: '' }, keyHeaders, unknown)),
    /error/,
  );
  t.match(mismatchOf(answer(200, {}, keyHeaders, unknown)), /no operation/);
});

t.test('what only a proxy in front answers is none of the gateway’s', async (t) => {
  t.match(mismatchOf(answer(502, refusal('outcome_unknown'))), /no such status/);
  t.match(mismatchOf(answer(403, refusal('forbidden'))), /forbidden is not documented/);
  const retry = { ...keyHeaders, 'retry-after': '1' };
  t.equal(mismatchOf(answer(503, refusal('shutting_down'), retry)), undefined);
  const untraced = { ...without('x-trace-id'), 'retry-after': '1' };
  t.match(mismatchOf(answer(503, refusal('shutting_down'), untraced)), /X-Trace-Id is missing/);
  const login = { method: 'POST', path: '/api/auth/login' };
  const headers = { 'content-type': 'application/json', 'x-trace-id': traceId, 'retry-after': '1' };
  t.match(mismatchOf(answer(503, refusal('shutting_down'), headers, login)), /code/);
});

t.test('a body that the gateway takes fits its schema', async (t) => {
  const create = { method: 'POST', path: '/api/api-keys' };
  const key = { name: ' bot ', scopes: ['signals:read'] };
  t.equal(mismatchOfRequest(create, JSON.stringify(key)), undefined);
  t.match(mismatchOfRequest(create, JSON.stringify({ ...key, scopes: ['admin'] })), /scopes/);
});

t.test('events and frames', async (t) => {
  t.equal(mismatchOfEvent('replay_gap', { reason: 'cursor_not_available' }), undefined);
  t.match(mismatchOfEvent('replay_gap', { reason: 'other' }), /reason/);
  t.match(mismatchOfEvent('order_updates', {}), /no event/);
  t.match(mismatchOfEvent('order_update', {}), /eventId/);
  t.equal(mismatchOfFrame({ type: 'ack', seq: 1 } as { type: string }), undefined);
  t.match(mismatchOfFrame({ type: 'ack', seq: 0 } as { type: string }), /seq/);
  t.match(mismatchOfFrame({ type: 'ack', seq: 1, more: 1 } as { type: string }), /additional/);
  t.match(mismatchOfFrame({ type: 'nack' }), /no frame/);
});
