/** POST /api/v1/orders/{orderRef}/cancel: requests the cancel of exactly one API-tracked order. */
import type { KeyEndpoint } from '../http/endpoint.js';
import type { Exchange } from '../http/exchange.js';
import type { Gate } from '../http/gate.js';
import type { Clock } from '../lib/clock.js';
import { executionIdFrom } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import type { CancelAcceptance } from '../signals/cancel-acceptance.js';
import { isFinalCancel } from '../model/cancellation.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import { isCancellable } from '../model/execution.js';
import { readIdempotencyKey, type Idempotency } from '../signals/idempotency.js';
import { replyIfKnown } from './idempotent-reply.js';

export interface CancelOrderDeps {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly book: ExecutionBook;
  readonly idempotency: Idempotency;
  readonly acceptance: CancelAcceptance;
  /** Whether the plugin of the order's terminal is connected now and supports cancels. */
  readonly canCancel: (entry: BookEntry) => boolean;
}

export function createCancelOrder(deps: CancelOrderDeps): KeyEndpoint {
  const { clock, gate, limits, book, idempotency, acceptance, canCancel } = deps;

  function cancel(exchange: Exchange, userId: string, key: string): void {
    const orderRef = exchange.request.parameter;
    const executionId = executionIdFrom(orderRef);
    const entry = executionId === undefined ? undefined : book.find(userId, executionId);
    if (entry?.execution.orderRef !== orderRef) return exchange.fail('order_not_found');
    const { requestId } = entry.execution;

    const fingerprint = `cancel ${orderRef}`;
    const known = idempotency.lookUp(userId, key, fingerprint, clock.now());
    if (replyIfKnown(exchange, known)) return;
    if (!isCancellable(entry.execution))
      return exchange.fail('order_not_cancellable', { requestId });
    const latest = entry.execution.cancel;
    if (latest !== null && !isFinalCancel(latest.status)) {
      return exchange.fail('cancel_already_in_progress', { requestId });
    }
    if (!canCancel(entry)) return exchange.fail('terminal_unavailable', { requestId });
    acceptance.accept(entry, key, fingerprint, (body) => {
      if (body === undefined) exchange.fail('signal_processing_failed', { requestId });
      else exchange.reply(202, body);
    });
  }

  return (exchange, caller) => {
    const { head } = exchange;
    const key = readIdempotencyKey(
      head.idempotencyKey,
      head.idempotencyKeyCount,
      limits.idempotencyKeyLengthMax,
    );
    if (key === undefined) return exchange.fail('invalid_idempotency_key');
    exchange.readBody(limits.bodyBytesMax, () => {
      const confirmed = gate.confirm(exchange, caller);
      if (confirmed !== undefined) cancel(exchange, confirmed.user.userId, key);
    });
  };
}
