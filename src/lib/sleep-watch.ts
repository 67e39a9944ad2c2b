/**
 * Tells when the computer has slept, as in a suspend to RAM: the monotonic clock stands still meanwhile, so that
 * deadlines would be late by the sleep. Neither the wall clock nor the uptime is believed alone: the first may be
 * set, and containers simulate the second.
 */
import { uptime } from 'node:os';
import { every, type Clock, type Timer } from './clock.js';

const lookMs = 1_000;
/** Smaller differences are corrections of the clocks. */
const sleepMsMin = 1_000;

/** @param uptimeMs milliseconds that the system has run or slept. */
export function watchSleep(
  clock: Clock,
  onSlept: (ms: number) => void,
  uptimeMs: () => number = () => uptime() * 1_000,
): Timer {
  const aheadMs = (): readonly [number, number] => {
    const monotonic = clock.monotonic();
    return [clock.now() - monotonic, uptimeMs() - monotonic];
  };
  let before = aheadMs();
  return every(clock, lookMs, () => {
    const now = aheadMs();
    const sleptMs = Math.min(now[0] - before[0], now[1] - before[1]);
    before = now;
    if (sleptMs >= sleepMsMin) onSlept(sleptMs);
  });
}
