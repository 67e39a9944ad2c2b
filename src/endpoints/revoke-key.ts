/** DELETE /api/api-keys/{id}: revokes a key, effective at once. Idempotent. */
import { revokeApiKey } from '../auth/api-key.js';
import { stopping } from '../auth/brakes.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import { originOf } from '../http/trail-fields.js';
import type { Clock } from '../lib/clock.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Store } from '../store/store.js';
import { storeChange, type StoredChangeDeps } from './stored-change.js';

export interface RevokeKeyDeps extends StoredChangeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly trail: TrailLog;
  /** Ends the streams and waits of the user's revoked keys, and denies what this one submitted and was not sent. */
  readonly onRevoked: (userId: string, keyId: number) => Promise<void>;
}

const idPattern = /^[1-9][0-9]{0,15}$/;

export function createRevokeKey(deps: RevokeKeyDeps): UserEndpoint {
  const { store, clock, gate, trail, onRevoked } = deps;

  async function revoke(exchange: Exchange, userId: string, id: number) {
    const origin = originOf(exchange);
    const revoked = await revokeApiKey(store, userId, id, clock.now(), (reader) =>
      gate.userRefusal(reader, exchange),
    );
    if (revoked === true) {
      // Runs also when the answer could not wait for the commit.
      trail.note('key_revoked', { ...origin, userId, keyId: id, by: 'user' });
      await onRevoked(userId, id);
    }
    return revoked;
  }

  return async (exchange, { userId }) => {
    const { parameter } = exchange.request;
    if (!idPattern.test(parameter)) return exchange.fail('key_not_found');
    const revoked = await storeChange(
      deps,
      exchange,
      () => exchange.fail('change_not_confirmed'),
      () => revoke(exchange, userId, Number(parameter)),
      stopping,
    );
    if (revoked === undefined) return;
    if (revoked === true) return exchange.reply(204, '');
    exchange.fail(revoked === false ? 'key_not_found' : revoked);
  };
}
