/**
 * Defines the result of a call of the bot client. Expected failures are values, and their kind says whether the
 * operation may have taken effect.
 */
import type { ErrorCode, FieldError } from '../errors.js';

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: Failure };

/**
 * - `unknown`: the operation may have taken effect. Do not repeat it with a new Idempotency-Key: check the
 *   terminal, or send the same request with the same key again.
 *
 * The other three guarantee that it had no effect:
 * - `refused`: the gateway rejected the request.
 * - `unreachable`: there was no usable response, and no request that could have an effect was sent.
 * - `aborted`: the caller's AbortSignal aborted it.
 */
export type FailureKind = 'refused' | 'unknown' | 'unreachable' | 'aborted';

/** No field contains the API key. All fields but `kind` and `message` come from the last response, if any. */
export interface Failure {
  readonly kind: FailureKind;
  /** For people; the text may change. */
  readonly message: string;
  /** Codes beyond the known ones are valid extensions of the API. */
  readonly code?: ErrorCode | (string & Record<never, never>);
  /** HTTP status, 100 to 599. */
  readonly status?: number;
  /** Identifies the request in the gateway's log. */
  readonly traceId?: string;
  /** The violated rules of an `invalid_signal`. */
  readonly details?: readonly FieldError[];
  /** Only when the gateway had already created or found the signal request. */
  readonly requestId?: string;
  /** The Retry-After of the response, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The key of the operation; absent for reads. */
  readonly idempotencyKey?: string;
}
