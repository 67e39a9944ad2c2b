/** Computes the delays between attempts. Source: the retry rules of the public API specification. */
import type { Clock } from '../lib/clock.js';

/** Milliseconds before the second attempt, the third, and so on; the last one repeats. */
export type Delays = readonly number[];

/** For mutations: short at first, because the TTL of a signal runs. */
export const mutationDelaysMs: Delays = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000];

/** For reads, including status polls. */
export const readDelaysMs: Delays = [1_000, 2_000, 5_000, 10_000];

/** Random jitter, up to this share of the delay, so that bots do not retry in sync. */
const jitterShare = 0.25;

/** @param attempt counts from 0. */
export function backoffMs(delays: Delays, attempt: number, random: () => number): number {
  const delayMs = delays[Math.min(attempt, delays.length - 1)] ?? 0;
  return delayMs * (1 + jitterShare * random());
}

/** Resolves after `delayMs`, or as soon as the caller aborts. */
export function pause(clock: Clock, delayMs: number, abort?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(delayMs, end);
    abort?.addEventListener('abort', end);
    function end(): void {
      timer.cancel();
      abort?.removeEventListener('abort', end);
      resolve();
    }
  });
}
