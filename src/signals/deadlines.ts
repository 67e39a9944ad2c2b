/**
 * Everything that time must do, in one binary heap on the monotonic clock: O(log n) to add, to
 * remove and to fire. One timer of the clock wakes it for the earliest; a turn fires a bounded
 * number, so that a crowd of deadlines never holds the loop.
 */
import type { Clock, Timer } from '../lib/clock.js';

export interface Deadline {
  readonly due: number;
  readonly task: () => void;
  /** Place in the heap, -1 once fired or removed. */
  place: number;
}

const firedPerTurnMax = 1_000;

export class Deadlines {
  readonly #heap: Deadline[] = [];
  #timer: Timer | undefined;
  #timerDue = Infinity;

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#heap.length;
  }

  /** Runs `task` once, at `due` in monotonic ms, never sooner. */
  at(due: number, task: () => void): Deadline {
    const deadline: Deadline = { due, task, place: this.#heap.length };
    this.#heap.push(deadline);
    this.#rise(deadline);
    this.#arm();
    return deadline;
  }

  /** Runs `task` once, `delayMs` of monotonic time from now, never sooner. */
  after(delayMs: number, task: () => void): Deadline {
    return this.at(this.clock.monotonic() + Math.max(0, delayMs), task);
  }

  /** Harmless on one that has fired, was removed or was stopped. */
  remove(deadline: Deadline | undefined): void {
    if (deadline === undefined || deadline.place < 0) return;
    const last = this.#heap.pop() as Deadline;
    if (last !== deadline) {
      this.#put(last, deadline.place);
      this.#rise(last);
      this.#sink(last);
    }
    deadline.place = -1;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = Infinity;
    for (const deadline of this.#heap) deadline.place = -1;
    this.#heap.length = 0;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || first.due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = first.due;
    this.#timer = this.clock.setTimer(first.due - this.clock.monotonic(), () => this.#fire());
  }

  #fire(): void {
    this.#timerDue = Infinity;
    const now = this.clock.monotonic();
    try {
      for (let fired = 0; fired < firedPerTurnMax; fired++) {
        const first = this.#heap[0];
        if (first === undefined || first.due > now) break;
        this.remove(first);
        first.task();
      }
    } finally {
      this.#arm();
    }
  }

  #rise(deadline: Deadline): void {
    while (deadline.place > 0) {
      const parent = this.#heap[(deadline.place - 1) >> 1] as Deadline;
      if (parent.due <= deadline.due) return;
      this.#swap(parent, deadline);
    }
  }

  #sink(deadline: Deadline): void {
    for (;;) {
      const left = this.#heap[2 * deadline.place + 1];
      if (left === undefined) return;
      const right = this.#heap[2 * deadline.place + 2];
      const smaller = right !== undefined && right.due < left.due ? right : left;
      if (deadline.due <= smaller.due) return;
      this.#swap(deadline, smaller);
    }
  }

  #swap(a: Deadline, b: Deadline): void {
    const place = a.place;
    this.#put(a, b.place);
    this.#put(b, place);
  }

  #put(deadline: Deadline, place: number): void {
    this.#heap[place] = deadline;
    deadline.place = place;
  }
}
