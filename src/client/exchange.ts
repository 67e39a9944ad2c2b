/**
 * Makes one attempt: sends one HTTP request and returns the whole response, or the reason why there is none.
 * Only this file and `event-connection.ts` use the API key, and both remove it from responses, so that no
 * message can leak it into a log.
 */
import { errorText } from '../lib/error-text.js';
import { answerText } from '../lib/answer-text.js';
import type { Clock } from '../lib/clock.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import { answerBytesMax, readAnswer, type Answer } from './answer.js';
import { field, text } from './json-fields.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Starts with `/api`; parameters are encoded. */
  readonly path: string;
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Milliseconds for which the gateway may hold its answer back; added to the attempt's timeout. */
  readonly waitMs?: number;
  /** Milliseconds after which the attempt is of no use, if that is less than its timeout. */
  readonly limitMs?: number;
}

/** The connection failed or timed out before the response was complete. */
export interface NoResponse {
  readonly answered: false;
  /** False only if certainly no byte of the request was sent. */
  readonly mayHaveBeenSent: boolean;
  readonly reason: string;
}

export type Exchange = (request: HttpRequest, abort?: AbortSignal) => Promise<Answer | NoResponse>;

/** What a request or a stream needs of its client. */
export interface ConnectionDeps {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
}

export function createExchange(deps: ConnectionDeps): Exchange {
  const { apiKey, clock, timeoutMs } = deps;
  const withoutKey = (text: string): string => text.replaceAll(apiKey, '[API key]');

  return async function exchange(request, abort) {
    const stop = new AbortController();
    const limitMs = Math.min(timeoutMs + (request.waitMs ?? 0), request.limitMs ?? Infinity);
    const timer = setPatientTimer(clock, limitMs, () => {
      stop.abort(new Error(`no answer within ${limitMs} ms`));
    });
    const onAbort = (): void => stop.abort(new Error('aborted by the caller'));
    abort?.addEventListener('abort', onAbort);
    try {
      const response = await deps.fetch(deps.baseUrl + request.path, {
        method: request.method,
        headers: headersOf(request, apiKey),
        body: request.body ?? null,
        // A redirect would send the operation to a host that the caller has not configured.
        redirect: 'manual',
        signal: stop.signal,
      });
      const bodyText = await answerText(response, answerBytesMax);
      return readAnswer(response, bodyText, withoutKey, clock.now());
    } catch (error) {
      return {
        answered: false,
        mayHaveBeenSent: !wasNotSent(error),
        reason: withoutKey(reasonOf(error)),
      };
    } finally {
      timer.cancel();
      abort?.removeEventListener('abort', onAbort);
    }
  };
}

function headersOf(request: HttpRequest, apiKey: string): Record<string, string> {
  const headers: Record<string, string> = { Authorization: `Bearer ${apiKey}` };
  if (request.body !== undefined) headers['Content-Type'] = 'application/json';
  if (request.idempotencyKey !== undefined) headers['Idempotency-Key'] = request.idempotencyKey;
  return headers;
}

/** Error codes that occur only before the connection is established. */
const beforeWriting = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

function wasNotSent(error: unknown): boolean {
  const cause = field(error, 'cause');
  // One error per address of the host name.
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return (
    causes.length > 0 &&
    causes.every((each) => {
      const code = text(field(each, 'code'));
      return (
        field(each, 'syscall') === 'connect' || (code !== undefined && beforeWriting.has(code))
      );
    })
  );
}

/** The message of `fetch` is only "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = errorText(cause);
  return message === '' ? (text(field(cause, 'code')) ?? 'the connection failed') : message;
}
