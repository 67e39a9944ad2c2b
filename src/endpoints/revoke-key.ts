/** DELETE /api/api-keys/{id}: the key stops working at once; a repeat is a 204 again. */
import { revokeApiKey } from '../auth/api-key.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Clock } from '../lib/clock.js';
import type { Store } from '../store/store.js';

export interface RevokeKeyDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Ends at once what the user's revoked keys have open. */
  readonly onRevoked: (userId: string) => void;
}

const idPattern = /^[1-9][0-9]{0,15}$/;

export function createRevokeKey({ store, clock, onRevoked }: RevokeKeyDeps): UserEndpoint {
  return async (exchange, user) => {
    const { parameter } = exchange.request;
    const isOurs =
      idPattern.test(parameter) &&
      (await revokeApiKey(store, user.userId, Number(parameter), clock.now()));
    if (!isOurs) return exchange.fail('key_not_found');
    onRevoked(user.userId);
    exchange.reply(204, '');
  };
}
