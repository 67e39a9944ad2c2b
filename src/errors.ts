/**
 * Defines every error of an HTTP response: code, status, message. Clients match the code; the message is
 * for people and may change. Source: the Errors part of the public API specification and section 2 of the
 * contract.
 */
interface ApiError {
  readonly status: number;
  readonly message: string;
}

// oxfmt-ignore
export const errors = {
  bad_request: { status: 400, message: 'The request is not valid HTTP/1.1.' },
  invalid_idempotency_key: { status: 400, message: 'Send exactly one Idempotency-Key header within its length limit: ASCII without control characters.' },
  malformed_json: { status: 400, message: 'The body is not valid JSON, is empty, is not UTF-8, or is nested too deeply.' },
  invalid_terminal_source: { status: 400, message: 'Send platform, instanceId and accountName exactly once each, within their length limits.' },
  invalid_event_cursor: { status: 400, message: 'Send Last-Event-ID at most once, within its length limit.' },
  invalid_query: { status: 400, message: 'A query parameter is unknown, given twice, or outside its bounds.' },
  unknown_field: { status: 400, message: 'The body has fields that this endpoint does not know; errors names them.' },
  validation_failed: { status: 400, message: 'Some fields are missing or invalid.' },
  invalid_name: { status: 400, message: 'The name is missing, empty or longer than its limit.' },
  invalid_scopes: { status: 400, message: 'Send one or more scopes, each once: events:read, orders:cancel, signals:read, signals:write.' },
  invalid_expiration: { status: 400, message: 'expiresAt must have a time zone, lie in the future and be no further ahead than a key may live.' },
  invalid_limits: { status: 400, message: 'Some limits of the key are unknown or invalid; see errors.' },
  active_key_limit_reached: { status: 400, message: 'The limit of active keys is reached; revoke a key before you create another.' },
  invalid_api_key: { status: 401, message: 'Send Authorization: Bearer with an API key, svc_api_…: it is missing, wrong, expired or revoked.' },
  invalid_credentials: { status: 401, message: 'Wrong email or password.' },
  invalid_token: { status: 401, message: 'Send Authorization: Bearer with the token of a login: it is missing, expired or invalid.' },
  insufficient_scope: { status: 403, message: 'The API key lacks the scope that this endpoint requires.' },
  business_plan_required: { status: 403, message: 'The plan of the account does not include the Public API.' },
  address_not_allowed: { status: 403, message: 'The API key may not be used from this address.' },
  account_frozen: { status: 403, message: 'The account is frozen; it cannot submit signals.' },
  trading_halted: { status: 403, message: 'The operator has halted trading; signals are refused until it is resumed.' },
  risk_limit_exceeded: { status: 403, message: 'The order exceeds a limit of the API key; see details.' },
  email_not_confirmed: { status: 403, message: 'Confirm the email address first.' },
  not_found: { status: 404, message: 'No such resource.' },
  request_not_found: { status: 404, message: 'No such signal request.' },
  order_not_found: { status: 404, message: 'No such API-tracked order.' },
  terminal_source_not_found: { status: 404, message: 'No such active terminal source; GET /api/v1/terminal-events/sources lists those that there are.' },
  key_not_found: { status: 404, message: 'No such API key.' },
  method_not_allowed: { status: 405, message: 'This resource does not support the method; see the Allow header.' },
  request_in_progress: { status: 409, message: 'A request with this Idempotency-Key is still being processed.' },
  idempotency_conflict: { status: 409, message: 'The Idempotency-Key was already used for a different operation.' },
  idempotency_outcome_unknown: { status: 409, message: 'The outcome of this operation is unknown; check the terminal before you submit a new order.' },
  duplicate_signal_id: { status: 409, message: 'The signalId was already used.' },
  order_not_cancellable: { status: 409, message: 'The order is in a state that cannot be cancelled.' },
  terminal_unavailable: { status: 409, message: 'The terminal is not connected or does not support what is asked of it.' },
  cancel_already_in_progress: { status: 409, message: 'An earlier cancel of this order is still in progress.' },
  request_body_too_large: { status: 413, message: 'The body exceeds the size limit.' },
  unsupported_media_type: { status: 415, message: 'Send Content-Type: application/json.' },
  expectation_failed: { status: 417, message: 'Send Expect: 100-continue in lower case and alone, or no Expect.' },
  invalid_signal: { status: 422, message: 'The signal is not valid; see details.' },
  invalid_filter: { status: 422, message: 'The filter is not valid; see details. It may have platform, instanceId, accountName and instrument.' },
  invalid_timeout: { status: 422, message: 'Send timeoutMs alone: 0 to disarm, or 5000 to 600000 milliseconds.' },
  upgrade_required: { status: 426, message: 'This resource requires a WebSocket upgrade.' },
  api_rate_limited: { status: 429, message: 'Too many requests; wait for Retry-After.' },
  rate_limit_exceeded: { status: 429, message: 'Too many requests or login attempts; wait for Retry-After.' },
  signal_rate_limit_exceeded: { status: 429, message: 'Too many signals: the quota per minute of the account, or the orders per second of the API key, are used up.' },
  daily_signal_limit_exceeded: { status: 429, message: 'The signals-per-day quota of the account is used up.' },
  too_many_event_subscriptions: { status: 429, message: 'Too many event streams are open; close one.' },
  internal_error: { status: 500, message: 'An unexpected error occurred; quote the traceId to support.' },
  signal_processing_failed: { status: 500, message: 'The outcome is unknown. Retry only with the same Idempotency-Key.' },
  change_not_confirmed: { status: 500, message: 'The change may have been made: it was not confirmed in time. List the keys before you try again.' },
  public_api_disabled: { status: 503, message: 'The operator has disabled the Public API.' },
  login_unavailable: { status: 503, message: 'Too many logins are in progress; wait for Retry-After.' },
  storage_unavailable: { status: 503, message: 'The disk takes no changes now. Nothing has happened; retry after Retry-After.' },
  shutting_down: { status: 503, message: 'The gateway is shutting down; retry on a new connection.' },
  terminal_timeout: { status: 504, message: 'The terminal did not answer in time.' },
} as const satisfies Record<string, ApiError>;

export type ErrorCode = keyof typeof errors;

/** One violated rule of a request body: the field's name, `$` for the whole body, and the rule's code. */
export interface FieldError {
  readonly field: string;
  readonly code: string;
}
