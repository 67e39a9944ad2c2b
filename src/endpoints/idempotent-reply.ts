/** What a request gets whose Idempotency-Key is not free; the same for every mutating endpoint. */
import type { Exchange } from '../http/exchange.js';
import type { IdempotencyState } from '../signals/idempotency.js';

/** Seconds after which the outcome of a request under way is worth asking for again. */
const inProgressRetryAfter = 1;

/** `location`: the header of the original answer, where it had one. @returns whether it answered. */
export function refuseOrReplay(
  exchange: Exchange,
  known: IdempotencyState,
  location?: (requestId: string) => string,
): boolean {
  switch (known.kind) {
    case 'free':
      return false;
    case 'replay': {
      const { answer, requestId } = known.record;
      exchange.reply(202, answer, [
        ...(location === undefined ? [] : [['Location', location(requestId)] as const]),
        ['Idempotent-Replayed', 'true'],
      ]);
      return true;
    }
    case 'request_in_progress':
      exchange.fail(known.kind, { retryAfter: inProgressRetryAfter });
      return true;
    default:
      exchange.fail(known.kind);
      return true;
  }
}
