/** POST /api/api-keys: creates a Public API key. Only this response contains its secret. */
import Type, { type Static } from 'typebox';
import { isPublicApiEnabled } from '../auth/accounts.js';
import { createApiKey } from '../auth/api-key.js';
import { createKeyRequestReader, type KeyRequest } from '../auth/api-key-request.js';
import { apiKeySchema, toApiKeyView } from '../auth/api-key-view.js';
import type { UserEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import { parseJson } from '../http/json-body.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { User } from '../model/records.js';
import type { Store } from '../store/store.js';

export const createdKeySchema = Type.Object({ ...apiKeySchema.properties, key: Type.String() });

export interface CreateKeyDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
}

export function createCreateKey({ store, clock, limits }: CreateKeyDeps): UserEndpoint {
  const readRequest = createKeyRequestReader(limits);

  async function create(exchange: Exchange, user: User, request: KeyRequest): Promise<void> {
    const created = await createApiKey(store, {
      ...request,
      user,
      activeMax: limits.activeKeysPerUserMax,
      now: clock.now(),
    });
    if (created === 'active_key_limit_reached') return exchange.fail(created);
    const body: Static<typeof createdKeySchema> = {
      ...toApiKeyView(created.key, null),
      key: created.secret,
    };
    exchange.reply(201, JSON.stringify(body), [
      ['Cache-Control', 'no-store, max-age=0'],
      ['Pragma', 'no-cache'],
    ]);
  }

  return (exchange, user) => {
    if (!isPublicApiEnabled(store)) return exchange.fail('public_api_disabled');
    if (!exchange.head.isJson) return exchange.fail('unsupported_media_type');
    exchange.readBody(limits.bodyBytesMax, (bytes) => {
      const parsed = parseJson(bytes, limits.jsonDepthMax);
      if (parsed === undefined) return exchange.fail('malformed_json');
      const request = readRequest(parsed.value, clock.now());
      if (typeof request === 'string') return exchange.fail(request);
      return create(exchange, user, request);
    });
  };
}
