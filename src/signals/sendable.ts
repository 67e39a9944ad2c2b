/**
 * The stored executions whose submit or cancel may yet be sent, or sent again: those that are open, and those of
 * unknown outcome that changed less than `cancelResendMs` ago.
 */
import { cancelResendMs } from '../model/cancellation.js';
import type { Execution } from '../model/execution.js';
import type { Reader, Store } from '../store/store.js';
import { walk } from '../store/walk.js';
import { recordOf } from './stored-execution.js';

/** Records read at once, in one step: a few milliseconds. */
export const recordsPerStep = 256;

export interface Sendable {
  readonly key: [userId: string, executionId: string];
  readonly record: Execution;
}

/** What is queued in a copy of the store may have been sent since the copy was made. */
export function asOfCopy(execution: Execution): Execution {
  return execution.status === 'queued' ? { ...execution, maySend: true } : execution;
}

/**
 * @returns the executions by user, in the order of acceptance.
 * @param now wall time in Unix ms.
 * @param userId undefined for all users.
 */
export function* sendable(
  store: Reader & Pick<Store, 'isCopy'>,
  now: number,
  userId?: string,
): Generator<Sendable, void, void> {
  const isCopy = store.isCopy();
  for (const each of stored(store, now, userId)) {
    yield isCopy ? { ...each, record: asOfCopy(each.record) } : each;
  }
}

function* stored(store: Reader, now: number, userId?: string): Generator<Sendable, void, void> {
  const range = userId === undefined ? {} : { prefix: [userId] as [string] };
  const open = walk(store, 'openExecutions', range, recordsPerStep);
  let next = open.next().value;
  for (const unknown of unknownSince(store, now - cancelResendMs, range)) {
    for (; next !== undefined && isBefore(next.key, unknown.key); next = open.next().value) {
      yield next;
    }
    yield unknown;
  }
  for (; next !== undefined; next = open.next().value) yield next;
}

function* unknownSince(
  store: Reader,
  since: number,
  range: { readonly prefix?: [string] },
): Generator<Sendable, void, void> {
  const unknown = walk(store, 'unknownOrders', range, recordsPerStep);
  for (const { key, record: updatedAt } of unknown) {
    const record = updatedAt > since ? recordOf(store, ...key) : undefined;
    if (record !== undefined) yield { key, record };
  }
}

function isBefore([userId, executionId]: Sendable['key'], other: Sendable['key']): boolean {
  return userId === other[0] ? executionId < other[1] : userId < other[0];
}
