/**
 * Orders in doubt, for which the venue is to be asked, and the questions that it has not answered. Owns both; a
 * question lives as long as the session and the sequence in which it was sent.
 */
import type { Clock } from '../lib/clock.js';

/** Waits before the first question on an order, between the first ones, and between later ones. */
export const askAfterMs = 10_000;
export const askAgainMs = 30_000;
export const askLaterMs = 600_000;
/** After so many questions people are told, as an answer may never come. */
export const firstAsks = 3;
/** A session with many open orders asks for them in pieces, so that no venue's limit of messages is hit. */
const asksPerTick = 20;

interface Doubted {
  /** Monotonic. */
  askAt: number;
  asks: number;
  /** Whether people were told. */
  isTold: boolean;
}

export interface DueQuestion {
  readonly clOrdId: string;
  /** Whether people are to be told: once for each doubt, however many sessions it lasts. */
  readonly isToBeTold: boolean;
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
      isTold: this.#doubted.get(clOrdId)?.isTold === true,
    });
  }

  /** Asks at once, unless an answer may come: each one that cannot be read would begin the questions anew. */
  suspect(clOrdId: string): void {
    const { asks, askAt } = this.#doubted.get(clOrdId) ?? { asks: Infinity, askAt: 0 };
    const isWaiting =
      asks <= firstAsks || askAt - this.#clock.monotonic() > askLaterMs - askAgainMs;
    if (!isWaiting) this.add(clOrdId, 0);
  }

  delete(clOrdId: string): void {
    this.#doubted.delete(clOrdId);
  }

  /** After a logon or a reset no earlier question is answered, and other messages may get its number. */
  forgetQuestions(): void {
    this.#questions.clear();
  }

  /** Drops orders that are no longer open. @returns the orders to ask for now. */
  due(isOpen: (clOrdId: string) => boolean): DueQuestion[] {
    const now = this.#clock.monotonic();
    const due: DueQuestion[] = [];
    for (const [clOrdId, doubted] of this.#doubted) {
      if (!isOpen(clOrdId)) this.#doubted.delete(clOrdId);
      else if (doubted.askAt <= now && due.length < asksPerTick) {
        const isLate = doubted.asks++ >= firstAsks;
        doubted.askAt = now + (isLate ? askLaterMs : askAgainMs);
        due.push({ clOrdId, isToBeTold: isLate && !doubted.isTold });
        doubted.isTold ||= isLate;
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
