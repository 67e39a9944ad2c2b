/** The system clock with timers that keep the process alive, so that a bot does not exit while it waits. */
import { longestDelayMs, systemClock, type Clock } from '../lib/clock.js';

export const botClock: Clock = {
  ...systemClock,
  setTimer(delayMs, task) {
    const timeout = setTimeout(task, Math.min(delayMs, longestDelayMs));
    return { cancel: () => clearTimeout(timeout) };
  },
};
