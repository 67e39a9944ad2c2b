/** What the gateway, or a proxy before it, said: nothing of it is believed before it was looked at. */
import type { FieldError } from '../errors.js';
import { field, text, withoutUndefined } from './json-fields.js';
import type { Failure } from './result.js';

export interface Answer {
  readonly answered: true;
  readonly status: number;
  /** Undefined when it is not JSON. */
  readonly body: unknown;
  /** What a failure passes on of the answer; what the answer does not say is absent. */
  readonly told: Omit<Failure, 'kind' | 'message' | 'idempotencyKey'>;
  /** The error's message. */
  readonly text: string | undefined;
  readonly replayed: boolean;
}

/** @param clean strikes out what must not be passed on. */
export function readAnswer(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  words: string,
  clean: (text: string) => string,
  now: number,
): Answer {
  const body = parse(clean(words));
  const traceId = headers.get('X-Trace-Id');
  const error = field(body, 'error');
  const details = field(error, 'details');
  return {
    answered: true,
    status,
    body,
    told: withoutUndefined({
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

function parse(words: string): unknown {
  try {
    return JSON.parse(words);
  } catch {
    return undefined;
  }
}

/** Whole seconds, or a date as proxies send it. */
function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return waitMs > 0 ? waitMs : undefined;
}

function isFieldError(value: unknown): value is FieldError {
  return text(field(value, 'field')) !== undefined && text(field(value, 'code')) !== undefined;
}
