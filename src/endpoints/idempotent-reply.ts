/** Reads the Idempotency-Key of a request, and answers if the key is not free, for all mutating endpoints. */
import type { Exchange } from '../http/exchange.js';
import type { Limits } from '../limits.js';
import { readIdempotencyKey, type IdempotencyState } from '../signals/idempotency.js';

/** Retry-After in seconds for a request in progress. */
const inProgressRetryAfter = 1;

/** @returns undefined when it responded: the header is missing, repeated or invalid. */
export function idempotencyKeyOf(
  exchange: Exchange,
  { idempotencyKeyLengthMax }: Limits,
): string | undefined {
  const { idempotencyKey, idempotencyKeyCount } = exchange.head;
  const key = readIdempotencyKey(idempotencyKey, idempotencyKeyCount, idempotencyKeyLengthMax);
  if (key === undefined) exchange.fail('invalid_idempotency_key');
  return key;
}

/** @param location the Location header of the original response, if any. @returns whether it responded. */
export function replyIfKnown(
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
