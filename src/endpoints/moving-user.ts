/** The refusal of what would be lost with the move of its user to another gateway. */
import { isMoving } from '../auth/moving.js';
import type { Exchange } from '../http/exchange.js';
import type { User } from '../model/records.js';

/** Seconds. A move takes a few. */
const movingRetryAfter = 1;

/** @returns whether it was refused: on a new connection, the retry reaches the other gateway. */
export function refuseMoving(exchange: Exchange, user: User): boolean {
  if (!isMoving(user)) return false;
  exchange.fail('shutting_down', { retryAfter: movingRetryAfter, close: 'announced' });
  return true;
}
