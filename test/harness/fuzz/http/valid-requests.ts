/**
 * Valid requests to every route, before they are serialized. Their ids come from the seed and differ
 * enough that no mutation of a byte turns one into another.
 */
import type { Chance } from '../../chance.js';
import { absentInstrument } from './filter-model.js';
import type { Fixtures } from './fixtures.js';

export interface Draft {
  readonly method: string;
  readonly target: string;
  /** Header lines with a Host, without Content-Length and Transfer-Encoding. */
  readonly lines: readonly string[];
  /** Latin1. */
  readonly body: string;
}

export interface Material {
  readonly fixtures: Fixtures;
  readonly chance: Chance;
}

type DraftMaker = (material: Material) => Draft;

const source = 'platform=terminal_a&instanceId=fuzz-1&accountName=Sim101';

/** Valid and invalid filters. The valid ones match no order, so that orders are left to be cancelled. */
const filters: readonly string[] = [
  ...['', '"platform":"terminal_a, terminal_b",', '"instanceId":"fuzz-1",'],
  ...['"platform":"none",', '"accountName":"",', '"account":"x",', '"instanceId":7,'],
]
  .map((members) => `{${members}"instrument":"${absentInstrument}"}`)
  .concat('[]', 'null', '"ES"', '{"instrument":null}', '{"Instrument":"ES"}');

// oxfmt-ignore
const keyLimits: readonly string[] = [
  'null', '{}', '[]', '1', '{"maxOpenOrders":1}', '{"maxOpenOrders":0}', '{"maxOpenOrders":1.5}', '{"maxOrderQuantity":1e-9}', '{"maxOrderQuantity":"1"}',
  '{"maxOrdersPerSecond":1000}', '{"maxOrdersPerSecond":1001}', '{"allowedInstruments":["ES"]}', '{"allowedInstruments":[]}', '{"allowedInstruments":[""]}',
  '{"allowedIps":["127.0.0.1","10.0.0.0/8","::1"]}', '{"allowedIps":["10.0.0.0/33"]}', '{"allowedIps":["fe80::1%eth0"]}', '{"allowedIps":"::1"}', '{"maxOrders":1}', '{"__proto__":{"maxOpenOrders":1}}',
];

export const drafts = {
  submit: validSubmit,
  read: ({ fixtures, chance }) =>
    get(
      `/api/v1/signals/${chance.pick([fixtures.requestId, 'req_none', `${fixtures.requestId}x`])}`,
      fixtures,
    ),
  cancel: ({ fixtures, chance }) => cancelDraft({ fixtures, chance }, chance.pick(fixtures.orders)),
  'cancel of nothing': ({ fixtures, chance }) => cancelDraft({ fixtures, chance }, 'ord_none'),
  'cancel of all': ({ fixtures, chance }) => {
    const request = bearing('POST', '/api/v1/orders/cancel-all', fixtures.attacker.key);
    const lines = [...request.lines, `Idempotency-Key: ${idOf(chance)}`];
    return withJson({ ...request, lines }, chance.pick(filters));
  },
  sources: ({ fixtures }) => get('/api/v1/terminal-events/sources', fixtures),
  stream: ({ fixtures, chance }) => {
    const query = chance.pick([
      source,
      source.replace('fuzz-1', 'none'),
      `${source}&platform=x`,
      '',
    ]);
    return get(`/api/v1/terminal-events/stream?${query}`, fixtures);
  },
  document: ({ chance }) => ({
    ...draft('GET', chance.pick(['/openapi.json', '/openapi-3.0.json'])),
    body: '',
  }),
  'list of keys': ({ fixtures }) => bearing('GET', '/api/api-keys', fixtures.attacker.token),
  'revocation of nothing': ({ fixtures, chance }) =>
    bearing(
      'DELETE',
      `/api/api-keys/${chance.pick(['999999', 'x', '-1', '1e3'])}`,
      fixtures.attacker.token,
    ),
  'new key': ({ fixtures, chance }) => {
    const scopes = chance.pick(['["signals:write"]', '[]', '["none"]', '{}']);
    const more = chance.pick([
      '',
      ',"expires":1',
      ',"__proto__":{"name":"n"}',
      `,"limits":${chance.pick(keyLimits)}`,
    ]);
    const body = `{"name":"${chance.pick(['', 'a name'])}","scopes":${scopes}${more}}`;
    return withJson(bearing('POST', '/api/api-keys', fixtures.attacker.token), body);
  },
  login: ({ fixtures, chance }) => {
    const password = chance.pick(['correct horse', 'wrong', '']);
    const body = JSON.stringify({ email: fixtures.attacker.email, password });
    return withJson(draft('POST', '/api/auth/login'), body);
  },
  'another key': ({ fixtures, chance }) => {
    const key = chance.pick([
      fixtures.narrowKey,
      fixtures.revokedKey,
      fixtures.attacker.token,
      'svc_api_none',
      '',
    ]);
    const { body, lines, ...rest } = validSubmit({ fixtures, chance });
    return {
      ...rest,
      body,
      lines: [lines[0] as string, `Authorization: Bearer ${key}`, ...lines.slice(2)],
    };
  },
  nothing: ({ fixtures, chance }) =>
    get(
      chance.pick(['/', '/api', '/api/v1', '/api/v1/none', '/plugin/v1', '/API/V1/signals']),
      fixtures,
    ),
  'another method': ({ fixtures, chance }) =>
    bearing(
      chance.pick(['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'DELETE', 'get']),
      '/api/v1/signals',
      fixtures.attacker.key,
    ),
} as const satisfies Record<string, DraftMaker>;

type DraftName = keyof typeof drafts;

/** Requests that are answered synchronously, so that they may be pipelined. */
export const promptDrafts: readonly DraftName[] = ['read', 'sources', 'nothing', 'another method'];

/** Weights: requests with more ways to fail more often. */
const weights: Readonly<Record<DraftName, number>> = {
  submit: 10,
  read: 2,
  cancel: 2,
  'cancel of nothing': 1,
  'cancel of all': 1,
  sources: 2,
  stream: 1,
  document: 0.3,
  'list of keys': 1,
  'revocation of nothing': 1,
  'new key': 0.5,
  login: 0.2,
  'another key': 1,
  nothing: 1,
  'another method': 1,
};

export function anyDraft(material: Material): Draft {
  return drafts[material.chance.weigh(weights)](material);
}

function validSubmit(material: Material): Draft {
  return submitDraft(material, signalText(idOf(material.chance)));
}

export function submitDraft({ fixtures, chance }: Material, body: string): Draft {
  const request = bearing('POST', '/api/v1/signals', fixtures.attacker.key);
  return withJson(
    { ...request, lines: [...request.lines, `Idempotency-Key: ${idOf(chance)}`] },
    body,
  );
}

function cancelDraft({ fixtures, chance }: Material, orderRef: string): Draft {
  const request = bearing('POST', `/api/v1/orders/${orderRef}/cancel`, fixtures.attacker.key);
  return { ...request, lines: [...request.lines, `Idempotency-Key: ${idOf(chance)}`] };
}

/** A complete request with an effect, to be hidden after or in another. */
export function hiddenRequest({ fixtures, chance }: Material): string {
  const kind = chance.weigh({ submit: 6, cancel: 1, revoke: 1 });
  if (kind === 'submit') return write(drafts.submit({ fixtures, chance }));
  if (kind === 'cancel') return write(cancelDraft({ fixtures, chance }, fixtures.forbiddenOrder));
  return write(
    bearing('DELETE', `/api/api-keys/${fixtures.forbiddenKeyId}`, fixtures.attacker.token),
  );
}

/** The members of a valid signal as JSON texts. */
export function signalMembers(signalId: string): Record<string, string> {
  return {
    v: '1',
    signalId: `"${signalId}"`,
    ts: `${Date.now()}`,
    ttlMs: '120000',
    platform: '"terminal_a"',
    type: '"order"',
    cmd: '"submit"',
    payload: '{"instrument":"ES","side":"buy","executionType":"market","quantity":1}',
  };
}

function signalText(signalId: string): string {
  const members = Object.entries(signalMembers(signalId)).map(
    ([name, text]) => `"${name}":${text}`,
  );
  return `{${members.join(',')}}`;
}

export function idOf(chance: Chance): string {
  return `fuzz-${chance.seed}-${chance.between(1e8, 1e9 - 1)}-${chance.between(1e8, 1e9 - 1)}`;
}

/** Serializes a request, with Content-Length unless a line gives a framing. */
export function write({ method, target, lines, body }: Draft): string {
  const hasFraming = lines.some((line) => /^(?:content-length|transfer-encoding)\b/i.test(line));
  const framing = hasFraming || body === '' ? [] : [`Content-Length: ${body.length}`];
  return `${method} ${target} HTTP/1.1\r\n${[...lines, ...framing].join('\r\n')}\r\n\r\n${body}`;
}

function draft(method: string, target: string): Draft {
  return { method, target, lines: ['Host: gateway'], body: '' };
}

function bearing(method: string, target: string, credential: string): Draft {
  const plain = draft(method, target);
  return { ...plain, lines: [...plain.lines, `Authorization: Bearer ${credential}`] };
}

function get(target: string, { attacker }: Fixtures): Draft {
  return bearing('GET', target, attacker.key);
}

function withJson(request: Draft, body: string): Draft {
  return { ...request, lines: [...request.lines, 'Content-Type: application/json'], body };
}
