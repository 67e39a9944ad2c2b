/**
 * The incoming half of a session: the next number to receive, and what has come ahead of it. Messages after a gap
 * are kept within a bound, so that they are taken in order when the gap is filled. Owns both.
 */
import type { ReceivedMessage } from './message.js';

/** What is beyond is resent: a ResendRequest asks for all after its first number. */
const aheadMax = 10_000;

export class SequenceIn {
  next: number;
  readonly #ahead = new Map<number, ReceivedMessage>();
  /** Asked for up to `until`, which has come. */
  #gap: { readonly until: number; readonly askedAt: number } | undefined;

  constructor(next: number) {
    this.next = next;
  }

  /** Goes on at `next`; what is ahead of it stays. */
  skipTo(next: number): void {
    this.next = next;
    for (const seq of this.#ahead.keys()) if (seq < next) this.#ahead.delete(seq);
    if (this.#gap !== undefined && next > this.#gap.until) this.#gap = undefined;
  }

  /** Nothing is ahead, and nothing asked for. */
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

  /** What comes before `until` is asked for now. */
  ask(until: number, now: number): void {
    this.#gap = { until, askedAt: now };
  }

  /** Asks again, if what was asked for has not come for that long. @returns whether to. */
  asksAgain(now: number, afterMs: number): boolean {
    if (this.#gap === undefined || now - this.#gap.askedAt < afterMs) return false;
    this.ask(this.#gap.until, now);
    return true;
  }
}
