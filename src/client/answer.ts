/** Parses responses of the gateway, or of a proxy before it, without trusting their shape. */
import type { FieldError } from '../errors.js';
import { withoutUndefined } from '../lib/without-undefined.js';
import { field, text } from './json-fields.js';
import type { Failure } from './result.js';

/** More than the largest answer at the default limits: a status with 64 executions and 10,000 fills, all texts at their longest. */
export const answerBytesMax = 16_777_216;

export interface Answer {
  readonly answered: true;
  readonly status: number;
  /** Undefined when it is not JSON. */
  readonly body: unknown;
  /** The fields of a failure that come from the response; absent if the response lacks them. */
  readonly context: Omit<Failure, 'kind' | 'message' | 'idempotencyKey'>;
  /** The error's message. */
  readonly text: string | undefined;
  readonly replayed: boolean;
}

/** @param clean removes secrets from a text. */
export function readAnswer(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  bodyText: string,
  clean: (text: string) => string,
  now: number,
): Answer {
  const body = parse(clean(bodyText));
  const traceId = headers.get('X-Trace-Id');
  const error = field(body, 'error');
  const details = field(error, 'details');
  return {
    answered: true,
    status,
    body,
    context: withoutUndefined({
      status,
      code: text(field(error, 'code')),
      traceId: text(field(error, 'traceId')) ?? (traceId === null ? undefined : clean(traceId)),
      details: Array.isArray(details) ? details.filter(isFieldError) : undefined,
      requestId: text(field(body, 'requestId')),
      retryAfterMs: retryAfterMs(headers.get('Retry-After'), now),
    }),
    text: text(field(error, 'message')),
    replayed: headers.get('Idempotent-Replayed') === 'true',
  };
}

/** The status, code and message, as far as there are any. */
export function summaryOf({ status, context, text }: Answer): string {
  return [`HTTP ${status}`, context.code, text].filter((part) => part !== undefined).join(', ');
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Parses whole seconds, or an HTTP date, which some proxies send. */
function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return waitMs > 0 ? waitMs : undefined;
}

function isFieldError(value: unknown): value is FieldError {
  return text(field(value, 'field')) !== undefined && text(field(value, 'code')) !== undefined;
}
