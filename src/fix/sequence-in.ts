/**
 * The incoming half of a session: the next number to receive, and messages that have come ahead of it. Keeps them
 * within a bound, so that they are taken in order when the gap is filled. Owns both.
 */
import type { ReceivedMessage } from './message.js';

/** Messages beyond it are dropped, and resent: a ResendRequest asks for all after its first number. */
const aheadMax = 10_000;

export class SequenceIn {
  next: number;
  readonly #ahead = new Map<number, ReceivedMessage>();
  /** The messages from `from` to `until`, which has come, were asked for. */
  #gap: { readonly from: number; readonly until: number; readonly askedAt: number } | undefined;

  constructor(next: number) {
    this.next = next;
  }

  /** Goes on at `next`; keeps the messages ahead of it. */
  skipTo(next: number): void {
    this.next = next;
    for (const seq of this.#ahead.keys()) if (seq < next) this.#ahead.delete(seq);
    if (this.#gap !== undefined && next > this.#gap.until) this.#gap = undefined;
  }

  /** Drops the messages that are kept, and the gap. */
  clear(): void {
    this.#ahead.clear();
    this.#gap = undefined;
  }

  keep(seq: number, message: ReceivedMessage): void {
    if (this.#ahead.size < aheadMax) this.#ahead.set(seq, message);
  }

  /** @returns the kept message that is next by now, if any. */
  take(): ReceivedMessage | undefined {
    const message = this.#ahead.get(this.next);
    this.#ahead.delete(this.next);
    return message;
  }

  /** @returns the numbers of kept messages below `end`, in order. */
  keptBelow(end: number): number[] {
    return [...this.#ahead.keys()].filter((seq) => seq < end).toSorted((a, b) => a - b);
  }

  get hasGap(): boolean {
    return this.#gap !== undefined;
  }

  /** Notes that the messages before `until` are asked for now. */
  ask(until: number, now: number): void {
    this.#gap = { from: this.next, until, askedAt: now };
  }

  /**
   * To be called about once a second. A gap that is being filled is not asked for again: over a slow line each
   * answer would wait behind the one before, and be longer than what the line carries until the next question.
   * @returns whether to ask, because nothing of the gap has come for `afterMs`.
   */
  asksAgain(now: number, afterMs: number): boolean {
    if (this.#gap === undefined) return false;
    const isBeingFilled = this.next > this.#gap.from;
    if (!isBeingFilled && now - this.#gap.askedAt < afterMs) return false;
    this.ask(this.#gap.until, now);
    return !isBeingFilled;
  }
}
