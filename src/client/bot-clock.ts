/** The system's clock with timers that keep the process up: a bot that waits has not finished. */
import { systemClock, type Clock } from '../lib/clock.js';

/** Longest delay that `setTimeout` takes; a longer one would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const botClock: Clock = {
  ...systemClock,
  setTimer(delayMs, task) {
    const timeout = setTimeout(task, Math.min(delayMs, longestDelayMs));
    return { cancel: () => clearTimeout(timeout) };
  },
};
