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
  /** A named schema as JSON; `event-stream` for server-sent events, `object` for any JSON object. */
  readonly body: SchemaName | 'event-stream' | 'object' | null;
  readonly headers?: HeaderSet;
}

export interface OperationText {
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterName[];
  readonly body: SchemaName | null;
  readonly success: Success;
  readonly errors: readonly ErrorCode[];
}

export const tags = {
  Account: 'Log in, and manage the API keys that bots use.',
  Signals: 'Send trading commands to terminals, and read their status.',
  Orders: 'Cancel one order that a signal has submitted.',
  'Terminal events': 'Stream the events of a terminal.',
  Document: 'This document.',
} as const;

const jsonBody = ['unsupported_media_type', 'request_body_too_large', 'malformed_json'] as const;
const idempotency = [
  'invalid_idempotency_key',
  'request_in_progress',
  'idempotency_conflict',
  'idempotency_outcome_unknown',
] as const;
const secretAnswer = { 'Cache-Control': true } as const;

export const operations = {
  login: {
    tag: 'Account',
    summary: 'Log in',
    description:
      'Returns a user token for the API key endpoints and a session token for terminal plugins. ' +
      'The email is trimmed. Every attempt counts against the rate limit of the ' +
      "client's address.",
    parameters: [],
    body: 'LoginRequest',
    success: {
      status: 200,
      description: 'The credentials.',
      body: 'LoginResult',
      headers: secretAnswer,
    },
    errors: [
      ...jsonBody,
      'validation_failed',
      'invalid_credentials',
      'email_not_confirmed',
      'rate_limit_exceeded',
      'login_unavailable',
    ],
  },
  'create-key': {
    tag: 'Account',
    summary: 'Create an API key',
    description:
      'Only this response contains the secret. The name is trimmed. `expiresAt` must have a ' +
      'time zone; without `expiresAt` the key does not expire.',
    parameters: [],
    body: 'KeyRequest',
    success: {
      status: 201,
      description: 'The key with its secret.',
      body: 'CreatedApiKey',
      headers: { ...secretAnswer, Pragma: true },
    },
    errors: [
      ...jsonBody,
      'invalid_name',
      'invalid_scopes',
      'invalid_expiration',
      'active_key_limit_reached',
      'public_api_disabled',
    ],
  },
  'list-keys': {
    tag: 'Account',
    summary: 'List the API keys',
    description: 'The keys that are not revoked, including expired ones, without their secrets.',
    parameters: [],
    body: null,
    success: { status: 200, description: 'The keys.', body: 'ApiKeyList' },
    errors: [],
  },
  'revoke-key': {
    tag: 'Account',
    summary: 'Revoke an API key',
    description: 'The key becomes invalid at once, and its event streams end. Idempotent.',
    parameters: ['id'],
    body: null,
    success: { status: 204, description: 'The key is revoked.', body: null },
    errors: ['key_not_found'],
  },
  'submit-signal': {
    tag: 'Signals',
    summary: 'Submit a signal',
    description:
      'A 202 means that the signal is durable, not that a terminal has received it: read its status or ' +
      'follow the event stream. A retry with the same Idempotency-Key and the same bytes gets the ' +
      'stored response. The terminal validates the payload; an order (`type` `order`, `cmd` ' +
      '`submit`) has `instrument`, `side`, `executionType`, `quantity` and, for a limit order, `limitPrice`.',
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
      'invalid_signal',
      'duplicate_signal_id',
      'daily_signal_limit_exceeded',
      'signal_rate_limit_exceeded',
      'signal_processing_failed',
    ],
  },
  'read-signal': {
    tag: 'Signals',
    summary: 'Read the status of a signal',
    description:
      'The signal has one execution per terminal that it was routed to. It is `completed` once ' +
      'every execution is final; a late report may still correct an `unknown` one.',
    parameters: ['requestId'],
    body: null,
    success: { status: 200, description: 'The status.', body: 'SignalStatus' },
    errors: ['request_not_found'],
  },
  'cancel-order': {
    tag: 'Orders',
    summary: 'Cancel an order',
    description:
      'Requests the cancel at the terminal that holds the order. The outcome is in ' +
      '`executions[].cancel` of the signal. The body is ignored.',
    parameters: ['orderRef', 'Idempotency-Key'],
    body: null,
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
    ],
  },
  'list-sources': {
    tag: 'Terminal events',
    summary: 'List the active terminals',
    description: 'The terminals that were seen within the heartbeat window.',
    parameters: [],
    body: null,
    success: { status: 200, description: 'The terminals.', body: 'SourceList' },
    errors: [],
  },
  'stream-events': {
    tag: 'Terminal events',
    summary: 'Follow one terminal',
    description:
      'Server-sent events of the terminal that the three parameters identify: new events, or all ' +
      'events after `Last-Event-ID`. If that cursor cannot be replayed, the first event is a `replay_gap`.',
    parameters: ['platform', 'instanceId', 'accountName', 'Last-Event-ID'],
    body: null,
    success: {
      status: 200,
      description: 'The stream; open until one side closes it.',
      body: 'event-stream',
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
    parameters: [],
    body: null,
    success: { status: 200, description: 'The document.', body: 'object' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<Operation, OperationText>;

const errorsOfCredential: { readonly [C in Route['credential']]: readonly ErrorCode[] } = {
  none: [],
  'user-token': ['invalid_token', 'business_plan_required'],
  'api-key': [
    'public_api_disabled',
    'invalid_api_key',
    'api_rate_limited',
    'business_plan_required',
    'insufficient_scope',
  ],
};

/** @returns all errors of the operation. */
export function errorsOf({ operation, credential }: Route): readonly ErrorCode[] {
  const own: readonly ErrorCode[] = operations[operation as Operation].errors;
  return [
    'bad_request',
    ...errorsOfCredential[credential],
    ...own,
    'internal_error',
    'shutting_down',
  ];
}
