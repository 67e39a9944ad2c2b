/**
 * Orders in doubt, for which the venue is to be asked, and the questions that it has not answered. Owns both; a
 * question lives as long as the session and the sequence in which it was sent.
 */
import type { Clock } from '../lib/clock.js';

/** Waits before the first question on an order and between questions; after `asksMax` no answer will come. */
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
  /** ClOrdIDs by the MsgSeqNum of the status request. */
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

  /** Asks at once, unless the order is in doubt: each answer that cannot be read would begin the questions anew. */
  suspect(clOrdId: string): void {
    if (!this.#doubted.has(clOrdId)) this.add(clOrdId, 0);
  }

  delete(clOrdId: string): void {
    this.#doubted.delete(clOrdId);
  }

  /** After a logon or a reset no earlier question is answered, and other messages may get its number. */
  forgetQuestions(): void {
    this.#questions.clear();
  }

  /** Drops orders that are no longer open. @returns ClOrdIDs of the orders to ask for now. */
  due(isOpen: (clOrdId: string) => boolean): string[] {
    const now = this.#clock.monotonic();
    const due: string[] = [];
    for (const [clOrdId, doubted] of this.#doubted) {
      const isDue = doubted.askAt <= now;
      // After the last question the order stays in doubt for as long as an answer may take.
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

  /** @returns the ClOrdID of the order that the message with this number asked for. */
  askedBy(seq: number): string | undefined {
    return this.#questions.get(seq);
  }

  /** Removes the oldest question for the order: answers come in the order of the questions. @returns its number. */
  takeAnswered(clOrdId: string): number | undefined {
    for (const [seq, asked] of this.#questions) {
      if (asked !== clOrdId) continue;
      this.#questions.delete(seq);
      return seq;
    }
    return undefined;
  }

  /** The venue has not taken these messages: asks their questions again. */
  missed(isMissed: (seq: number) => boolean): void {
    for (const [seq, clOrdId] of this.#questions) {
      if (!isMissed(seq)) continue;
      this.#questions.delete(seq);
      this.add(clOrdId, 0);
    }
  }
}
