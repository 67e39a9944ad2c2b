/** GET /api/api-keys: lists the caller's keys that are not revoked, without their secrets. */
import { listApiKeys } from '../auth/api-key.js';
import type { KeyUses } from '../auth/api-key-uses.js';
import { toApiKeyView } from '../auth/api-key-view.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Reader } from '../store/store.js';

export interface ListKeysDeps {
  readonly store: Reader;
  readonly keyUses: KeyUses;
}

export function createListKeys({ store, keyUses }: ListKeysDeps): UserEndpoint {
  return (exchange, user) => {
    const keys = listApiKeys(store, user.userId).map((key) =>
      toApiKeyView(key, keyUses.lastUsedAt(store, key.id)),
    );
    exchange.reply(200, JSON.stringify(keys));
  };
}
