/** DELETE /api/api-keys/{id}: revokes a key, effective at once. Idempotent. */
import { revokeApiKey } from '../auth/api-key.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import type { Store } from '../store/store.js';

export interface RevokeKeyDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Ends the open event streams of the user's revoked keys. */
  readonly onRevoked: (userId: string) => void;
}

const idPattern = /^[1-9][0-9]{0,15}$/;

export function createRevokeKey({ store, clock, onRevoked }: RevokeKeyDeps): UserEndpoint {
  return async (exchange, user) => {
    const { parameter } = exchange.request;
    const isFound =
      idPattern.test(parameter) &&
      (await revokeApiKey(store, user.userId, Number(parameter), clock.now()));
    if (!isFound) return exchange.fail('key_not_found');
    onRevoked(user.userId);
    exchange.reply(204, '');
  };
}
