/**
 * A timer for an event that may have come in time: when the timer fires late, because the event loop was blocked or
 * the process suspended, it first gives the loop time to read what lies in the sockets, as `Deadlines` does.
 */
import type { Clock, Timer } from './clock.js';
import { graceMsMax, stallMs } from './deadlines.js';

export function setPatientTimer(clock: Clock, delayMs: number, task: () => void): Timer {
  const due = clock.monotonic() + delayMs;
  let timer = clock.setTimer(delayMs, () => {
    const lateMs = clock.monotonic() - due;
    if (lateMs <= stallMs) task();
    else timer = clock.setTimer(Math.min(lateMs, graceMsMax), task);
  });
  return { cancel: () => timer.cancel() };
}
