/**
 * A completed request does not change in the last hour before retention may remove it: the sweep reads only the
 * store's index, and would not see a change that is on its way there.
 */
import { dayMs, hourMs } from '../lib/durations.js';
import { executionStretch, requestIdOfExecution } from '../lib/ids.js';
import type { Limits } from '../limits.js';
import { type Execution, isSettled } from '../model/execution.js';
import type { Reader } from '../store/store.js';

/** @param now Unix milliseconds. */
export function isUnchangeable(
  store: Reader,
  limits: Pick<Limits, 'executionRetentionDays'>,
  userId: string,
  execution: Execution,
  now: number,
): boolean {
  const lastChangeMax = now - limits.executionRetentionDays * dayMs + hourMs;
  const isOver = (each: Execution): boolean => isSettled(each) && each.updatedAt <= lastChangeMax;
  if (!isOver(execution)) return false;
  const requestId = requestIdOfExecution(execution.executionId);
  const stretch = executionStretch(userId, requestId, requestId);
  if (store.keys('openExecutions', { ...stretch, limit: 1 }).length > 0) return false;
  return store.range('finalExecutions', stretch).every(({ record }) => isOver(record));
}
