/**
 * What each answer means for the operation that got it: whether the same request is sent again, and
 * what is known of its effect. Source: "Retry rules for mutating requests" in the public API
 * specification, and the order of checks in section 2 of the contract. No rule here, or anywhere in
 * the client, ever changes the Idempotency-Key.
 */
import type { ErrorCode } from '../errors.js';

export interface RetryRule {
  readonly retry: Retry;
  readonly doubt: Doubt;
}

/**
 * - `after_retry_after`: when the gateway says, or by backoff if it does not say.
 * - `backoff`: after Retry-After if there is one, and the backoff on top.
 * - `at_once`: without waiting the first time, then by backoff.
 */
export type Retry = 'never' | 'after_retry_after' | 'backoff' | 'at_once';

/**
 * Whether this or an earlier attempt may have taken effect.
 * - `raised`: this attempt may have.
 * - `unchanged`: this attempt has not; it tells nothing of earlier ones.
 * - `settled`: given after the look-up of the Idempotency-Key, which found nothing, and for a reason
 *   that stays: no attempt has, and none that is still on its way will. A quota or a frozen account
 *   settles nothing, since an attempt held up on the way can still find it lifted.
 */
type Doubt = 'raised' | 'unchanged' | 'settled';

// prettier-ignore
const byCode = {
  request_in_progress:         { retry: 'after_retry_after', doubt: 'raised' },
  idempotency_outcome_unknown: { retry: 'never',             doubt: 'raised' },
  signal_processing_failed:    { retry: 'backoff',           doubt: 'raised' },
  public_api_disabled:         { retry: 'backoff',           doubt: 'unchanged' },
  shutting_down:               { retry: 'backoff',           doubt: 'unchanged' },
  idempotency_conflict:        { retry: 'never',             doubt: 'settled' },
  malformed_json:              { retry: 'never',             doubt: 'settled' },
  invalid_signal:              { retry: 'never',             doubt: 'settled' },
} as const satisfies Partial<Record<ErrorCode, RetryRule>>;

/** The first row that holds; the codes above go before. */
// prettier-ignore
const byStatus: readonly ({ readonly from: number } & RetryRule)[] = [
  { from: 506, retry: 'backoff', doubt: 'raised' },
  // A gateway outside of Linux x64 says so when a request line came in pieces, and closes.
  { from: 505, retry: 'at_once', doubt: 'raised' },
  { from: 500, retry: 'backoff', doubt: 'raised' },
  { from: 430, retry: 'never',   doubt: 'unchanged' },
  { from: 429, retry: 'backoff', doubt: 'unchanged' },
  { from: 300, retry: 'never',   doubt: 'unchanged' },
  // A success that cannot be read: the same key brings the same answer again.
  { from: 0,   retry: 'backoff', doubt: 'raised' },
];

/** The connection broke or the time was over before a whole answer was there. */
export const noAnswer: RetryRule = { retry: 'backoff', doubt: 'raised' };

/** No connection was made. */
export const notSent: RetryRule = { retry: 'backoff', doubt: 'unchanged' };

export function ruleFor(status: number, code: string | undefined): RetryRule {
  if (code !== undefined && Object.hasOwn(byCode, code)) return byCode[code as keyof typeof byCode];
  return byStatus.find((row) => status >= row.from) ?? noAnswer;
}
