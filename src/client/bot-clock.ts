/** The system's clock with timers that keep the process up: a bot that waits has not finished. */
import { longestDelayMs, systemClock, type Clock } from '../lib/clock.js';

export const botClock: Clock = {
  ...systemClock,
  setTimer(delayMs, task) {
    const timeout = setTimeout(task, Math.min(delayMs, longestDelayMs));
    return { cancel: () => clearTimeout(timeout) };
  },
};
