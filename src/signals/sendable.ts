/**
 * The stored executions of which a command may yet be sent, or sent again: those that are open, and those whose fate
 * is unknown because the plugin has acknowledged nothing.
 */
import { cancelResendMs } from '../model/cancellation.js';
import type { Execution } from '../model/execution.js';
import type { Reader } from '../store/store.js';
import { walk } from '../store/walk.js';
import { recordOf } from './stored-execution.js';

export interface Sendable {
  readonly key: [userId: string, executionId: string];
  readonly record: Execution;
}

/** @param now Unix ms. @param userId undefined for all users. */
export function* sendable(
  store: Reader,
  now: number,
  userId?: string,
): Generator<Sendable, void, void> {
  const range = userId === undefined ? {} : { prefix: [userId] as [string] };
  yield* walk(store, 'openExecutions', range);
  for (const { key, record: updatedAt } of walk(store, 'unknownOrders', range)) {
    if (updatedAt <= now - cancelResendMs) continue;
    const record = recordOf(store, ...key);
    if (record !== undefined) yield { key, record };
  }
}
