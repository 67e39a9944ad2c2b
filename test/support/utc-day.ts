/** For tests of what is counted by the UTC day: it must not end meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { dayMs } from '../../src/lib/durations.js';

/** Waits for the next day when this one has less left. */
export async function dayOfAtLeast(leftMs: number): Promise<void> {
  const untilMidnightMs = dayMs - (Date.now() % dayMs);
  if (untilMidnightMs < leftMs) await sleep(untilMidnightMs);
}
