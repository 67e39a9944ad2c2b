/**
 * Finds expired records: sessions, idempotency records, and completed requests with everything that belongs to
 * them. Scans requestIds, which sort by time, from the oldest of each user: an index of expiry times would cost
 * another write per acceptance.
 */
import { dayMs } from '../lib/durations.js';
import { executionIdOf, firstRequestIdAt } from '../lib/ids.js';
import type { SignalRequest } from '../model/records.js';
import type { Reader, Writer } from '../store/store.js';
import type { Pass, RetentionLimits } from './pass.js';
import { walk } from '../store/walk.js';

/** Lag of the idempotency pass, so that it does not skip an acceptance whose flush is delayed. */
const lagMs = 60_000;
const positionKey = 'sweep:idempotency';

export function* expiredSessions(reader: Reader, now: number): Pass {
  for (const { key, record } of walk(reader, 'sessions')) {
    // Sessions are immutable: no second check is needed.
    yield record.expiresAt > now
      ? undefined
      : (transaction) => {
          transaction.remove('sessions', key);
        };
  }
}

/**
 * Scans the requests that became older than the retention since the last complete pass. The idempotency
 * records of cancels, and those of an earlier, longer retention, are removed with their request.
 */
export function* expiredIdempotency(reader: Reader, now: number, limits: RetentionLimits): Pass {
  const position = Number(reader.get('meta', positionKey) ?? 0);
  const reached = now - limits.idempotencyRetentionMs - lagMs;
  if (reached <= position) return;
  let isAdvanced = false;
  for (const { key: userId } of walk(reader, 'users')) {
    const range = {
      start: [userId, firstRequestIdAt(position)] satisfies [string, string],
      end: [userId, firstRequestIdAt(reached)] satisfies [string, string],
    };
    yield undefined;
    for (const { record: request } of walk(reader, 'requests', range)) {
      isAdvanced = true;
      yield isExpired(reader, userId, request, now)
        ? (transaction) => {
            // A newer operation may have taken the key meanwhile.
            if (!isExpired(transaction, userId, request, now)) return;
            transaction.remove('idempotency', [userId, request.idempotencyKey]);
          }
        : undefined;
    }
  }
  // Without this check an idle gateway would write in each cycle.
  if (!isAdvanced) return;
  yield (transaction) => {
    transaction.put('meta', positionKey, reached);
  };
}

function isExpired(reader: Reader, userId: string, request: SignalRequest, now: number): boolean {
  const record = reader.get('idempotency', [userId, request.idempotencyKey]);
  return record?.requestId === request.requestId && record.expiresAt <= now;
}

/** The retention of a request starts at the last change of its executions, once all are settled. */
export function* completedRequests(reader: Reader, now: number, limits: RetentionLimits): Pass {
  const cutoff = now - limits.executionRetentionDays * dayMs;
  for (const { key: userId } of walk(reader, 'users')) {
    const range = {
      prefix: [userId],
      end: [userId, firstRequestIdAt(cutoff)] satisfies [string, string],
    };
    yield undefined;
    for (const { record: request } of walk(reader, 'requests', range)) {
      yield isOver(reader, userId, request, cutoff)
        ? (transaction) => {
            // A late report may have reopened an execution.
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
