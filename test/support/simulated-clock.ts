/**
 * A clock that stands still until a test moves it. Timers fire in the order in which they are due,
 * each at its own time, so that what they set in turn falls due within the same `advance`.
 */
import type { Clock, Timer } from '../../src/lib/clock.js';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
}

export class SimulatedClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #nextOrder = 0;
  readonly #timers = new Set<Due>();

  constructor(now = Date.UTC(2026, 0, 15, 12)) {
    this.#wall = now;
  }

  now(): number {
    return Math.floor(this.#wall);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(delayMs: number, task: () => void): Timer {
    const due: Due = {
      at: this.#monotonic + Math.max(0, delayMs),
      order: this.#nextOrder++,
      task,
    };
    this.#timers.add(due);
    return { cancel: () => void this.#timers.delete(due) };
  }

  /** Timers that wait. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** Moves wall and monotonic time together. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let due = this.#next(end); due !== undefined; due = this.#next(end)) {
      this.#timers.delete(due);
      this.#moveTo(due.at);
      due.task();
    }
    this.#moveTo(end);
  }

  /** Time passes within a turn of the event loop: timers that fall due wait for the next `advance`. */
  elapse(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Moves the wall clock alone, as an administrator or NTP does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /** A task may have moved the clock further: monotonic time never goes back. */
  #moveTo(monotonic: number): void {
    if (monotonic <= this.#monotonic) return;
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }

  #next(end: number): Due | undefined {
    let next: Due | undefined;
    for (const due of this.#timers) {
      if (due.at > end) continue;
      if (
        next === undefined ||
        due.at < next.at ||
        (due.at === next.at && due.order < next.order)
      ) {
        next = due;
      }
    }
    return next;
  }
}
