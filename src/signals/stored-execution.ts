/**
 * How an execution lies in the store: its record has the first fills, and each further one has a row of its own,
 * written once. So the record, which every report rewrites, stays small however often the order is filled.
 */
import { isSettled, type Execution, type Fill } from '../model/execution.js';
import type { Reader, Writer } from '../store/store.js';
import { walk } from '../store/walk.js';

/** Most orders have fewer, and so no row beside their record. */
const inlineMax = 16;

/** @param durableFills how many of its fills are stored already. */
export function putFills(
  batch: Writer,
  userId: string,
  { executionId, fills }: Execution,
  durableFills: number,
): void {
  for (let n = Math.max(inlineMax, durableFills); n < fills.length; n++) {
    batch.put('fills', [userId, executionId, fillName(n)], fills[n] as Fill);
  }
}

/**
 * Where an execution lies: in `openExecutions`, so that a start reads only the open ones, or in `finalExecutions`. A
 * settled one that is unknown is listed in `unknownOrders` as well, because the book does not hold it.
 */
export type Place = 'open' | 'final' | 'unknown';

export function placeOf(execution: Execution): Place {
  if (!isSettled(execution)) return 'open';
  return execution.status === 'unknown' ? 'unknown' : 'final';
}

/** @param before where a write may have stored it. */
export function putRecord(
  batch: Writer,
  key: [userId: string, executionId: string],
  record: Execution,
  before: Place,
): void {
  const place = placeOf(record);
  if (place === 'open') {
    if (before !== 'open') batch.remove('finalExecutions', key);
    batch.put('openExecutions', key, record);
  } else {
    batch.remove('openExecutions', key);
    batch.put('finalExecutions', key, record);
  }
  if (place === 'unknown') batch.put('unknownOrders', key, record.updatedAt);
  else if (before === 'unknown') batch.remove('unknownOrders', key);
}

/** @returns the execution's record, without the fills that have rows of their own; the same object for a record. */
export function toRecord(execution: Execution): Execution {
  const { fills } = execution;
  if (fills.length <= inlineMax) return execution;
  return { ...execution, fills: fills.slice(0, inlineMax), fillRows: fills.length - inlineMax };
}

/** @returns the number of fills listed, in the record and in rows of their own. */
export function listedFills({ fills, fillRows = 0 }: Execution): number {
  return fills.length + fillRows;
}

/** Characters of a terminal's text that take as much memory as a fill. */
const textPerFill = 512;

/** @returns what an execution holds in memory that may grow: fills, ids of unlisted ones, its terminal's text in fills. */
export function heldBy(execution: Execution): number {
  const ids = execution.unlistedFills?.lastIds.length ?? 0;
  return execution.fills.length + ids + textHeldBy(execution);
}

function textHeldBy({ native }: Execution): number {
  return Math.floor((native?.text?.length ?? 0) / textPerFill);
}

/**
 * @param room how many more fills the user may hold.
 * @returns characters of its terminal's text that an execution may hold. A short text does not count.
 */
export function textRoom(execution: Execution, room: number): number {
  return (room + textHeldBy(execution) + 1) * textPerFill - 1;
}

/**
 * @param fills the first fills, which need not be read.
 * @returns the execution with all of its fills.
 */
export function fromRecord(
  reader: Reader,
  userId: string,
  record: Execution,
  fills: readonly Fill[] = record.fills,
): Execution {
  const { fillRows, ...rest } = record;
  if (fillRows === undefined) return record;
  const prefix: [string, string] = [userId, record.executionId];
  const start: [string, string, string] = [...prefix, fillName(fills.length)];
  const limit = listedFills(record) - fills.length;
  const rows = limit > 0 ? reader.range('fills', { prefix, start, limit }) : [];
  return { ...rest, fills: [...fills, ...rows.map(({ record: fill }) => fill)] };
}

/** Fills with rows of their own that are read at once: a millisecond or two. */
export const fillsPerRead = 128;

/** @returns, in steps, the first `max` fills of an execution: the record's own list if it holds just those. */
export function* firstFills(
  reader: Reader,
  userId: string,
  record: Execution,
  max: number,
): Generator<void, readonly Fill[], void> {
  const { executionId, fills } = record;
  const count = Math.min(listedFills(record), max);
  if (count <= fills.length) return fills.length > max ? fills.slice(0, max) : fills;
  const found = [...fills];
  const stretch = { prefix: [userId, executionId] } as const;
  for (const { record } of walk(reader, 'fills', stretch, fillsPerRead)) {
    if (found.push(record) === count) break;
    if (found.length % fillsPerRead === 0) yield;
  }
  // The other executions of the signal may have nearly as many.
  yield;
  return found;
}

/** Sorts by number. */
function fillName(n: number): string {
  return String(n).padStart(8, '0');
}

/** @returns the record without the fills that have rows of their own. */
export function recordOf(
  store: Reader,
  userId: string,
  executionId: string,
): Execution | undefined {
  const key: [string, string] = [userId, executionId];
  return store.get('openExecutions', key) ?? store.get('finalExecutions', key);
}
