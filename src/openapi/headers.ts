/** Defines the response headers, and which responses have them. */
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
      'Identifies the request in the log of the gateway; an error of `/api/v1` has it as `error.traceId` too. It is ' +
      'the trace id of a valid `traceparent` header of the request, otherwise a new one.',
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
  },
  'RateLimit-Policy': {
    description: 'Rate limit of the API key: requests (`q`) per window in seconds (`w`).',
    schema: { type: 'string', pattern: '^"key";q=[0-9]+;w=[0-9]+$' },
  },
  RateLimit: {
    description:
      'Remaining requests of the API key (`r`), and seconds until one more is available (`t`).',
    schema: { type: 'string', pattern: '^"key";r=[0-9]+;t=[0-9]+$' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'The required authentication scheme.',
    schema: { type: 'string', enum: ['Bearer'] },
  },
  Location: {
    description: 'Path of the status of the signal request.',
    schema: { type: 'string', format: 'uri-reference', pattern: '^/api/v1/signals/' },
  },
  'Idempotent-Replayed': {
    description: 'This is the stored response to an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Cache-Control': { description: 'Whether caches may store the response.', schema: text },
  Pragma: { description: '`Cache-Control` for caches of HTTP/1.0.', schema: text },
  'X-Accel-Buffering': {
    description: 'Disables response buffering in proxies.',
    schema: text,
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;
/** `true`: all responses of this status have the header; `false`: some do. */
export type HeaderSet = { readonly [H in HeaderName]?: boolean };

/** Statuses of responses that may be sent before the gate has authenticated the key. */
const statusesWithoutKey = new Set([400, 401, 403, 417, 429, 500, 503]);

/** @returns the headers of the route's responses with this status. */
export function headersOfStatus({ credential }: Route, status: number): HeaderSet {
  const isKeyKnown = !statusesWithoutKey.has(status);
  return {
    'X-Trace-Id': true,
    ...(credential === 'api-key' && { 'RateLimit-Policy': isKeyKnown, RateLimit: isKeyKnown }),
    ...(status === 401 && { 'WWW-Authenticate': true }),
  };
}

/** Errors with a Retry-After. */
const retryable: ReadonlySet<ErrorCode> = new Set([
  'request_in_progress',
  'login_unavailable',
  'storage_unavailable',
  'shutting_down',
  ...(Object.keys(errors) as ErrorCode[]).filter((code) => errors[code].status === 429),
]);

export function headersOfErrors(codes: readonly ErrorCode[]): HeaderSet {
  if (!codes.some((code) => retryable.has(code))) return {};
  return { 'Retry-After': codes.every((code) => retryable.has(code)) };
}

/** A `$ref` cannot override `required`, so each header has two components. */
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
