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
  validation_failed: { status: 400, message: 'Some fields are missing or invalid; see errors.' },
  invalid_name: { status: 400, message: 'The name is missing, empty or longer than its limit.' },
  invalid_scopes: { status: 400, message: 'Send one or more scopes, each once: events:read, orders:cancel, signals:read, signals:write.' },
  invalid_expiration: { status: 400, message: 'expiresAt must have a time zone, lie in the future and be no further ahead than a key may live.' },
  invalid_limits: { status: 400, message: 'Some limits of the key are unknown or invalid; see errors.' },
  active_key_limit_reached: { status: 400, message: 'The limit of active keys is reached; revoke a key before you create another.' },
  invalid_api_key: { status: 401, message: 'The API key is missing, wrong, expired or revoked. Send a valid one as Authorization: Bearer svc_api_….' },
  invalid_credentials: { status: 401, message: 'Wrong email or password.' },
  invalid_token: { status: 401, message: 'The user token is missing, expired or invalid. Log in, and send the token as Authorization: Bearer TOKEN.' },
  insufficient_scope: { status: 403, message: 'The API key lacks the scope that this endpoint requires.' },
  business_plan_required: { status: 403, message: 'The plan of the account does not include the Public API.' },
  address_not_allowed: { status: 403, message: 'The API key may not be used from this address.' },
  account_frozen: { status: 403, message: 'The account is frozen; it cannot submit signals.' },
  trading_halted: { status: 403, message: 'The operator has halted trading; signals are refused until trading is resumed.' },
  risk_limit_exceeded: { status: 403, message: 'The order exceeds a limit of the API key; see details.' },
  email_not_confirmed: { status: 403, message: 'The email address is not confirmed; ask the operator to confirm it.' },
  not_found: { status: 404, message: 'No such resource.' },
  request_not_found: { status: 404, message: 'No such signal request.' },
  order_not_found: { status: 404, message: 'No signal of this user has an order with this orderRef.' },
  terminal_source_not_found: { status: 404, message: 'No such active terminal source; GET /api/v1/terminal-events/sources lists the active ones.' },
  key_not_found: { status: 404, message: 'No such API key.' },
  method_not_allowed: { status: 405, message: 'This resource does not support the method; see the Allow header.' },
  request_in_progress: { status: 409, message: 'A request with this Idempotency-Key is still being processed; wait for Retry-After, and send it again.' },
  idempotency_conflict: { status: 409, message: 'The Idempotency-Key was already used for a different operation; use a new key for each operation.' },
  idempotency_outcome_unknown: { status: 409, message: 'The outcome of this operation is unknown; check the terminal before you submit a new order.' },
  duplicate_signal_id: { status: 409, message: 'A signal with this signalId was submitted before; check its outcome before you submit a new one.' },
  order_not_cancellable: { status: 409, message: 'The order has ended, its terminal has not acknowledged it yet, or it has used up its cancels; read the status of its signal.' },
  terminal_unavailable: { status: 409, message: 'The terminal is not connected or does not support the operation; GET /api/v1/terminal-events/sources shows its capabilities.' },
  cancel_already_in_progress: { status: 409, message: 'An earlier cancel of this order is still in progress.' },
  request_body_too_large: { status: 413, message: 'The body exceeds the size limit.' },
  unsupported_media_type: { status: 415, message: 'Send Content-Type: application/json.' },
  expectation_failed: { status: 417, message: 'Send Expect: 100-continue in lower case and alone, or no Expect.' },
  invalid_signal: { status: 422, message: 'The signal is not valid; see details.' },
  invalid_filter: { status: 422, message: 'The filter is not valid; see details. Its fields are platform, instanceId, accountName and instrument, all optional.' },
  invalid_timeout: { status: 422, message: 'Send timeoutMs alone: 0 to disarm, or 5000 to 600000 milliseconds.' },
  upgrade_required: { status: 426, message: 'This resource requires a WebSocket upgrade.' },
  api_rate_limited: { status: 429, message: 'Too many requests; wait for Retry-After.' },
  rate_limit_exceeded: { status: 429, message: 'Too many requests or login attempts; wait for Retry-After.' },
  signal_rate_limit_exceeded: { status: 429, message: 'The account has used up its signals per minute, or the API key its orders per second; wait for Retry-After.' },
  daily_signal_limit_exceeded: { status: 429, message: 'The account has used up its signals of this UTC day; wait for Retry-After.' },
  too_many_event_subscriptions: { status: 429, message: 'Too many event streams are open; close one.' },
  internal_error: { status: 500, message: 'An unexpected error occurred; quote the header X-Trace-Id to the operator.' },
  signal_processing_failed: { status: 500, message: 'The outcome is unknown. Retry only with the same Idempotency-Key.' },
  change_not_confirmed: { status: 500, message: 'The change was not confirmed in time and may have been made. List the keys before you try again.' },
  public_api_disabled: { status: 503, message: 'The operator has disabled the Public API.' },
  login_unavailable: { status: 503, message: 'Too many logins are in progress; wait for Retry-After.' },
  storage_unavailable: { status: 503, message: 'The gateway cannot write to its disk now. The request had no effect; wait for Retry-After, and send it again.' },
  shutting_down: { status: 503, message: 'The gateway is shutting down; retry on a new connection.' },
  terminal_timeout: { status: 504, message: 'The terminal did not answer in time.' },
} as const satisfies Record<string, ApiError>;

export type ErrorCode = keyof typeof errors;

/** One violated rule of a request body: the field's name, `$` for the whole body, and the rule's code. */
export interface FieldError {
  readonly field: string;
  readonly code: string;
}
