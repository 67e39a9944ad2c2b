/**
 * Defines the documentation of each operation beyond its route: texts, parameters, body, success, and its
 * specific errors. `errorsOf` adds the errors of the route's credential.
 */
import type { ErrorCode } from '../errors.js';
import type { Operation, Route } from '../routes.js';
import type { HeaderSet } from './headers.js';
import type { ParameterName } from './parameters.js';
import type { SchemaName } from './schemas.js';

interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** A named schema as JSON, StreamEvent as server-sent events; `object` for any JSON object. */
  readonly body: SchemaName | 'object' | null;
  readonly headers?: HeaderSet;
}

export interface OperationText {
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterName[];
  readonly body?: SchemaName;
  readonly bodyIsOptional?: true;
  readonly success: Success;
  readonly errors?: readonly ErrorCode[];
}

export const tags = {
  Account: 'Log in, and manage the API keys that bots use.',
  Signals: 'Send trading commands to terminals, and read their status.',
  Orders: 'Cancel one order that a signal has submitted, or all that are open.',
  'Terminal events': 'List the terminals, read what one holds, and stream its events.',
  Document: 'This document.',
} as const;

const jsonBody = ['unsupported_media_type', 'request_body_too_large', 'malformed_json'] as const;
const idempotency = [
  'invalid_idempotency_key',
  'request_in_progress',
  'idempotency_conflict',
  'idempotency_outcome_unknown',
] as const;
const userChange = ['change_not_confirmed', 'storage_unavailable'] as const;
const secretAnswer = { 'Cache-Control': true } as const;

export const operations = {
  login: {
    tag: 'Account',
    summary: 'Log in',
    description:
      'Returns a user token for the API key endpoints and a session token for terminal plugins. ' +
      'The email is trimmed. Every attempt counts against the rate limit of the ' +
      "client's address.",
    body: 'LoginRequest',
    success: {
      status: 200,
      description: 'The credentials.',
      body: 'LoginResult',
      headers: secretAnswer,
    },
    errors: [
      ...jsonBody,
      'unknown_field',
      'validation_failed',
      'invalid_credentials',
      'email_not_confirmed',
      'rate_limit_exceeded',
      'login_unavailable',
      'storage_unavailable',
    ],
  },
  'create-key': {
    tag: 'Account',
    summary: 'Create an API key',
    description:
      'Only this response contains the secret. The name is trimmed. `expiresAt` must have a ' +
      'time zone; without `expiresAt` the key does not expire. `limits` names the ' +
      'addresses from which the key may be used and the bounds of its orders; they cannot be changed later.',
    body: 'KeyRequest',
    success: {
      status: 201,
      description: 'The key with its secret.',
      body: 'CreatedApiKey',
      headers: { ...secretAnswer, Pragma: true },
    },
    errors: [
      ...jsonBody,
      'unknown_field',
      'invalid_name',
      'invalid_scopes',
      'invalid_expiration',
      'invalid_limits',
      'active_key_limit_reached',
      'public_api_disabled',
      ...userChange,
    ],
  },
  'list-keys': {
    tag: 'Account',
    summary: 'List the API keys',
    description: 'The keys that are not revoked, including expired ones, without their secrets.',
    success: { status: 200, description: 'The keys.', body: 'ApiKeyList' },
  },
  'revoke-key': {
    tag: 'Account',
    summary: 'Revoke an API key',
    description: 'The key becomes invalid at once, and its event streams end. Idempotent.',
    parameters: ['id'],
    success: { status: 204, description: 'The key is revoked.', body: null },
    errors: ['key_not_found', ...userChange],
  },
  'submit-signal': {
    tag: 'Signals',
    summary: 'Submit a signal',
    description:
      'A 202 means that the signal is durable, not that a terminal has received it: read its status or ' +
      'follow the event stream. A retry with the same Idempotency-Key and the same bytes gets the ' +
      'stored response. The terminal validates the payload and rejects what it does not take.',
    parameters: ['Idempotency-Key'],
    body: 'SignalEnvelope',
    success: {
      status: 202,
      description: 'The signal is accepted.',
      body: 'AcceptedSignal',
      headers: { Location: true, 'Idempotent-Replayed': false },
    },
    errors: [
      ...jsonBody,
      ...idempotency,
      'account_frozen',
      'trading_halted',
      'invalid_signal',
      'risk_limit_exceeded',
      'duplicate_signal_id',
      'daily_signal_limit_exceeded',
      'signal_rate_limit_exceeded',
      'signal_processing_failed',
      'storage_unavailable',
    ],
  },
  'list-signals': {
    tag: 'Signals',
    summary: 'List signals',
    description:
      'The signals of the user, over all of its keys, newest first. For the next ' +
      'page, send the `next` of this one as `before`, until `next` is null. A page may be short or empty before the ' +
      'last one, because the gateway passes over a limited number of signals that do not match. A parameter that is ' +
      'not listed here is refused.',
    parameters: ['status', 'limit', 'before'],
    success: { status: 200, description: 'One page.', body: 'SignalPage' },
    errors: ['invalid_query'],
  },
  'read-signal': {
    tag: 'Signals',
    summary: 'Read the status of a signal',
    description:
      'The signal has one execution per terminal that it was routed to. It is `completed` once ' +
      'every execution is final; a late report may still correct an `unknown` one. With `waitMs` the answer ' +
      'waits until the signal is completed, at most for that time.',
    parameters: ['requestId', 'waitMs'],
    success: { status: 200, description: 'The status.', body: 'SignalStatus' },
    errors: ['invalid_query', 'request_not_found'],
  },
  'cancel-order': {
    tag: 'Orders',
    summary: 'Cancel an order',
    description:
      'Requests the cancel at the terminal that holds the order. The outcome is in ' +
      '`executions[].cancel` of the signal. The body is ignored.',
    parameters: ['orderRef', 'Idempotency-Key'],
    success: {
      status: 202,
      description: 'The cancel is durable and is sent to the terminal.',
      body: 'RequestedCancel',
      headers: { 'Idempotent-Replayed': false },
    },
    errors: [
      ...idempotency,
      'request_body_too_large',
      'order_not_found',
      'order_not_cancellable',
      'cancel_already_in_progress',
      'terminal_unavailable',
      'signal_processing_failed',
      'storage_unavailable',
    ],
  },
  'cancel-all': {
    tag: 'Orders',
    summary: 'Cancel all open orders',
    description:
      'Cancels the open orders of the account that match the filter in the body; without a body, all of them. An ' +
      'order that was not sent yet is denied. Any other order gets a cancel, unless one is under way. The cancel ' +
      'waits for up to 24 hours until the terminal is connected and has acknowledged the order. ' +
      '`executions[].cancel` of each signal shows the outcome; with thousands of orders it follows seconds after ' +
      'the response. The response lists at most 1000 orders. All keys of a user share a quota of these requests ' +
      'per minute; beyond it the answer is 429 `api_rate_limited`.',
    parameters: ['Idempotency-Key'],
    body: 'OrderFilter',
    bodyIsOptional: true,
    success: {
      status: 202,
      description: 'What happens to each order is decided, and the decision is durable.',
      body: 'CancelledOrders',
      headers: { 'Idempotent-Replayed': false },
    },
    errors: [
      ...jsonBody,
      ...idempotency,
      'invalid_filter',
      'signal_processing_failed',
      'storage_unavailable',
    ],
  },
  'read-cancel-after': {
    tag: 'Orders',
    summary: 'Read the switch of this key',
    description: 'Whether the dead-man’s switch of the calling key is armed, and when it fires.',
    success: { status: 200, description: 'The switch.', body: 'CancelAfter' },
  },
  'set-cancel-after': {
    tag: 'Orders',
    summary: 'Arm, renew or disarm the switch of this key',
    description:
      'A dead-man’s switch: unless this is called again within `timeoutMs`, all open orders that the calling key ' +
      'submitted are cancelled as by cancel-all, with `cancel_after_expired`, and the switch is disarmed. ' +
      '`timeoutMs` 0 disarms it. The deadline is durable: the switch fires even if the key was revoked or has ' +
      'expired meanwhile, and at the next start if the deadline passed while the gateway was down.',
    body: 'CancelAfterRequest',
    success: {
      status: 200,
      description: 'The switch, whose state is durable.',
      body: 'CancelAfter',
    },
    errors: [...jsonBody, 'invalid_timeout', 'signal_processing_failed', 'storage_unavailable'],
  },
  'list-sources': {
    tag: 'Terminal events',
    summary: 'List the active terminals',
    description: 'The terminals that were seen within the heartbeat window.',
    success: { status: 200, description: 'The terminals.', body: 'SourceList' },
  },
  'read-snapshot': {
    tag: 'Terminal events',
    summary: 'Ask one terminal what it holds',
    description:
      'Asks the connected terminal for its account, positions and orders. The answer is a `state_snapshot` ' +
      'event, which the event streams of the terminal get as well.',
    parameters: ['platform', 'instanceId', 'accountName'],
    success: { status: 200, description: 'The event.', body: 'StateSnapshotEvent' },
    errors: [
      'invalid_terminal_source',
      'terminal_source_not_found',
      'terminal_unavailable',
      'terminal_timeout',
    ],
  },
  'stream-events': {
    tag: 'Terminal events',
    summary: 'Follow one terminal',
    description:
      'Server-sent events of the terminal that the three parameters identify: new events, or all ' +
      'events after `Last-Event-ID`. If that cursor cannot be replayed, the first event is a `replay_gap`. The ' +
      'schema describes the `data` of each event; the `id` of an event is its cursor.',
    parameters: ['platform', 'instanceId', 'accountName', 'Last-Event-ID'],
    success: {
      status: 200,
      description: 'The stream; open until one side closes it.',
      body: 'StreamEvent',
      headers: { 'Cache-Control': true, 'X-Accel-Buffering': true },
    },
    errors: [
      'invalid_terminal_source',
      'invalid_event_cursor',
      'terminal_source_not_found',
      'too_many_event_subscriptions',
    ],
  },
  'read-openapi': {
    tag: 'Document',
    summary: 'Read this document',
    description: 'Includes the effective limits.',
    success: { status: 200, description: 'The document.', body: 'object' },
    errors: ['rate_limit_exceeded'],
  },
  'read-openapi-3-0': {
    tag: 'Document',
    summary: 'Read this document as OpenAPI 3.0',
    description: 'The same for generators that do not read 3.1.',
    success: { status: 200, description: 'The document.', body: 'object' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<Operation, OperationText>;

const errorsOfCredential: { readonly [C in Route['credential']]: readonly ErrorCode[] } = {
  none: [],
  'user-token': ['invalid_token', 'rate_limit_exceeded', 'business_plan_required'],
  'api-key': [
    'public_api_disabled',
    'invalid_api_key',
    'address_not_allowed',
    'api_rate_limited',
    'business_plan_required',
    'insufficient_scope',
  ],
};

/** @returns all errors of the operation. */
export function errorsOf({ operation, credential }: Route): readonly ErrorCode[] {
  const { errors: own = [] }: OperationText = operations[operation as Operation];
  return [
    'bad_request',
    'expectation_failed',
    ...errorsOfCredential[credential],
    ...own,
    'internal_error',
    'shutting_down',
  ];
}
