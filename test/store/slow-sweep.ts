/** A sweeper that takes as long as its order says, and its orders. */
import type { SweepOrder } from '../../src/store/sweeper.js';

export const slowSweeper = new URL('./slow-sweeper.js', import.meta.url).href;

export function slowSweep(takesMs: number): SweepOrder {
  const limits = { idempotencyRetentionMs: 0, executionRetentionDays: 0 };
  return { cycle: 1, now: takesMs, limits };
}
