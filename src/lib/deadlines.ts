/**
 * Schedules deadlines on the monotonic clock, in one binary heap: add, remove and fire cost O(log n). One timer
 * of the clock fires for the earliest. Each turn of the event loop runs a bounded number of tasks, so that many
 * deadlines at once do not block the loop. Owns the heap for the life of the process.
 */
import type { Clock, Timer } from './clock.js';

export interface Deadline {
  /** Runs once, when the deadline is due. */
  task(): void;
  /** Index in the heap; -1 while it is not scheduled. */
  heapIndex: number;
}

/** Each may expire an execution that is read from disk first: together some ten milliseconds. */
const firedPerTurnMax = 256;
/** The same in time: a dead-man's switch takes ten times as long as an expiry. */
const firingMsMax = 4;
/**
 * A timer later than this means that the event loop was blocked or the process suspended. No more than the
 * inaccuracy of timers, since a pause of any length may end just after a deadline.
 */
export const stallMs = 2;
export const graceMsMax = 500;

export class Deadlines {
  readonly #heap: Deadline[] = [];
  /** Due times, parallel to the heap. V8 would allocate a heap number for each in a field of an object. */
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
    const deadline: Deadline = { task, heapIndex: -1 };
    this.set(deadline, due);
    return deadline;
  }

  /** Schedules or reschedules an object that is itself a Deadline. `due`: monotonic ms. */
  set(deadline: Deadline, due: number): void {
    this.remove(deadline);
    if (this.#isStopped) return;
    deadline.heapIndex = this.#heap.push(deadline) - 1;
    this.#dues.push(due);
    this.#siftUp(deadline);
    this.#arm();
  }

  /** Runs `task` once, `delayMs` of monotonic time from now, never sooner. */
  after(delayMs: number, task: () => void): Deadline {
    return this.at(this.clock.monotonic() + Math.max(0, delayMs), task);
  }

  /** Does nothing if the deadline has fired, was removed or was stopped. */
  remove(deadline: Deadline | undefined): void {
    if (deadline === undefined || deadline.heapIndex < 0) return;
    const last = this.#heap.pop() as Deadline;
    const due = this.#dues.pop() as number;
    if (last !== deadline) {
      this.#put(last, due, deadline.heapIndex);
      this.#siftUp(last);
      this.#siftDown(last);
    }
    deadline.heapIndex = -1;
  }

  /** Permanent: later calls of `set` do nothing, because a task could use a resource that is already closed. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = Infinity;
    for (const deadline of this.#heap) deadline.heapIndex = -1;
    this.#heap.length = this.#dues.length = 0;
  }

  #arm(): void {
    const due = this.#dues[0];
    if (due === undefined || due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    const now = this.clock.monotonic();
    const wakeAt = Math.max(due, now);
    this.#timer = this.clock.setTimer(wakeAt - now, () => this.#wake(wakeAt));
  }

  /**
   * After a stall, waits as long again before it fires, half a second at most: a heartbeat or the end of a commit
   * that came in time must not miss its deadline because the gateway was blocked, or suspended with its threads.
   */
  #wake(wakeAt: number, waitedUntil = -Infinity): void {
    const now = this.clock.monotonic();
    const lateMs = now - wakeAt;
    if (lateMs <= stallMs) return this.#fire(now);
    // Deadlines that have waited once do not wait for another stall: constant stalls would starve them.
    this.#fire(waitedUntil);
    // A turn fires a bounded number of the deadlines that have waited; the others do not wait again.
    const first = this.#dues[0] ?? Infinity;
    const hasMore = first <= waitedUntil;
    const graceMs = hasMore ? 0 : Math.min(lateMs, graceMsMax);
    const until = hasMore ? waitedUntil : now;
    // None falls within the grace, or there is none: a loop that is late every time sets no timer in vain.
    if (first > now + graceMs) return;
    this.#timer?.cancel();
    this.#timer = this.clock.setTimer(graceMs, () => this.#wake(now + graceMs, until));
    // Keeps a deadline that is added meanwhile from setting an earlier timer.
    this.#timerDue = -Infinity;
  }

  /** @param until monotonic ms; fires the deadlines due by then. */
  #fire(until: number): void {
    this.#timerDue = Infinity;
    const end = this.clock.monotonic() + firingMsMax;
    try {
      for (let fired = 0; fired < firedPerTurnMax; fired++) {
        const first = this.#heap[0];
        if (first === undefined || this.#dueAt(0) > until) break;
        if (this.clock.monotonic() >= end) break;
        this.remove(first);
        first.task();
      }
    } finally {
      this.#arm();
    }
  }

  #dueAt(index: number): number {
    return this.#dues[index] as number;
  }

  #siftUp(deadline: Deadline): void {
    while (deadline.heapIndex > 0) {
      const parent = (deadline.heapIndex - 1) >> 1;
      if (this.#dueAt(parent) <= this.#dueAt(deadline.heapIndex)) return;
      this.#swap(parent, deadline.heapIndex);
    }
  }

  #siftDown(deadline: Deadline): void {
    for (;;) {
      const left = 2 * deadline.heapIndex + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const isRight = right < this.#heap.length && this.#dueAt(right) < this.#dueAt(left);
      const smaller = isRight ? right : left;
      if (this.#dueAt(deadline.heapIndex) <= this.#dueAt(smaller)) return;
      this.#swap(deadline.heapIndex, smaller);
    }
  }

  #swap(a: number, b: number): void {
    const due = this.#dueAt(a);
    const deadline = this.#heap[a] as Deadline;
    this.#put(this.#heap[b] as Deadline, this.#dueAt(b), a);
    this.#put(deadline, due, b);
  }

  #put(deadline: Deadline, due: number, index: number): void {
    this.#heap[index] = deadline;
    this.#dues[index] = due;
    deadline.heapIndex = index;
  }
}
