/**
 * Defines every HTTP route as data: the server registers the routes, the gate checks their credential and
 * scope, and the metrics use their operation as a label.
 */
import type { Scope } from './model/scopes.js';

/** What the caller must send: nothing, the user token (JWT) from login, or a Public API key. */
type Credential = 'none' | 'user-token' | 'api-key';
/** `v1`: `{error: {code, message, traceId, details?}}`; `legacy`: `{code, message}`. */
export type Envelope = 'v1' | 'legacy';

export interface Route {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A `:name` segment is the path parameter; a route has at most one. */
  readonly path: string;
  readonly credential: Credential;
  readonly scope: Scope | null;
  readonly envelope: Envelope;
}

// oxfmt-ignore
export const routes = [
  { operation: 'login', method: 'POST', path: '/api/auth/login', credential: 'none', scope: null, envelope: 'legacy' },
  { operation: 'create-key', method: 'POST', path: '/api/api-keys', credential: 'user-token', scope: null, envelope: 'legacy' },
  { operation: 'list-keys', method: 'GET', path: '/api/api-keys', credential: 'user-token', scope: null, envelope: 'legacy' },
  { operation: 'revoke-key', method: 'DELETE', path: '/api/api-keys/:id', credential: 'user-token', scope: null, envelope: 'legacy' },
  { operation: 'submit-signal', method: 'POST', path: '/api/v1/signals', credential: 'api-key', scope: 'signals:write', envelope: 'v1' },
  { operation: 'list-signals', method: 'GET', path: '/api/v1/signals', credential: 'api-key', scope: 'signals:read', envelope: 'v1' },
  { operation: 'read-signal', method: 'GET', path: '/api/v1/signals/:requestId', credential: 'api-key', scope: 'signals:read', envelope: 'v1' },
  { operation: 'cancel-order', method: 'POST', path: '/api/v1/orders/:orderRef/cancel', credential: 'api-key', scope: 'orders:cancel', envelope: 'v1' },
  { operation: 'cancel-all', method: 'POST', path: '/api/v1/orders/cancel-all', credential: 'api-key', scope: 'orders:cancel', envelope: 'v1' },
  { operation: 'read-cancel-after', method: 'GET', path: '/api/v1/cancel-after', credential: 'api-key', scope: 'orders:cancel', envelope: 'v1' },
  { operation: 'set-cancel-after', method: 'PUT', path: '/api/v1/cancel-after', credential: 'api-key', scope: 'orders:cancel', envelope: 'v1' },
  { operation: 'list-sources', method: 'GET', path: '/api/v1/terminal-events/sources', credential: 'api-key', scope: 'events:read', envelope: 'v1' },
  { operation: 'read-snapshot', method: 'GET', path: '/api/v1/terminal-events/snapshot', credential: 'api-key', scope: 'events:read', envelope: 'v1' },
  { operation: 'stream-events', method: 'GET', path: '/api/v1/terminal-events/stream', credential: 'api-key', scope: 'events:read', envelope: 'v1' },
  { operation: 'read-openapi', method: 'GET', path: '/openapi.json', credential: 'none', scope: null, envelope: 'legacy' },
  { operation: 'read-openapi-3-0', method: 'GET', path: '/openapi-3.0.json', credential: 'none', scope: null, envelope: 'legacy' },
] as const satisfies readonly Route[];

export type Operation = (typeof routes)[number]['operation'];
