/** Creates all endpoints from the core and the HTTP dependencies. */
import type { KeyUses } from '../auth/api-key-uses.js';
import type { UserTokens } from '../auth/user-token.js';
import type { Core } from '../core.js';
import type { Endpoints } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import type { Clock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import type { Limits } from '../limits.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Plans } from '../plans.js';
import type { Platform } from '../platforms.js';
import { createEnvelopeReader } from '../signals/envelope.js';
import { createViolationAdvice } from '../signals/violation-advice.js';
import { SignalReader } from '../signals/signal-reader.js';
import { createOrderFilterReader } from '../signals/order-filter.js';
import type { Store } from '../store/store.js';
import type { HashPool } from '../workers/hash-pool.js';
import { createReadCancelAfter, createSetCancelAfter } from './cancel-after.js';
import { createCancelAll } from './cancel-all.js';
import { createCancelOrder } from './cancel-order.js';
import { createCreateKey } from './create-key.js';
import { createListKeys } from './list-keys.js';
import { createListSignals } from './list-signals.js';
import { createListSources } from './list-sources.js';
import { createLogin } from './login.js';
import { type ApiDocuments, createReadOpenApi } from './read-openapi.js';
import { createReadSignal } from './read-signal.js';
import { createReadSnapshot } from './read-snapshot.js';
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
  readonly trail: TrailLog;
  readonly documents: ApiDocuments;
  /** Time from the read body to the written 202, in seconds. */
  readonly acceptLatency: Histogram;
}

export function createEndpoints(given: EndpointsDeps): Endpoints {
  const { core, store, limits, platforms } = given;
  const { deadlines, storage, rights, idempotency, cancelAfter } = core;
  const { registry, snapshots } = core.terminals;
  const signals = new SignalReader({ store, owed: core.owed, fillsMax: limits.fillsPerExecution });
  const tokens = new Set(platforms.map(({ token }) => token));
  const deps = {
    ...given,
    deadlines,
    storage,
    rights,
    idempotency,
    registry,
    cancelAfter,
    signals,
  };
  return {
    login: createLogin(deps),
    'create-key': createCreateKey(deps),
    'list-keys': createListKeys(deps),
    'revoke-key': createRevokeKey({
      ...deps,
      onRevoked: (userId, keyId) => {
        core.userChanged(userId);
        return core.endUnsent(userId, keyId);
      },
    }),
    'submit-signal': createSubmitSignal({
      ...deps,
      acceptance: core.acceptance,
      book: core.book,
      brakes: core.brakes,
      risks: core.risks,
      quota: core.quota,
      envelopes: createEnvelopeReader(limits, tokens),
      advise: createViolationAdvice(limits, tokens),
    }),
    'list-signals': createListSignals(deps),
    'read-signal': createReadSignal({ ...deps, waits: core.waits }),
    'cancel-order': createCancelOrder({ ...deps, book: core.book, acceptance: core.cancels }),
    'cancel-all': createCancelAll({
      ...deps,
      filters: createOrderFilterReader(tokens),
      acceptance: core.cancelAllAcceptance,
    }),
    'read-cancel-after': createReadCancelAfter(deps),
    'set-cancel-after': createSetCancelAfter(deps),
    'list-sources': createListSources(deps),
    ...createReadOpenApi(deps),
    'read-snapshot': createReadSnapshot({ ...deps, snapshots }),
    'stream-events': createStreamEvents({ ...deps, hub: core.hub, streams: core.streams }),
  };
}
