/**
 * What is kept for a time, and when it is due: idempotency records, sessions, and completed requests
 * with all that belongs to them. There is no index of due times, since each would cost every
 * acceptance a write: requestIds sort by time, so the old ones of each user come first.
 */
import { dayMs } from '../lib/durations.js';
import { executionIdOf, firstRequestIdAt } from '../lib/ids.js';
import type { SignalRequest } from '../model/records.js';
import type { Reader, Writer } from '../store/store.js';
import type { Pass, RetentionLimits } from './pass.js';
import { walk } from '../store/walk.js';

/** How far the idempotency pass stays behind: an acceptance whose flush stalls must not be passed by. */
const settlingMs = 60_000;
const positionKey = 'sweep:idempotency';

export function* expiredSessions(reader: Reader, now: number): Pass {
  for (const { key, record } of walk(reader, 'sessions')) {
    // A session never changes, so that what was found due still is.
    yield record.expiresAt > now
      ? undefined
      : (transaction) => {
          transaction.remove('sessions', key);
        };
  }
}

/**
 * Follows the requests that were accepted since the last complete pass and are now older than the
 * retention. What it leaves goes with its request: the records of cancels, and those kept longer when
 * the retention was.
 */
export function* expiredIdempotency(reader: Reader, now: number, limits: RetentionLimits): Pass {
  const position = Number(reader.get('meta', positionKey) ?? 0);
  const reached = now - limits.idempotencyRetentionMs - settlingMs;
  if (reached <= position) return;
  let moved = false;
  for (const { key: userId } of walk(reader, 'users')) {
    const stretch = {
      start: [userId, firstRequestIdAt(position)] satisfies [string, string],
      end: [userId, firstRequestIdAt(reached)] satisfies [string, string],
    };
    yield undefined;
    for (const { record: request } of walk(reader, 'requests', stretch)) {
      moved = true;
      yield isExpired(reader, userId, request, now)
        ? (transaction) => {
            // The key may meanwhile belong to a newer operation.
            if (!isExpired(transaction, userId, request, now)) return;
            transaction.remove('idempotency', [userId, request.idempotencyKey]);
          }
        : undefined;
    }
  }
  // An idle gateway writes nothing.
  if (!moved) return;
  yield (transaction) => {
    transaction.put('meta', positionKey, reached);
  };
}

function isExpired(reader: Reader, userId: string, request: SignalRequest, now: number): boolean {
  const record = reader.get('idempotency', [userId, request.idempotencyKey]);
  return record?.requestId === request.requestId && record.expiresAt <= now;
}

/** The time of keeping a request counts from the moment at which its last execution became final. */
export function* completedRequests(reader: Reader, now: number, limits: RetentionLimits): Pass {
  const cutoff = now - limits.executionRetentionDays * dayMs;
  for (const { key: userId } of walk(reader, 'users')) {
    const stretch = {
      prefix: [userId],
      end: [userId, firstRequestIdAt(cutoff)] satisfies [string, string],
    };
    yield undefined;
    for (const { record: request } of walk(reader, 'requests', stretch)) {
      yield isOver(reader, userId, request, cutoff)
        ? (transaction) => {
            // A late report may have opened an execution again.
            if (isOver(transaction, userId, request, cutoff)) {
              removeRequest(transaction, userId, request);
            }
          }
        : undefined;
    }
  }
}

function isOver(reader: Reader, userId: string, request: SignalRequest, cutoff: number): boolean {
  for (let i = 0; i < request.executionCount; i++) {
    const executionId = executionIdOf(request.requestId, i);
    if (reader.get('openExecutions', [userId, executionId]) !== undefined) return false;
    const execution = reader.get('finalExecutions', [userId, executionId]);
    if (execution !== undefined && execution.updatedAt > cutoff) return false;
  }
  return true;
}

function removeRequest(
  transaction: Reader & Writer,
  userId: string,
  { requestId, signalId, idempotencyKey, executionCount }: SignalRequest,
): void {
  const idempotencyKeys = [idempotencyKey];
  for (let i = 0; i < executionCount; i++) {
    const key: [string, string] = [userId, executionIdOf(requestId, i)];
    idempotencyKeys.push(...(transaction.get('finalExecutions', key)?.cancelKeys ?? []));
    transaction.remove('finalExecutions', key);
  }
  if (transaction.get('signalIds', [userId, signalId]) === requestId) {
    transaction.remove('signalIds', [userId, signalId]);
  }
  for (const key of idempotencyKeys) {
    if (transaction.get('idempotency', [userId, key])?.requestId === requestId) {
      transaction.remove('idempotency', [userId, key]);
    }
  }
  transaction.remove('requests', [userId, requestId]);
}
