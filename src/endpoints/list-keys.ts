/** GET /api/api-keys: lists the caller's keys that are not revoked, without their secrets. */
import { listApiKeys } from '../auth/api-key.js';
import type { KeyUses } from '../auth/api-key-uses.js';
import { toApiKeyView } from '../auth/api-key-view.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import { Turns } from '../lib/turns.js';
import type { Reader } from '../store/store.js';

export interface ListKeysDeps {
  readonly store: Reader;
  readonly keyUses: Pick<KeyUses, 'lastUsedAt'>;
  readonly gate: Pick<Gate, 'userRefusal'>;
}

export function createListKeys({ store, keyUses, gate }: ListKeysDeps): UserEndpoint {
  // Hundreds of keys with long limits take milliseconds: each turn of the event loop makes one list.
  const turns = new Turns();

  return (exchange, { userId }) => {
    turns.run(userId, exchange, () => {
      // The user may have lost its rights meanwhile.
      const refusal = gate.userRefusal(store, exchange);
      if (refusal !== undefined) return exchange.fail(refusal);
      const keys = listApiKeys(store, userId).map((key) =>
        toApiKeyView(key, keyUses.lastUsedAt(store, key.id)),
      );
      exchange.reply(200, JSON.stringify(keys));
    });
  };
}
