/**
 * Counts for each API key its orders that are not final: those under way to the disk, and those of the book.
 * Updated with each change, so that the limit's check is one look-up. Ends with the process; loading the book
 * counts anew.
 */
import { isFinal, type Execution } from '../model/execution.js';
import type { BookEntry } from './book-entry.js';

export class OpenOrders {
  readonly #counts = new Map<number, number>();

  of(keyId: number): number {
    return this.#counts.get(keyId) ?? 0;
  }

  /** Adds orders, or takes them away. */
  add(keyId: number, orders: number): void {
    const count = this.of(keyId) + orders;
    if (count === 0) this.#counts.delete(keyId);
    else this.#counts.set(keyId, count);
  }

  /** @param execution the entry's latest state; undefined once it has left the book. */
  update(entry: BookEntry, execution: Execution | undefined): void {
    const keyId = execution !== undefined && isOpen(execution) ? execution.keyId : undefined;
    if (keyId === entry.countedFor) return;
    if (entry.countedFor !== undefined) this.add(entry.countedFor, -1);
    if (keyId !== undefined) this.add(keyId, 1);
    entry.countedFor = keyId;
  }
}

/** @returns how many of these executions are open orders. */
export function orderCount(executions: readonly Execution[]): number {
  let count = 0;
  for (const execution of executions) if (isOpen(execution)) count++;
  return count;
}

function isOpen({ orderRef, status }: Execution): boolean {
  return orderRef !== null && !isFinal(status);
}
