/**
 * The only source of time. Wall time dates things; monotonic time measures and schedules them, so
 * that a step of the wall clock neither fires nor starves a deadline.
 */
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

/** Moments written out last: most of what is dated together is dated alike. A power of two. */
const writtenMoments = 8;
const moments = new Float64Array(writtenMoments).fill(NaN);
const texts: string[] = [];

/** `2026-01-31T12:00:00.000Z` */
export function toIsoTime(unixMs: number): string {
  const place = unixMs % writtenMoments;
  if (moments[place] !== unixMs) {
    texts[place] = new Date(unixMs).toISOString();
    moments[place] = unixMs;
  }
  return texts[place] as string;
}
