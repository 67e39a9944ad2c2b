/**
 * What the specification and the contract say of one request: the answers it may get, and its effect.
 * `anything` stands for every documented answer.
 */
import { routes } from '../../../../src/routes.js';
import type { Fixtures } from './fixtures.js';
import type { ReadRequest } from './http-reader.js';
import { filterViolations, isNoOrderMeant } from './filter-model.js';
import { keyLimitsVerdict } from './key-limits-model.js';
import { isObject, judgeSignal, parse, type MeantSignal } from './signal-model.js';

export type Effect =
  | { readonly kind: 'signal'; readonly signal: MeantSignal; readonly idempotencyKey: string }
  | { readonly kind: 'cancel'; readonly orderRef: string; readonly idempotencyKey: string }
  | { readonly kind: 'cancel-all' }
  | { readonly kind: 'revoke'; readonly keyId: number };

export interface Expectation {
  /** `202`, `422 invalid_signal v:unsupported_version`. */
  readonly verdicts: readonly string[] | 'anything';
  readonly effect?: Effect;
}

type Endpoint = (request: Asked, fixtures: Fixtures, now: number) => Expectation;

interface Asked extends ReadRequest {
  readonly parameter: string;
  readonly query: string;
  /** All values of a header. */
  readonly all: (name: string) => readonly string[];
}

const anything: Expectation = { verdicts: 'anything' };
const only = (...verdicts: string[]): Expectation => ({ verdicts });

export function expectationOf(request: ReadRequest, fixtures: Fixtures, now: number): Expectation {
  const { method, target } = request;
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  const values = { areTrimmed: false };
  const all = (name: string): string[] =>
    request.headers
      .filter(([header]) => header === name)
      .map(([, value]) => {
        // The native parser trims non-ASCII bytes from values.
        const kept = value.replace(/^[\t \x80-\xff]+|[\t \x80-\xff]+$/g, '');
        values.areTrimmed ||= kept !== value;
        return kept;
      });
  if (!request.isOdd && isHeldBack(all)) return only('417 expectation_failed');
  const here = routes.filter((route) => patternOf(route.path).test(path));
  const wanted = method === 'HEAD' ? 'GET' : method;
  const route = here.find((candidate) => candidate.method === wanted);
  if (route === undefined) {
    if (request.isOdd) return anything;
    if (path === '/plugin/v1')
      return all('sec-websocket-key').length > 0 ? anything : only('426 upgrade_required');
    return only(here.length === 0 ? '404 not_found' : '405 method_not_allowed');
  }
  const parameter = decode(patternOf(route.path).exec(path)?.[1] ?? '');
  const asked = { ...request, parameter, query, all };
  const refusal = refusalOf(route, asked, fixtures);
  const expected = refusal ?? endpoints[route.operation](asked, fixtures, now);
  // A key beyond ASCII is refused unless it is UTF-8.
  const isKeyDecoded = all('idempotency-key').some((key) => /[\x80-\xff]/.test(key));
  const isDoubtful = request.isOdd || values.areTrimmed || isKeyDecoded;
  return isDoubtful ? { ...expected, verdicts: 'anything' } : expected;
}

/** Whether a client would hold back the body, for an `Expect` that the native server does not meet. */
function isHeldBack(all: Asked['all']): boolean {
  const [expected, ...others] = all('expect');
  const isMet = expected === undefined || expected === '100-continue';
  const isNone = expected === '' && others.length === 0;
  const hasBody = all('transfer-encoding').length > 0 || Number(all('content-length')[0]) > 0;
  return !isMet && !isNone && hasBody;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace('.', '\\.').replace(/:\w+/, '([^/]+)')}$`);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Checks the credential, then the scope. */
function refusalOf(
  { credential, scope }: (typeof routes)[number],
  { all }: Asked,
  { attacker, narrowKey }: Fixtures,
): Expectation | undefined {
  if (credential === 'none') return undefined;
  const values = all('authorization');
  const value = values.length === 1 ? (values[0] as string) : '';
  const bearer = /^bearer (.+)$/is.exec(value)?.[1]?.trim() ?? '';
  if (credential === 'user-token') {
    return bearer === attacker.token ? undefined : only('401 invalid_token');
  }
  if (bearer === attacker.key) return undefined;
  if (bearer !== narrowKey) return only('401 invalid_api_key');
  return scope === 'events:read' ? undefined : only('403 insufficient_scope');
}

const endpoints: Readonly<Record<(typeof routes)[number]['operation'], Endpoint>> = {
  login: (request) =>
    jsonOf(request, (value) => {
      if (hasOtherThan(['email', 'password'], value)) return only('400 unknown_field');
      const { email, password } = (value ?? {}) as Partial<Record<string, unknown>>;
      const isWhole = typeof email === 'string' && typeof password === 'string';
      if (!isWhole) return only('400 validation_failed');
      // The pool of password hashers may be full.
      return only(
        '200',
        '401 invalid_credentials',
        '400 validation_failed',
        '503 login_unavailable',
      );
    }),
  'create-key': (request) =>
    jsonOf(request, (value) => {
      if (hasOtherThan(['name', 'scopes', 'expiresAt', 'limits'], value)) {
        return only('400 unknown_field');
      }
      const faults = ['400 invalid_name', '400 invalid_scopes', '400 invalid_expiration'];
      const { limits } = (value ?? {}) as { readonly limits?: unknown };
      return keyLimitsVerdict(limits) === 'invalid'
        ? only(...faults, '400 invalid_limits')
        : only(...faults, '201', '400 active_key_limit_reached');
    }),
  'list-keys': () => only('200'),
  'revoke-key': ({ parameter }, { forbiddenKeyId }) =>
    parameter === `${forbiddenKeyId}`
      ? { verdicts: ['204'], effect: { kind: 'revoke', keyId: forbiddenKeyId } }
      : only('404 key_not_found'),
  'submit-signal': (request, _, now) => {
    if (!isJson(request)) return only('415 unsupported_media_type');
    const key = idempotencyKeyOf(request);
    if (key === undefined) return only('400 invalid_idempotency_key');
    if (request.body === undefined) return only('413 request_body_too_large');
    const { verdict, signal } = judgeSignal(request.body, now);
    if (signal === undefined) return only(verdict);
    const effect: Effect = { kind: 'signal', signal, idempotencyKey: key };
    return { verdicts: [verdict], effect };
  },
  'list-signals': ({ query }) => (query === '' ? only('200') : only('200', '400 invalid_query')),
  'read-signal': ({ parameter, query }, { requestId }) => {
    const verdict = parameter === requestId ? '200' : '404 request_not_found';
    return query.includes('waitMs') ? only(verdict, '400 invalid_query') : only(verdict);
  },
  'cancel-order': (request, { orders, forbiddenOrder }) => {
    const idempotencyKey = idempotencyKeyOf(request);
    if (idempotencyKey === undefined) return only('400 invalid_idempotency_key');
    if (request.body === undefined || request.body.length > 65_536)
      return only('413 request_body_too_large');
    const orderRef = request.parameter;
    if (![...orders, forbiddenOrder].includes(orderRef)) return only('404 order_not_found');
    return {
      verdicts: ['202', '409 cancel_already_in_progress'],
      effect: { kind: 'cancel', orderRef, idempotencyKey },
    };
  },
  'cancel-all': (request) => {
    const idempotencyKey = idempotencyKeyOf(request);
    if (idempotencyKey === undefined) return only('400 invalid_idempotency_key');
    const effect: Effect = { kind: 'cancel-all' };
    const isAnnounced = request.all('transfer-encoding').length > 0;
    if (request.body === '' && (isJson(request) || !isAnnounced)) {
      return { verdicts: ['202'], effect };
    }
    return jsonOf(request, (filter) => {
      const details = filterViolations(filter);
      if (details.length > 0) return only(`422 invalid_filter ${details.join(', ')}`);
      return isNoOrderMeant(filter) ? only('202') : { verdicts: ['202'], effect };
    });
  },
  'read-cancel-after': () => only('200'),
  'set-cancel-after': (request) => jsonOf(request, () => only('200', '422 invalid_timeout')),
  'list-sources': () => only('200'),
  'read-snapshot': () =>
    only(
      '200',
      '400 invalid_terminal_source',
      '404 terminal_source_not_found',
      '409 terminal_unavailable',
      '504 terminal_timeout',
    ),
  'stream-events': ({ query, all }) => {
    const parameters = new URLSearchParams(query);
    const counts = ['platform', 'instanceId', 'accountName'].map((name) => parameters.getAll(name));
    if (counts.some((values) => values.length !== 1)) return only('400 invalid_terminal_source');
    const [platform = '', instanceId = '', accountName = ''] = counts.map(([value]) => value);
    const isWithin =
      platform !== '' &&
      instanceId.length <= 128 &&
      accountName !== '' &&
      accountName.length <= 128;
    if (!isWithin) return only('400 invalid_terminal_source');
    const cursors = all('last-event-id');
    if (cursors.length > 1 || (cursors[0] ?? '').length > 80)
      return only('400 invalid_event_cursor');
    const isOurs = platform === 'terminal_a' && instanceId === 'fuzz-1' && accountName === 'Sim101';
    return isOurs
      ? only('200', '429 too_many_event_subscriptions')
      : only('404 terminal_source_not_found');
  },
  'read-openapi': () => only('200'),
  'read-openapi-3-0': () => only('200'),
};

/** @returns undefined for a header that is missing, repeated or invalid. */
function idempotencyKeyOf({ all }: Asked): string | undefined {
  const values = all('idempotency-key');
  const key = values[0]?.trim() ?? '';
  const isValid = values.length === 1 && /^[^\0-\x1f\x7f]{1,128}$/.test(key);
  return isValid ? key : undefined;
}

function isJson({ all }: Asked): boolean {
  const [type = '', ...others] = all('content-type');
  return others.length === 0 && /^application\/json[ \t]*(;|$)/i.test(type);
}

function hasOtherThan(fields: readonly string[], value: unknown): boolean {
  return isObject(value) && !Object.keys(value).every((name) => fields.includes(name));
}

function jsonOf(request: Asked, then: (value: unknown) => Expectation): Expectation {
  if (!isJson(request)) return only('415 unsupported_media_type');
  if (request.body === undefined || request.body.length > 65_536)
    return only('413 request_body_too_large');
  const parsed = parse(request.body);
  return parsed === undefined ? only('400 malformed_json') : then(parsed.value);
}
