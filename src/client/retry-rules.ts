/**
 * Defines for each response whether the request is retried, and what is known about its effect. Source:
 * "Retry rules for mutating requests" in the public API specification, and the order of checks in section 2
 * of the contract. The client never changes the Idempotency-Key of an operation.
 */
import type { ErrorCode, FieldError } from '../errors.js';

export interface RetryRule {
  readonly retry: Retry;
  readonly doubt: Doubt;
}

/**
 * - `after_retry_after`: after Retry-After, or the backoff if there is none.
 * - `backoff`: after Retry-After, if there is one, plus the backoff.
 * - `at_once`: without a delay the first time, then after the backoff.
 */
export type Retry = 'never' | 'after_retry_after' | 'backoff' | 'at_once';

/**
 * Whether this or an earlier attempt may have taken effect.
 * - `raised`: this attempt may have.
 * - `unchanged`: this attempt has not; earlier ones may have.
 * - `settled`: no attempt has, and none in flight will: the gateway looked up the Idempotency-Key, found
 *   nothing, and rejected the request for a permanent reason. A quota, a freeze or a halt is not permanent: a
 *   delayed attempt in flight could still be accepted later.
 */
type Doubt = 'raised' | 'unchanged' | 'settled';

// oxfmt-ignore
const byCode = {
  request_in_progress:         { retry: 'after_retry_after', doubt: 'raised' },
  idempotency_outcome_unknown: { retry: 'never',             doubt: 'raised' },
  signal_processing_failed:    { retry: 'backoff',           doubt: 'raised' },
  public_api_disabled:         { retry: 'backoff',           doubt: 'unchanged' },
  storage_unavailable:         { retry: 'backoff',           doubt: 'unchanged' },
  shutting_down:               { retry: 'backoff',           doubt: 'unchanged' },
  idempotency_conflict:        { retry: 'never',             doubt: 'settled' },
  malformed_json:              { retry: 'never',             doubt: 'settled' },
  invalid_signal:              { retry: 'never',             doubt: 'settled' },
  invalid_filter:              { retry: 'never',             doubt: 'settled' },
  invalid_timeout:             { retry: 'never',             doubt: 'settled' },
} as const satisfies Partial<Record<ErrorCode, RetryRule>>;

/** Rules by status: the first row that matches. The rules by code take precedence. */
// oxfmt-ignore
const byStatus: readonly ({ readonly from: number } & RetryRule)[] = [
  { from: 506, retry: 'backoff', doubt: 'raised' },
  // Outside of Linux x64, the native parser sends a 505 when a request line arrives in several segments.
  { from: 505, retry: 'at_once', doubt: 'raised' },
  { from: 500, retry: 'backoff', doubt: 'raised' },
  { from: 430, retry: 'never',   doubt: 'unchanged' },
  { from: 429, retry: 'backoff', doubt: 'unchanged' },
  { from: 300, retry: 'never',   doubt: 'unchanged' },
  // An unreadable success: a retry with the same key returns the stored response.
  { from: 0,   retry: 'backoff', doubt: 'raised' },
];

/** The violation that time cures: the signal's `ts` lies ahead of the gateway's clock. */
const curedByTime = 'signal_from_future';
/** Not settled: an attempt in flight may arrive when its time has come. */
const tooEarly: RetryRule = { retry: 'backoff', doubt: 'unchanged' };

/** The connection failed or timed out before the response was complete. */
export const noAnswer: RetryRule = { retry: 'backoff', doubt: 'raised' };

/** No connection was established. */
export const notSent: RetryRule = { retry: 'backoff', doubt: 'unchanged' };

export function ruleFor(
  status: number,
  code: string | undefined,
  details: readonly FieldError[] = [],
): RetryRule {
  const [only, ...others] = details;
  if (code === 'invalid_signal' && only?.code === curedByTime && others.length === 0) {
    return tooEarly;
  }
  if (code !== undefined && Object.hasOwn(byCode, code)) return byCode[code as keyof typeof byCode];
  return byStatus.find((row) => status >= row.from) ?? noAnswer;
}
