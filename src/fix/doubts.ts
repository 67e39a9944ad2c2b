/**
 * Which orders the venue is to be asked for, and what it is being asked. Owns both, by ClOrdID; a question lives as
 * long as the session and the sequence that it was asked in.
 */
import type { Clock } from '../lib/clock.js';

/** An order without an answer for that long is asked for, and again; then the venue is not going to answer. */
export const askAfterMs = 10_000;
export const askAgainMs = 30_000;
const asksMax = 3;
/** A session with many open orders asks for them in pieces, so that no venue's limit of messages is hit. */
const asksPerTick = 20;

interface Doubted {
  /** Monotonic. */
  askAt: number;
  asks: number;
}

export class Doubts {
  readonly #clock: Clock;
  readonly #doubted = new Map<string, Doubted>();
  /** By MsgSeqNum of the status request. */
  readonly #questions = new Map<number, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(clOrdId: string, afterMs: number): void {
    this.#doubted.set(clOrdId, {
      askAt: this.#clock.monotonic() + afterMs,
      asks: 0,
    });
  }

  /** Asks at once, but for one that is in doubt already: answers that cannot be read would ask for ever. */
  suspect(clOrdId: string): void {
    if (!this.#doubted.has(clOrdId)) this.add(clOrdId, 0);
  }

  delete(clOrdId: string): void {
    this.#doubted.delete(clOrdId);
  }

  /** Questions of an earlier session, or from before a reset within it, get no answer; their numbers are others' then. */
  forgetQuestions(): void {
    this.#questions.clear();
  }

  /** @returns the orders to ask for now. An order that is not open any more is in no doubt. */
  due(isOpen: (clOrdId: string) => boolean): string[] {
    const now = this.#clock.monotonic();
    const due: string[] = [];
    for (const [clOrdId, doubted] of this.#doubted) {
      const isDue = doubted.askAt <= now;
      // Asked for the last time, it stays in doubt for as long as an answer may take.
      if (!isOpen(clOrdId) || (isDue && doubted.asks >= asksMax)) this.#doubted.delete(clOrdId);
      else if (isDue && due.length < asksPerTick) {
        doubted.asks++;
        doubted.askAt = now + askAgainMs;
        due.push(clOrdId);
      }
    }
    return due;
  }

  noteAsked(seq: number, clOrdId: string): void {
    this.#questions.set(seq, clOrdId);
  }

  /** @returns the order that the message with this number asked for. */
  askedBy(seq: number): string | undefined {
    return this.#questions.get(seq);
  }

  /** @returns the number of the oldest question for the order: answers come in the order of the questions. */
  takeAnswered(clOrdId: string): number | undefined {
    for (const [seq, asked] of this.#questions) {
      if (asked !== clOrdId) continue;
      this.#questions.delete(seq);
      return seq;
    }
    return undefined;
  }

  /** The venue has not taken these messages: what they asked is asked again. */
  missed(isMissed: (seq: number) => boolean): void {
    for (const [seq, clOrdId] of this.#questions) {
      if (!isMissed(seq)) continue;
      this.#questions.delete(seq);
      this.add(clOrdId, 0);
    }
  }
}
