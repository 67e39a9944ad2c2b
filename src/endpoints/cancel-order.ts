/** POST /api/v1/orders/{orderRef}/cancel: requests the cancel of exactly one API-tracked order. */
import type { KeyOwner } from '../auth/api-key.js';
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import type { Clock } from '../lib/clock.js';
import { executionIdFrom } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { CancelAcceptance } from '../signals/cancel-acceptance.js';
import { isFinalCancel } from '../model/cancellation.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import { isCancellable } from '../model/execution.js';
import type { Registry } from '../plugins/registry.js';
import type { Idempotency } from '../signals/idempotency.js';
import { recordOf } from '../signals/stored-execution.js';
import type { StorageHealth } from '../store/storage-health.js';
import type { Reader } from '../store/store.js';
import { idempotencyKeyOf, replyIfKnown } from './idempotent-reply.js';
import { failUnstored } from './stored-change.js';

export interface CancelOrderDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly book: ExecutionBook;
  readonly idempotency: Idempotency;
  readonly acceptance: CancelAcceptance;
  readonly storage: StorageHealth;
  readonly registry: Pick<Registry, 'canCancel'>;
}

export function createCancelOrder(deps: CancelOrderDeps): KeyEndpoint {
  const { store, clock, gate, limits, book, idempotency, acceptance, registry, storage } = deps;

  /** Without an entry in the last hour of its retention: the order can change no more, but retries have an answer. */
  function orderOf(userId: string, orderRef: string) {
    const executionId = executionIdFrom(orderRef);
    if (executionId === undefined) return undefined;
    const entry = book.find(userId, executionId);
    const execution = entry?.record ?? recordOf(store, userId, executionId);
    return execution?.orderRef === orderRef ? { entry, execution } : undefined;
  }

  function cancel(
    exchange: Exchange,
    { user: { userId }, key: apiKey }: KeyOwner,
    key: string,
  ): void {
    const orderRef = exchange.request.parameter;
    const order = orderOf(userId, orderRef);
    if (order === undefined) return exchange.fail('order_not_found');
    const { entry, execution } = order;
    const { requestId, cancel: latest } = execution;

    const fingerprint = `cancel ${orderRef}`;
    const known = idempotency.lookUp(userId, key, () => fingerprint, clock.now());
    if (replyIfKnown(exchange, known)) return;
    const isUsedUp = (latest?.attempt ?? 0) >= limits.cancelsPerOrder;
    if (entry === undefined || !isCancellable(execution) || isUsedUp) {
      return exchange.fail('order_not_cancellable', { requestId });
    }
    if (latest !== null && !isFinalCancel(latest.status)) {
      return exchange.fail('cancel_already_in_progress', { requestId });
    }
    if (!registry.canCancel(userId, execution)) {
      return exchange.fail('terminal_unavailable', { requestId });
    }
    if (storage.refuses()) return failUnstored(exchange, { requestId });
    acceptance.accept(
      entry,
      key,
      fingerprint,
      (body) => {
        if (body === undefined) exchange.fail('signal_processing_failed', { requestId });
        else exchange.reply(202, body);
      },
      exchange.trailOf(apiKey.id),
    );
  }

  return (exchange, caller) => {
    const key = idempotencyKeyOf(exchange, limits);
    if (key === undefined) return;
    gate.readBody(exchange, caller, (confirmed) => cancel(exchange, confirmed, key));
  };
}
