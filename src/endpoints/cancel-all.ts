/** POST /api/v1/orders/cancel-all: requests the cancel of each of the user's open orders that match the filter. */
import { hash } from 'node:crypto';
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { BodyBounds, Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { CancelAllAcceptance } from '../signals/cancel-all-acceptance.js';
import type { Idempotency } from '../signals/idempotency.js';
import { orderFilterOutline, type OrderFilterReader } from '../signals/order-filter.js';
import type { StorageHealth } from '../store/storage-health.js';
import { idempotencyKeyOf, replyIfKnown } from './idempotent-reply.js';
import { refuseMoving } from './moving-user.js';
import { failUnstored } from './stored-change.js';

export interface CancelAllEndpointDeps {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly filters: OrderFilterReader;
  readonly idempotency: Idempotency;
  readonly acceptance: CancelAllAcceptance;
  readonly storage: StorageHealth;
}

/** For a body without a type, which must be empty: if it comes in chunks, only its end tells that. */
const emptyBody: BodyBounds = { bytesMax: 0, refusal: 'unsupported_media_type' };

export function createCancelAll(deps: CancelAllEndpointDeps): KeyEndpoint {
  const { clock, gate, limits, filters, idempotency, acceptance, storage } = deps;

  function cancelAll(exchange: Exchange, caller: KeyOwner, key: string, body: Uint8Array): void {
    const { user } = caller;
    const { userId } = user;
    const fingerprint = `cancel-all ${hash('sha256', body, 'base64url')}`;
    const known = idempotency.lookUp(userId, key, () => fingerprint, clock.now());
    if (replyIfKnown(exchange, known)) return;

    const parsed =
      body.length === 0 ? { value: {} } : parseJson(body, limits.jsonDepthMax, orderFilterOutline);
    if (parsed === undefined) return exchange.fail('malformed_json');
    const filter = filters.read(parsed.value);
    if (Array.isArray(filter)) return exchange.fail('invalid_filter', { details: filter });
    // The user's terminals leave for another gateway: a cancel that waits for them here would be lost.
    if (refuseMoving(exchange, user)) return;
    if (storage.refuses()) return failUnstored(exchange);
    const waitMs = acceptance.take(userId);
    if (waitMs > 0) return exchange.fail('api_rate_limited', { retryAfter: waitMs / 1000 });
    acceptance.accept(
      { userId, filter, idempotencyKey: key, fingerprint, trail: exchange.trailOf(caller.key.id) },
      (answer) => {
        if (answer === undefined) exchange.fail('signal_processing_failed');
        else exchange.reply(202, answer);
      },
    );
  }

  return (exchange, caller) => {
    const key = idempotencyKeyOf(exchange, limits);
    if (key === undefined) return;
    const { head } = exchange;
    if (Number(head.contentLength) > 0 && !head.isJson) {
      return exchange.fail('unsupported_media_type');
    }
    gate.readBody(
      exchange,
      caller,
      (confirmed, body) => cancelAll(exchange, confirmed, key, body),
      head.isJson ? undefined : emptyBody,
    );
  };
}
