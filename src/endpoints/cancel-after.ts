/** PUT and GET /api/v1/cancel-after: the dead-man's switch of the calling key. */
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Gate } from '../http/gate.js';
import { parseJson } from '../http/json-body.js';
import type { Limits } from '../limits.js';
import type { StorageHealth } from '../store/storage-health.js';
import { refuseMoving } from './moving-user.js';
import { failUnstored } from './stored-change.js';
import {
  cancelAfterOutline,
  isCancelAfterRequest,
  type CancelAfter,
} from '../signals/cancel-after.js';

/** Unlike the code's own message, without an Idempotency-Key, which this endpoint does not have. */
const unconfirmed =
  'The switch was not stored in time and may be in force. Send the request again.';

export interface CancelAfterEndpointDeps {
  readonly gate: Gate;
  readonly limits: Limits;
  readonly storage: StorageHealth;
  readonly cancelAfter: CancelAfter;
}

export function createReadCancelAfter({
  cancelAfter,
}: Pick<CancelAfterEndpointDeps, 'cancelAfter'>): KeyEndpoint {
  return (exchange, { user, key }) => {
    exchange.reply(200, JSON.stringify(cancelAfter.read(user.userId, key.id)));
  };
}

export function createSetCancelAfter(deps: CancelAfterEndpointDeps): KeyEndpoint {
  const { gate, limits, storage, cancelAfter } = deps;
  return (exchange, caller) => {
    if (!exchange.head.isJson) return exchange.fail('unsupported_media_type');
    gate.readBody(exchange, caller, ({ user, key }, body) => {
      const parsed = parseJson(body, limits.jsonDepthMax, cancelAfterOutline);
      if (parsed === undefined) return exchange.fail('malformed_json');
      if (!isCancelAfterRequest(parsed.value)) return exchange.fail('invalid_timeout');
      // A move disarms the switch: the bot would rely on one that never fires.
      if (refuseMoving(exchange, user)) return;
      if (storage.refuses()) return failUnstored(exchange);
      cancelAfter.set(user.userId, key.id, parsed.value.timeoutMs, (view) => {
        if (view === undefined) exchange.fail('signal_processing_failed', { message: unconfirmed });
        else exchange.reply(200, JSON.stringify(view));
      });
    });
  };
}
