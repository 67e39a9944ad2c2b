/**
 * Everything that time must do, in one binary heap on the monotonic clock: O(log n) to add, to
 * remove and to fire. One timer of the clock wakes it for the earliest; a turn fires a bounded
 * number, so that a crowd of deadlines never holds the loop.
 */
import type { Clock, Timer } from './clock.js';

export interface Deadline {
  /** Runs once, when it is due. */
  task(): void;
  /** Place in the heap, -1 while it is not in it. */
  place: number;
}

const firedPerTurnMax = 1_000;
/** Later than this, the loop was held or the process suspended. */
const heldMs = 100;

export class Deadlines {
  readonly #heap: Deadline[] = [];
  /** Of each in the heap when it is due: plain numbers, where a field would be an object of its own. */
  readonly #dues: number[] = [];
  #timer: Timer | undefined;
  #timerDue = Infinity;
  #isStopped = false;

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#heap.length;
  }

  /** Runs `task` once, at `due` in monotonic ms, never sooner. */
  at(due: number, task: () => void): Deadline {
    const deadline: Deadline = { task, place: -1 };
    this.set(deadline, due);
    return deadline;
  }

  /** For what is a deadline itself, instead of holding one: sets when it is due, or when from now on. */
  set(deadline: Deadline, due: number): void {
    this.remove(deadline);
    if (this.#isStopped) return;
    deadline.place = this.#heap.push(deadline) - 1;
    this.#dues.push(due);
    this.#rise(deadline);
    this.#arm();
  }

  /** Runs `task` once, `delayMs` of monotonic time from now, never sooner. */
  after(delayMs: number, task: () => void): Deadline {
    return this.at(this.clock.monotonic() + Math.max(0, delayMs), task);
  }

  /** Harmless on one that has fired, was removed or was stopped. */
  remove(deadline: Deadline | undefined): void {
    if (deadline === undefined || deadline.place < 0) return;
    const last = this.#heap.pop() as Deadline;
    const due = this.#dues.pop() as number;
    if (last !== deadline) {
      this.#put(last, due, deadline.place);
      this.#rise(last);
      this.#sink(last);
    }
    deadline.place = -1;
  }

  /** For good: what is set after it never falls, for what it would look at may be closed. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = Infinity;
    for (const deadline of this.#heap) deadline.place = -1;
    this.#heap.length = this.#dues.length = 0;
  }

  #arm(): void {
    const due = this.#dues[0];
    if (due === undefined || due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    this.#timer = this.clock.setTimer(due - this.clock.monotonic(), () => this.#wake());
  }

  /**
   * After a hold, what lies unread in the sockets is heard first: a heartbeat or a report that came in
   * time must not be too late because the gateway was.
   */
  #wake(): void {
    if (this.clock.monotonic() - this.#timerDue <= heldMs) return this.#fire();
    setImmediate(() => this.#fire());
  }

  #fire(): void {
    this.#timerDue = Infinity;
    const now = this.clock.monotonic();
    try {
      for (let fired = 0; fired < firedPerTurnMax; fired++) {
        const first = this.#heap[0];
        if (first === undefined || this.#dueAt(0) > now) break;
        this.remove(first);
        first.task();
      }
    } finally {
      this.#arm();
    }
  }

  #dueAt(place: number): number {
    return this.#dues[place] as number;
  }

  #rise(deadline: Deadline): void {
    while (deadline.place > 0) {
      const parent = (deadline.place - 1) >> 1;
      if (this.#dueAt(parent) <= this.#dueAt(deadline.place)) return;
      this.#swap(parent, deadline.place);
    }
  }

  #sink(deadline: Deadline): void {
    for (;;) {
      const left = 2 * deadline.place + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const isRight = right < this.#heap.length && this.#dueAt(right) < this.#dueAt(left);
      const smaller = isRight ? right : left;
      if (this.#dueAt(deadline.place) <= this.#dueAt(smaller)) return;
      this.#swap(deadline.place, smaller);
    }
  }

  #swap(a: number, b: number): void {
    const due = this.#dueAt(a);
    const deadline = this.#heap[a] as Deadline;
    this.#put(this.#heap[b] as Deadline, this.#dueAt(b), a);
    this.#put(deadline, due, b);
  }

  #put(deadline: Deadline, due: number, place: number): void {
    this.#heap[place] = deadline;
    this.#dues[place] = due;
    deadline.place = place;
  }
}
