/**
 * Provides time: wall time for timestamps, monotonic time for durations and timers, so that a step of the wall
 * clock neither fires nor delays a deadline. Everything else takes a Clock, so that tests can simulate one.
 */
import { dayMs } from './durations.js';

export interface Clock {
  /** Wall time in whole Unix milliseconds. */
  now(): number;
  /** Monotonic time in milliseconds, fractional, from an arbitrary origin. */
  monotonic(): number;
  /** Runs `task` once, `delayMs` of monotonic time from now; the timer does not keep the process alive. */
  setTimer(delayMs: number, task: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Longest delay that `setTimeout` supports; a longer one would fire at once. */
export const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  setTimer(delayMs, task) {
    const timeout = setTimeout(task, Math.min(Math.max(0, delayMs), longestDelayMs));
    timeout.unref();
    return {
      cancel: () => {
        clearTimeout(timeout);
      },
    };
  },
};

/** Runs `task` every `intervalMs` until cancelled. Schedules the next run first, in case `task` throws. */
export function every(clock: Clock, intervalMs: number, task: () => void): Timer {
  let timer = clock.setTimer(intervalMs, run);
  function run(): void {
    timer = clock.setTimer(intervalMs, run);
    task();
  }
  return {
    cancel: () => {
      timer.cancel();
    },
  };
}

/** Polls `isDone` every 10 ms. @returns whether it returned true before the timeout. */
export async function waitUntil(
  clock: Clock,
  isDone: () => boolean,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = clock.monotonic() + timeoutMs;
  while (!isDone()) {
    if (clock.monotonic() >= deadline) return false;
    await new Promise<void>((resolve) => clock.setTimer(10, resolve));
  }
  return true;
}

const twoDigits = digits(2);
const threeDigits = digits(3);
let cachedDay = NaN;
let dayText = '';
let cachedMs = NaN;
let msText = '';

/**
 * `2026-01-31T12:00:00.000Z`. Formatted without Date, which costs 0.9 µs per call and each record and event
 * holds several times: the day and the last result are cached, and digits come from tables.
 */
export function toIsoTime(unixMs: number): string {
  if (unixMs === cachedMs) return msText;
  const day = Math.floor(unixMs / dayMs);
  if (day !== cachedDay) {
    dayText = new Date(day * dayMs).toISOString().slice(0, -'00:00:00.000Z'.length);
    cachedDay = day;
  }
  const ms = Math.floor(unixMs - day * dayMs);
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const time = `${twoDigits[hours]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  msText = `${dayText}${time}.${threeDigits[ms % 1000]}Z`;
  cachedMs = unixMs;
  return msText;
}

export function toIsoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : toIsoTime(unixMs);
}

function digits(count: number): string[] {
  return Array.from({ length: 10 ** count }, (_, number) => String(number).padStart(count, '0'));
}
