/**
 * What a call of the bot client ends in. A failure that the outside world can cause is a value and
 * says the one thing that a trader has to know first: whether the operation may have taken effect.
 */
import type { ErrorCode, FieldError } from '../errors.js';

export type Result<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Failure };

/**
 * - `unknown`: the operation may have taken effect. Never repeat it under a new Idempotency-Key:
 *   check the terminal, or send the same request with the same key again.
 *
 * The other three promise that it had no effect:
 * - `refused`: the gateway answered, and its answer is no.
 * - `unreachable`: no usable answer came, and nothing was sent that could have an effect.
 * - `aborted`: the caller's AbortSignal ended it.
 */
export type FailureKind = 'refused' | 'unknown' | 'unreachable' | 'aborted';

/** No field ever holds the API key. All but `kind` and `message` tell of the last answer, if any. */
export interface Failure {
  readonly kind: FailureKind;
  /** For people; its wording may change. */
  readonly message: string;
  /** Codes beyond the known ones are valid extensions of the API. */
  readonly code?: ErrorCode | (string & Record<never, never>);
  /** HTTP status, 100 to 599. */
  readonly status?: number;
  /** For the operator: finds the answer in the gateway's log. */
  readonly traceId?: string;
  /** The violated rules of an `invalid_signal`. */
  readonly details?: readonly FieldError[];
  /** Only when the gateway had already created or found the signal request. */
  readonly requestId?: string;
  /** Milliseconds after which the gateway would look at the request again. */
  readonly retryAfterMs?: number;
  /** The key of the operation that failed; absent for what only reads. */
  readonly idempotencyKey?: string;
}
