/** The headers of the answers: what each says, and which answer carries which. */
import { type ErrorCode, errors } from '../errors.js';
import type { Route } from '../routes.js';

interface Header {
  readonly description: string;
  readonly schema: object;
}

const text = { type: 'string' };

const headers = {
  'X-Trace-Id': {
    description:
      'Finds this answer in the log of the gateway; in an error it is `error.traceId`. Taken over ' +
      'from a valid `traceparent` header of the request.',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
  },
  'RateLimit-Policy': {
    description: 'Requests that an API key has within a window of seconds.',
    schema: { type: 'string', pattern: '^"key";q=[0-9]+;w=[0-9]+$' },
  },
  RateLimit: {
    description: 'Requests that are left to the API key, and seconds until one more is.',
    schema: { type: 'string', pattern: '^"key";r=[0-9]+;t=[0-9]+$' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'The scheme of the credential that is asked for.',
    schema: { type: 'string', enum: ['Bearer'] },
  },
  Location: {
    description: 'Where the status of the signal request can be read.',
    schema: { type: 'string', format: 'uri-reference', pattern: '^/api/v1/signals/' },
  },
  'Idempotent-Replayed': {
    description: 'This is the stored answer to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Cache-Control': { description: 'Whether the answer may be kept.', schema: text },
  Pragma: { description: 'The same for caches of HTTP/1.0.', schema: text },
  'X-Accel-Buffering': {
    description: 'Tells proxies to pass each event on at once.',
    schema: text,
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;
/** `false`: some answers of this status carry it. */
export type HeaderSet = { readonly [H in HeaderName]?: boolean };

/** Before the gate knows the key, or where a framing error or a bug cut the way short. */
const statusesWithoutKey = new Set([400, 401, 429, 500, 503]);

/** What every answer of the route with this status carries. */
export function headersOfStatus({ credential }: Route, status: number): HeaderSet {
  const isKeyKnown = !statusesWithoutKey.has(status);
  return {
    'X-Trace-Id': true,
    ...(credential === 'api-key' && { 'RateLimit-Policy': isKeyKnown, RateLimit: isKeyKnown }),
    ...(status === 401 && { 'WWW-Authenticate': true }),
  };
}

/** Errors that tell when to come back. */
const waiting: ReadonlySet<ErrorCode> = new Set([
  'request_in_progress',
  'login_unavailable',
  'shutting_down',
  ...(Object.keys(errors) as ErrorCode[]).filter((code) => errors[code].status === 429),
]);

export function headersOfErrors(codes: readonly ErrorCode[]): HeaderSet {
  if (!codes.some((code) => waiting.has(code))) return {};
  return { 'Retry-After': codes.every((code) => waiting.has(code)) };
}

/** A reference cannot say whether its header is required, so each header has two components. */
export function headerKey(name: HeaderName, always: boolean): string {
  return always ? name : `Optional-${name}`;
}

export function headerComponents(): Record<string, object> {
  return Object.fromEntries(
    (Object.entries(headers) as [HeaderName, Header][]).flatMap(([name, header]) =>
      [true, false].map((required) => [headerKey(name, required), { ...header, required }]),
    ),
  );
}
