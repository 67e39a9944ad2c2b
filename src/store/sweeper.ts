/**
 * Removal that bypasses the log. No reader sees and no write changes a record that is due for removal, so a
 * delay does no harm: a sweeper removes it from the index, in the thread that fills it, at no cost for the log
 * and the event loop. It sees the writes that the index has; a removal that is lost with the process is made
 * again.
 */
import type { Limits } from '../limits.js';
import type { Collection, KeyOf } from './key-layout.js';

/** For one slice of a cycle. */
export interface SweepOrder {
  /** A number that differs from the last order's begins a new cycle. */
  readonly cycle: number;
  /** Unix milliseconds at which records are judged due; the same in a whole cycle. */
  readonly now: number;
  readonly limits: Pick<Limits, 'idempotencyRetentionMs' | 'executionRetentionDays'>;
}

export interface Swept {
  readonly hasEnded: boolean;
  /** Records that the slice has removed. */
  readonly removals: number;
  /** Time that the slice took of its thread. */
  readonly spentMs: number;
}

/** What was removed of the collections that are held in memory. */
export type RemovedKeys = { [C in Collection]?: KeyOf<C>[] };
