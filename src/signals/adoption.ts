/**
 * The open executions of a user that moves from one gateway to another: how a gateway that runs
 * already takes them in, as it does at its start with its own.
 */
import type { ExecutionBook } from './execution-book.js';
import { sourceKey } from './routing.js';
import type { Reader } from '../store/store.js';

/** Those that the book has read at its start are left as they are. */
export function adoptExecutions(book: ExecutionBook, store: Reader, userId: string): void {
  const known = new Map<string, Set<string>>();
  const knownOf = (source: string): Set<string> => {
    const ids = known.get(source) ?? new Set<string>();
    if (!known.has(source)) {
      for (const { execution } of book.ofSource(userId, source)) ids.add(execution.executionId);
      known.set(source, ids);
    }
    return ids;
  };
  for (const { record } of store.range('openExecutions', { prefix: [userId] })) {
    const { platform, instanceId, accountName, executionId } = record;
    const source = sourceKey({
      platform,
      instanceId: instanceId ?? '',
      accountName: accountName ?? '',
    });
    if (!knownOf(source).has(executionId)) book.add(userId, record);
  }
}
