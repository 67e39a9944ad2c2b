import t from 'tap';
import { errors } from '../src/errors.js';
import { scopes } from '../src/model/scopes.js';
import { orderFilterSchema } from '../src/signals/order-filter.js';

/** The Errors part of the specification and section 2 of the contract. */
const documented = {
  invalid_idempotency_key: 400,
  malformed_json: 400,
  invalid_terminal_source: 400,
  invalid_event_cursor: 400,
  invalid_query: 400,
  unknown_field: 400,
  validation_failed: 400,
  invalid_name: 400,
  invalid_scopes: 400,
  invalid_expiration: 400,
  invalid_limits: 400,
  active_key_limit_reached: 400,
  invalid_api_key: 401,
  invalid_credentials: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  business_plan_required: 403,
  address_not_allowed: 403,
  account_frozen: 403,
  trading_halted: 403,
  risk_limit_exceeded: 403,
  email_not_confirmed: 403,
  not_found: 404,
  request_not_found: 404,
  order_not_found: 404,
  terminal_source_not_found: 404,
  key_not_found: 404,
  method_not_allowed: 405,
  request_in_progress: 409,
  idempotency_conflict: 409,
  idempotency_outcome_unknown: 409,
  duplicate_signal_id: 409,
  order_not_cancellable: 409,
  terminal_unavailable: 409,
  terminal_timeout: 504,
  cancel_already_in_progress: 409,
  request_body_too_large: 413,
  unsupported_media_type: 415,
  invalid_signal: 422,
  invalid_filter: 422,
  invalid_timeout: 422,
  api_rate_limited: 429,
  rate_limit_exceeded: 429,
  signal_rate_limit_exceeded: 429,
  daily_signal_limit_exceeded: 429,
  too_many_event_subscriptions: 429,
  internal_error: 500,
  signal_processing_failed: 500,
  public_api_disabled: 503,
};
/** Errors that the documents lack, for what HTTP itself or a running gateway needs to say. */
const ours = {
  bad_request: 400,
  expectation_failed: 417,
  upgrade_required: 426,
  change_not_confirmed: 500,
  login_unavailable: 503,
  storage_unavailable: 503,
  shutting_down: 503,
};

t.test('the error codes and their statuses are the documents’, and a few of our own', async (t) => {
  const statuses = Object.entries(errors).map(([code, { status }]) => [code, status]);
  t.strictSame(Object.fromEntries(statuses), { ...documented, ...ours });
});

t.test('every error says in a sentence what is wrong', async (t) => {
  for (const [code, { message }] of Object.entries(errors))
    t.match(message, /^[A-Za-z].* .*\.$/, code);
});

t.test('an error about a name that may be misspelt lists the names that there are', async (t) => {
  for (const scope of scopes) t.ok(errors.invalid_scopes.message.includes(scope), scope);
  for (const field of Object.keys(orderFilterSchema.properties))
    t.ok(errors.invalid_filter.message.includes(field), field);
});
