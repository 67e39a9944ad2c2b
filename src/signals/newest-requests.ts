/** Ids of a user's requests, newest first, read from the keys of a collection in parts. */
import { requestIdOfExecution } from '../lib/ids.js';
import type { Reader } from '../store/store.js';

const keysPerRead = 64;

/**
 * @param collection `openExecutions` and `unknownOrders` lead to the few such requests among a million completed ones.
 * @param before only requests that were accepted before this one; undefined for the newest.
 */
export function* newestRequestIds(
  store: Reader,
  userId: string,
  collection: 'requests' | 'openExecutions' | 'unknownOrders',
  before?: string,
): Generator<string, void, void> {
  const isRequests = collection === 'requests';
  let last = before;
  for (;;) {
    const start = last === undefined ? {} : { start: keyBefore(userId, last, isRequests) };
    const keys = store.keys(collection, {
      prefix: [userId],
      reverse: true,
      limit: keysPerRead,
      ...start,
    });
    for (const [, key] of keys) {
      const requestId = isRequests ? key : requestIdOfExecution(key);
      if (requestId === last) continue;
      last = requestId;
      yield requestId;
    }
    if (keys.length < keysPerRead) return;
  }
}

/** @returns the start of a descending read of the requests before this one, or of their executions. */
function keyBefore(userId: string, requestId: string, isRequests: boolean): [string, string] {
  return [userId, isRequests ? requestId : executionsFrom(requestId)];
}

/** Less than the id of every execution of the request, and greater than those of earlier requests. */
function executionsFrom(requestId: string): string {
  return `exe_${requestId.slice(4)}_`;
}
