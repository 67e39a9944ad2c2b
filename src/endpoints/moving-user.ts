/** Refuses requests whose effect would be lost when the user moves to another gateway. */
import { isMoving } from '../auth/moving.js';
import type { Exchange } from '../http/exchange.js';
import type { User } from '../model/records.js';

/** Retry-After in seconds. A move takes a few. */
const movingRetryAfter = 1;

/** @returns whether the request was refused. Its connection ends, so that a retry reaches the other gateway. */
export function refuseMoving(exchange: Exchange, user: User): boolean {
  if (!isMoving(user)) return false;
  exchange.fail('shutting_down', { retryAfter: movingRetryAfter, close: 'announced' });
  return true;
}
