/**
 * One attempt: one HTTP request and its whole answer, or the reason why there is none. The API key
 * is known here and in `event-connection.ts` only, and is struck out of every answer, so that no
 * message built from one can carry it into a log.
 */
import { errorText } from '../lib/error-text.js';
import type { Clock } from '../lib/clock.js';
import { readAnswer, type Answer } from './answer.js';
import { field, text } from './json-fields.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** From `/api` on, with its parameters already encoded. */
  readonly path: string;
  readonly body?: string;
  readonly idempotencyKey?: string;
}

/** The connection failed, broke, or took too long: an answer that is not whole is none. */
export interface Silence {
  readonly answered: false;
  /** False only when it is certain that no byte of the request left. */
  readonly mayHaveLeft: boolean;
  readonly reason: string;
}

export type Exchange = (request: HttpRequest, abort?: AbortSignal) => Promise<Answer | Silence>;

export function createExchange(deps: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
}): Exchange {
  const { apiKey, clock, timeoutMs } = deps;
  const withoutKey = (words: string): string => words.replaceAll(apiKey, '[API key]');

  return async function exchange(request, abort) {
    const stop = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => {
      stop.abort(new Error(`no answer within ${timeoutMs} ms`));
    });
    const onAbort = (): void => stop.abort(new Error('aborted by the caller'));
    abort?.addEventListener('abort', onAbort);
    try {
      const response = await deps.fetch(deps.baseUrl + request.path, {
        method: request.method,
        headers: headersOf(request, apiKey),
        body: request.body ?? null,
        // A redirect would carry the operation to a place that the caller has not named.
        redirect: 'manual',
        signal: stop.signal,
      });
      return readAnswer(response, await response.text(), withoutKey, clock.now());
    } catch (error) {
      return {
        answered: false,
        mayHaveLeft: !neverLeft(error),
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

/** Codes that can only come up before there is a connection to write to. */
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

function neverLeft(error: unknown): boolean {
  const cause = field(error, 'cause');
  // One host name, several addresses: each was tried.
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

/** `fetch` says only "fetch failed"; what failed is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const words = errorText(cause);
  return words === '' ? (text(field(cause, 'code')) ?? 'the connection failed') : words;
}
