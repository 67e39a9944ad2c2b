/** POST /api/api-keys: creates a Public API key. Only this response contains its secret. */
import Type, { type Static } from 'typebox';
import { isPublicApiEnabled } from '../auth/accounts.js';
import { createApiKey, revokeApiKey } from '../auth/api-key.js';
import {
  createKeyRequestReader,
  keyRequestOutline,
  keyRequestSchema,
  type KeyRequest,
} from '../auth/api-key-request.js';
import { apiKeySchema, toApiKeyView } from '../auth/api-key-view.js';
import type { UserEndpoint } from '../http/endpoint.js';
import { originOf } from '../http/trail-fields.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import { unknownFields } from '../lib/unknown-fields.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { User } from '../model/records.js';
import type { TrailLog } from '../model/trail-events.js';
import type { Reader, Store } from '../store/store.js';
import { storeChange, type StoredChangeDeps } from './stored-change.js';

export const createdKeySchema = Type.Object({ ...apiKeySchema.properties, key: Type.String() });

export interface CreateKeyDeps extends StoredChangeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly gate: Gate;
  readonly trail: TrailLog;
}

export function createCreateKey(deps: CreateKeyDeps): UserEndpoint {
  const { store, clock, limits, gate, trail } = deps;
  const schema = keyRequestSchema(limits);
  const readRequest = createKeyRequestReader(limits);

  /** Judges the user again, when the body has come and in the key's transaction. */
  function refusal(reader: Reader, exchange: Exchange) {
    if (exchange.isOver) return 'unanswerable';
    const refused = gate.userRefusal(reader, exchange);
    return refused ?? (isPublicApiEnabled(reader) ? undefined : 'public_api_disabled');
  }

  /** @param now wall time at which the request was found valid, in Unix ms: the key is created as of then. */
  async function create(
    exchange: Exchange,
    user: User,
    request: KeyRequest,
    now: number,
  ): Promise<void> {
    const origin = originOf(exchange);
    const { userId } = user;
    const wanted = { ...request, user, activeMax: limits.activeKeysPerUserMax, now };
    const created = await storeChange(
      deps,
      exchange,
      () => exchange.fail('change_not_confirmed'),
      async () => {
        const made = await createApiKey(store, wanted, (reader) => refusal(reader, exchange));
        // Runs also when the answer could not wait for the commit.
        if (typeof made === 'object') {
          const told = { ...origin, userId, keyId: made.key.id, by: 'user' } as const;
          trail.note('key_made', told);
          // No client has received the secret, or ever will.
          if (exchange.isOver && (await revokeApiKey(store, userId, made.key.id, clock.now()))) {
            trail.note('key_revoked', told);
          }
        }
        return made;
      },
    );
    if (created === undefined || created === 'unanswerable') return;
    if (typeof created === 'string') return exchange.fail(created);
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
      const refused = refusal(store, exchange);
      if (refused === 'unanswerable') return;
      if (refused !== undefined) return exchange.fail(refused);
      const parsed = parseJson(bytes, limits.jsonDepthMax, keyRequestOutline);
      if (parsed === undefined) return exchange.fail('malformed_json');
      const unknown = unknownFields(parsed.value, schema);
      if (unknown.length > 0) return exchange.fail('unknown_field', { details: unknown });
      const now = clock.now();
      const request = readRequest(parsed.value, now);
      if ('code' in request) return exchange.fail(request.code, request);
      return create(exchange, user, request, now);
    });
  };
}
