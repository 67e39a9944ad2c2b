/**
 * Takes the messages of a session that is logged on: in order, with gaps and what fills them, resets and refusals.
 * Owns nothing: the two halves of the session own the numbers.
 */
import { numberOf, valueOf, type ReceivedMessage } from './message.js';
import type { SequenceIn } from './sequence-in.js';
import type { SessionAction } from './session-action.js';
import { lowIn, type SessionEnd } from './session-end.js';
import { bodyRefusal, rejectReasons, repetitionRefusal, type Refusal } from './session-rules.js';
import type { SessionSender } from './session-sender.js';
import { tags, types } from './tags.js';

export interface SessionIntakeOptions {
  readonly in: SequenceIn;
  readonly out: SessionSender;
  readonly supports: (type: string) => boolean;
  readonly isOpen: () => boolean;
  /** Monotonic. */
  readonly now: () => number;
  readonly onAction: (action: SessionAction) => void;
  readonly onHeartbeat: (message: ReceivedMessage) => void;
  /** A gap fill passed over our messages, or a reset lost them: a question among them gets no answer. */
  readonly onPassedOver: () => void;
  readonly onLogout: (message: ReceivedMessage) => void;
  /** This side cannot go on. */
  readonly onBroken: (reason: SessionEnd['reason'], text: string) => void;
}

export class SessionIntake {
  readonly #options: SessionIntakeOptions;
  readonly #in: SequenceIn;
  readonly #out: SessionSender;

  constructor(options: SessionIntakeOptions) {
    this.#options = options;
    this.#in = options.in;
    this.#out = options.out;
  }

  accept(message: ReceivedMessage, seq: number, refusal: Refusal | undefined): void {
    this.#acceptOne(message, seq, refusal);
    this.#takeKept();
  }

  #acceptOne(message: ReceivedMessage, seq: number, refusal: Refusal | undefined): void {
    if (refusal !== undefined) return this.#refuse(message, seq, refusal);
    if (
      message.type === types.SequenceReset &&
      (valueOf(message, tags.GapFillFlag) ?? 'N') === 'N'
    ) {
      return this.#resetIn(message, seq);
    }
    // Some counterparties send a Logon again that the standard wants to be passed over by a gap fill.
    const isRepeated = valueOf(message, tags.PossDupFlag) === 'Y';
    const isReset = valueOf(message, tags.ResetSeqNumFlag) === 'Y';
    if (message.type === types.Logon && isReset && !isRepeated) return this.#resetBoth(message);
    if (seq < this.#in.next) return this.#acceptLow(message, seq);
    if (seq > this.#in.next) return this.#acceptHigh(message, seq);
    this.#acceptInOrder(message);
  }

  /** Accepts kept messages whose turn it is now. */
  #takeKept(): void {
    while (this.#options.isOpen()) {
      const next = this.#in.take();
      if (next === undefined) break;
      // A ResendRequest was answered when it came.
      if (next.type === types.ResendRequest) this.#in.skipTo(this.#in.next + 1);
      else this.#acceptInOrder(next);
    }
  }

  /** Begins both sequences anew: `out` is the next number to send, `next` the next to receive. */
  reset(out: number, next: number): void {
    this.#out.next = out;
    this.#in.next = next;
    this.#options.onAction({ kind: 'reset' });
  }

  /** Asks for the messages before `until`, which are missing. */
  ask(until: number): void {
    this.#in.ask(until, this.#options.now());
    this.#out.askAgain(this.#in.next);
  }

  #acceptLow(message: ReceivedMessage, seq: number): void {
    if (valueOf(message, tags.PossDupFlag) !== 'Y') {
      return this.#options.onBroken('sequence', lowIn(seq, this.#in.next));
    }
    const refusal = repetitionRefusal(message);
    if (refusal !== undefined) this.#reject(message, seq, refusal);
  }

  #acceptHigh(message: ReceivedMessage, seq: number): void {
    // Answered ahead of its turn: both sides may lack messages, each waiting for the other.
    if (message.type === types.ResendRequest && bodyRefusal(message) === undefined) {
      this.#fill(message, seq);
    }
    if (message.type === types.Logout) return this.#options.onLogout(message);
    this.#in.keep(seq, message);
    if (!this.#in.hasGap) this.ask(seq);
  }

  #acceptInOrder(message: ReceivedMessage): void {
    const seq = this.#in.next;
    const refusal = bodyRefusal(message);
    if (refusal !== undefined) return this.#refuse(message, seq, refusal);
    this.#in.skipTo(seq + 1);
    switch (message.type) {
      case types.Heartbeat:
        return this.#options.onHeartbeat(message);
      case types.Logon:
        return;
      case types.TestRequest: {
        const id = valueOf(message, tags.TestReqID) as string;
        return this.#out.send(types.Heartbeat, [[tags.TestReqID, id]]);
      }
      case types.ResendRequest:
        return this.#fill(message, seq);
      case types.SequenceReset:
        this.#skip(message, seq, seq + 1);
        // Told after the kept messages: a report among them may be older than one that was passed over.
        return this.#unread(message);
      case types.Logout:
        return this.#options.onLogout(message);
      default:
        if (message.type === types.Reject || this.#options.supports(message.type)) {
          this.#options.onAction({ kind: 'deliver', message });
        } else this.#out.rejectUnsupported(message, seq);
    }
  }

  /** Answers a ResendRequest: nothing of ours is worth sending twice, an order least of all. */
  #fill(message: ReceivedMessage, seq: number): void {
    const from = Math.max(1, numberOf(message, tags.BeginSeqNo) as number);
    const end = numberOf(message, tags.EndSeqNo) as number;
    const to = end === 0 || end >= this.#out.next ? this.#out.next - 1 : end;
    if (from > to) {
      return this.#reject(message, seq, { reason: 'valueOutOfRange', tag: tags.BeginSeqNo });
    }
    this.#out.fillGap(from, to);
    this.#options.onAction({ kind: 'missed', from, to });
    this.#options.onPassedOver();
  }

  /** A SequenceReset without gap fill acts whatever its own number. */
  #resetIn(message: ReceivedMessage, seq: number): void {
    const refusal = bodyRefusal(message);
    if (refusal !== undefined) return this.#reject(message, seq, refusal);
    const before = this.#in.next;
    this.#skip(message, seq, before);
    if (this.#in.next > before) this.#unread(message);
  }

  #skip(message: ReceivedMessage, seq: number, least: number): void {
    const next = numberOf(message, tags.NewSeqNo) as number;
    if (next < least) {
      return this.#reject(message, seq, { reason: 'valueOutOfRange', tag: tags.NewSeqNo });
    }
    // Takes the kept messages first: a venue that resends nothing passes over them, too.
    for (const kept of this.#in.keptBelow(next)) {
      if (kept < this.#in.next) continue;
      this.#in.skipTo(kept);
      this.#takeKept();
    }
    if (next > this.#in.next) this.#in.skipTo(next);
  }

  /** The counterparty resets both sequences within the session. */
  #resetBoth(message: ReceivedMessage): void {
    this.#unread(message);
    this.reset(1, 2);
    this.#in.clear();
    this.#out.logOn(true);
    this.#options.onPassedOver();
  }

  /** Refuses a bad message; if it was the next one, its number is used up. */
  #refuse(message: ReceivedMessage, seq: number, refusal: Refusal): void {
    if (seq === this.#in.next) {
      this.#in.skipTo(seq + 1);
      this.#unread(message);
    }
    this.#reject(message, seq, refusal);
  }

  /** Tells the owner, which may wait for the content of a message that never comes again. */
  #unread(message: ReceivedMessage): void {
    this.#options.onAction({ kind: 'unread', message });
  }

  #reject(message: ReceivedMessage, seq: number, refusal: Refusal): void {
    if (message.type !== types.Reject) this.#out.reject(message, seq, refusal);
    if (refusal.ends === true)
      this.#options.onBroken('protocol', rejectReasons[refusal.reason].text);
  }
}
