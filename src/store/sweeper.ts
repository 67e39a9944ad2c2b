/**
 * Removal behind the log's back. What is due to be removed is not seen and not changed by anybody, and goes as
 * well a moment later: a sweeper removes it right from the index, in the thread that fills it, and costs the log
 * and the event loop nothing. What it sees are the writes that the index has; a removal that is lost with the
 * process is made again.
 */
import type { Limits } from '../limits.js';
import type { Collection, KeyOf } from './key-layout.js';

/** For one slice of a cycle. */
export interface SweepOrder {
  /** Another number than the last order's begins a cycle. */
  readonly cycle: number;
  /** Unix milliseconds by which is judged what is due; the same in all of a cycle. */
  readonly now: number;
  readonly limits: Pick<Limits, 'idempotencyRetentionMs' | 'executionRetentionDays'>;
}

export interface Swept {
  readonly hasEnded: boolean;
  /** Records that the slice has removed. */
  readonly removals: number;
  /** What the slice took of its thread. */
  readonly spentMs: number;
}

/** What was removed of the collections that are held in memory. */
export type RemovedKeys = { [C in Collection]?: KeyOf<C>[] };
