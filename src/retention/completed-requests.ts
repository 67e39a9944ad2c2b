/**
 * Removes completed requests with everything that belongs to them. Scans requestIds, which sort by time, from
 * the oldest of each user: an index of expiry times would cost another write per acceptance. What belongs to
 * neighbouring requests lies side by side, so a step reads it in one go.
 */
import { dayMs } from '../lib/durations.js';
import { executionStretch, firstRequestIdAt, requestIdOfExecution } from '../lib/ids.js';
import type { Execution } from '../model/execution.js';
import type { SignalRequest } from '../model/records.js';
import type { Entry } from '../store/store.js';
import { keyAfter } from '../store/walk.js';
import { eachUser, type Pass, type RetentionLimits, rowsPerStep, type Slice } from './pass.js';

type RequestRow = Entry<'requests'>;

/** Most executions of the requests in a step, unless the first request alone has more. */
const executionsPerStep = 64;
const fillsPerStep = 256;

/** The retention of a request starts at the last change of its executions, once all are settled. */
export function completedRequests(slice: Slice, now: number, limits: RetentionLimits): Pass {
  const cutoff = now - limits.executionRetentionDays * dayMs;
  return eachUser(slice, function* (userId) {
    const end: [string, string] = [userId, firstRequestIdAt(cutoff)];
    for (let start: [string, string] = [userId, '']; ;) {
      const rows = few(slice.range('requests', { start, end, limit: rowsPerStep }));
      const first = rows[0];
      if (first !== undefined) start = step(slice, userId, rows, cutoff);
      yield;
      if (first === undefined) return;
    }
  });
}

/** @returns where the next step begins. */
function step(
  slice: Slice,
  userId: string,
  rows: readonly RequestRow[],
  cutoff: number,
): [string, string] {
  const { isOpen, finalOnes, isUnknown } = executionsOf(slice, userId, rows);
  for (const { key, record: request } of rows) {
    const executions = finalOnes.get(request.requestId) ?? [];
    const isOver =
      !isOpen.has(request.requestId) && executions.every(({ updatedAt }) => updatedAt <= cutoff);
    if (isOver) {
      // An execution may have thousands of fills, which are removed before their request.
      if (!executions.every((execution) => removeFills(slice, userId, execution))) return key;
      for (const { executionId } of executions) {
        slice.remove('finalExecutions', [userId, executionId]);
        if (isUnknown.has(executionId)) slice.remove('unknownOrders', [userId, executionId]);
      }
      removeRequest(slice, userId, request, executions);
    }
    if (slice.isUsedUp()) return keyAfter(key);
  }
  return keyAfter((rows.at(-1) as RequestRow).key);
}

/** @returns the first rows, with at most `executionsPerStep` executions unless the first row has more. */
function few(rows: readonly RequestRow[]): readonly RequestRow[] {
  let executions = 0;
  const over = rows.findIndex(({ record }) => {
    executions += record.executionCount;
    return executions > executionsPerStep;
  });
  return over < 0 ? rows : rows.slice(0, Math.max(1, over));
}

/** Reads ranges: look-ups by key would be one for each, and displace what bots read. */
function executionsOf(slice: Slice, userId: string, rows: readonly RequestRow[]) {
  const [first, last] = [rows[0] as RequestRow, rows.at(-1) as RequestRow];
  const stretch = executionStretch(userId, first.key[1], last.key[1]);
  const isOpen = new Set(
    slice.keys('openExecutions', stretch).map(([, id]) => requestIdOfExecution(id)),
  );
  const isUnknown = new Set(slice.keys('unknownOrders', stretch).map(([, id]) => id));
  const finalOnes = new Map<string, Execution[]>();
  for (const { record } of slice.range('finalExecutions', stretch)) {
    const others = finalOnes.get(record.requestId);
    if (others === undefined) finalOnes.set(record.requestId, [record]);
    else others.push(record);
  }
  return { isOpen, isUnknown, finalOnes };
}

/** @returns whether the execution has no fills left. */
function removeFills(slice: Slice, userId: string, { executionId, fillRows }: Execution): boolean {
  if (fillRows === undefined) return true;
  const keys = slice.keys('fills', { prefix: [userId, executionId], limit: fillsPerStep });
  for (const key of keys) slice.remove('fills', key);
  return keys.length < fillsPerStep;
}

/** Keeps a signalId or an Idempotency-Key that a newer request has taken. */
function removeRequest(
  slice: Slice,
  userId: string,
  { requestId, signalId, idempotencyKey }: SignalRequest,
  executions: readonly Execution[],
): void {
  if (slice.get('signalIds', [userId, signalId]) === requestId) {
    slice.remove('signalIds', [userId, signalId]);
  }
  for (const key of [idempotencyKey, ...executions.flatMap(({ cancelKeys }) => cancelKeys ?? [])]) {
    if (slice.get('idempotency', [userId, key])?.requestId === requestId) {
      slice.remove('idempotency', [userId, key]);
    }
  }
  slice.remove('requests', [userId, requestId]);
}
