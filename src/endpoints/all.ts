/** Creates all endpoints from the core and the HTTP dependencies. */
import type { KeyUses } from '../auth/api-key-uses.js';
import type { UserTokens } from '../auth/user-token.js';
import type { Core } from '../core.js';
import type { Endpoints } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import type { Clock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import type { Plans } from '../plans.js';
import type { Platform } from '../platforms.js';
import { createEnvelopeReader } from '../signals/envelope.js';
import type { Store } from '../store/store.js';
import type { HashPool } from '../workers/hash-pool.js';
import { createCancelOrder } from './cancel-order.js';
import { createCreateKey } from './create-key.js';
import { createListKeys } from './list-keys.js';
import { createListSources } from './list-sources.js';
import { createLogin } from './login.js';
import { createReadOpenApi } from './read-openapi.js';
import { createReadSignal } from './read-signal.js';
import { createRevokeKey } from './revoke-key.js';
import { createStreamEvents } from './stream-events.js';
import { createSubmitSignal } from './submit-signal.js';

export interface EndpointsDeps {
  readonly core: Core;
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly plans: Plans;
  readonly platforms: readonly Platform[];
  readonly gate: Gate;
  readonly hashPool: HashPool;
  readonly userTokens: UserTokens;
  readonly keyUses: KeyUses;
  /** The OpenAPI document. */
  readonly document: object;
  /** Time from the read body to the written 202, in seconds. */
  readonly acceptLatency: Histogram;
}

export function createEndpoints(deps: EndpointsDeps): Endpoints {
  const { core, store, limits, platforms } = deps;
  const { registry, hub, streams, book, idempotency, acceptance, cancels, quota } = core;
  const tokens = new Set(platforms.map(({ token }) => token));
  return {
    login: createLogin(deps),
    'create-key': createCreateKey(deps),
    'list-keys': createListKeys(deps),
    'revoke-key': createRevokeKey({ ...deps, onRevoked: (userId) => core.userChanged(userId) }),
    'submit-signal': createSubmitSignal({
      ...deps,
      idempotency,
      acceptance,
      quota,
      envelopes: createEnvelopeReader(limits, tokens),
      terminals: registry,
    }),
    'read-signal': createReadSignal({ store }),
    'cancel-order': createCancelOrder({
      ...deps,
      book,
      idempotency,
      acceptance: cancels,
      canCancel: ({ userId, execution }) => registry.canCancel(userId, execution),
    }),
    'list-sources': createListSources({ activeSources: (userId) => registry.active(userId) }),
    'read-openapi': createReadOpenApi(deps),
    'stream-events': createStreamEvents({
      ...deps,
      hub,
      streams,
      isActiveSource: (userId, key) => registry.isActiveSource(userId, key),
    }),
  };
}
