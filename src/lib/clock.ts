/**
 * The only source of time. Wall time dates things; monotonic time measures and schedules them, so
 * that a step of the wall clock neither fires nor starves a deadline.
 */
import { dayMs } from './durations.js';
export interface Clock {
  /** Wall time in whole Unix milliseconds. */
  now(): number;
  /** Monotonic time in milliseconds, fractional, from an arbitrary origin. */
  monotonic(): number;
  /** Runs `task` once, `delayMs` of monotonic time from now; the timer never keeps the process up. */
  setTimer(delayMs: number, task: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Longest delay that `setTimeout` takes; a longer one would fire at once. */
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

/** Runs `task` every `intervalMs` until cancelled; the next run is set after the last has returned. */
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

/** Looks every 10 ms. @returns whether it came true within the time. */
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
let writtenDay = NaN;
let dayText = '';
let writtenMs = NaN;
let msText = '';

/**
 * `2026-01-31T12:00:00.000Z`. By hand, since each record and event carries several and a Date costs
 * 0.9 µs each: the day is written out once, the rest from tables, and what is dated alike is one text.
 */
export function toIsoTime(unixMs: number): string {
  if (unixMs === writtenMs) return msText;
  const day = Math.floor(unixMs / dayMs);
  if (day !== writtenDay) {
    dayText = new Date(day * dayMs).toISOString().slice(0, -'00:00:00.000Z'.length);
    writtenDay = day;
  }
  const ms = Math.floor(unixMs - day * dayMs);
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const time = `${twoDigits[hours]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  msText = `${dayText}${time}.${threeDigits[ms % 1000]}Z`;
  writtenMs = unixMs;
  return msText;
}

export function toIsoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : toIsoTime(unixMs);
}

function digits(count: number): string[] {
  return Array.from({ length: 10 ** count }, (_, number) => String(number).padStart(count, '0'));
}
