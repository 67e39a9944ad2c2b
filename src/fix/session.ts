/**
 * The FIX session of an initiator: logon, sequence numbers, heartbeats, resends, logout. Pure: messages and
 * ticks of the clock go in, actions come out, in order; its owner makes `numbers` durable before it carries out
 * the sends. Never sends an application message again: a ResendRequest is answered by a gap fill, and its owner
 * is told what the counterparty lacks.
 */
import { numberOf, valueOf, type Field, type FixMessage, type ReceivedMessage } from './message.js';
import { SequenceIn } from './sequence-in.js';
import type { SequenceNumbers, SessionAction } from './session-action.js';
import { lowIn, lowOut, saysLow, type SessionEnd } from './session-end.js';
import { SessionIntake } from './session-intake.js';
import { SessionPulse } from './session-pulse.js';
import { headerRefusal, rejectReasons, type Refusal } from './session-rules.js';
import { SessionSender, type SenderOptions } from './session-sender.js';
import { tags, types } from './tags.js';

export interface SessionOptions extends SenderOptions {
  readonly resetOnLogon: boolean;
  /**
   * Whether the session counts as logged on only once a TestRequest is answered: a counterparty that lacks messages
   * asks for them first, and the gap fill that answers it would pass over an order that was sent meanwhile.
   */
  readonly confirmsLogon: boolean;
  /** Application messages that the owner takes; others are refused as unsupported. */
  readonly supports: (type: string) => boolean;
  readonly numbers: SequenceNumbers;
}

const logonTimeoutMs = 10_000;
const logoutTimeoutMs = 2_000;

export class FixSession {
  readonly #options: SessionOptions;
  readonly #out: SessionSender;
  readonly #in: SequenceIn;
  readonly #intake: SessionIntake;
  readonly #pulse: SessionPulse;
  #state: 'closed' | 'logon_sent' | 'active' | 'logout_sent' = 'closed';
  #actions: SessionAction[] = [];
  /** The TestRequest that must be answered before the session counts as logged on. */
  #confirmation: { readonly id: string; askedAt: number } | undefined;
  #logoutSentAt = 0;
  /** Unix ms. */
  #connectedAt = 0;

  constructor(options: SessionOptions) {
    const { numbers, clock, supports } = options;
    this.#options = options;
    this.#pulse = new SessionPulse(clock, options.heartBtIntSec);
    this.#in = new SequenceIn(numbers.in);
    this.#out = new SessionSender(options, numbers.out, (message) => {
      this.#actions.push({ kind: 'send', message });
    });
    this.#intake = new SessionIntake({
      in: this.#in,
      out: this.#out,
      supports,
      isOpen: () => this.#state !== 'closed',
      now: () => clock.monotonic(),
      onAction: (action) => void this.#actions.push(action),
      onHeartbeat: (message) => this.#onHeartbeat(message),
      onPassedOver: () => {
        if (this.#confirmation !== undefined) this.#confirm();
      },
      onLogout: (message) => this.#answerLogout(message),
      onBroken: (reason, text) => this.#breakOff(reason, text),
    });
  }

  get numbers(): SequenceNumbers {
    return { out: this.#out.next, in: this.#in.next };
  }

  get isLoggedOn(): boolean {
    return this.#state === 'active' && this.#confirmation === undefined;
  }

  /** A connection stands: logs on. */
  connected(): SessionAction[] {
    const { resetOnLogon } = this.#options;
    this.#state = 'logon_sent';
    this.#connectedAt = this.#options.clock.now();
    this.#in.clear();
    this.#pulse.heard();
    if (resetOnLogon) this.#intake.reset(1, 1);
    this.#out.logOn(resetOnLogon);
    return this.#taken();
  }

  /** The connection is gone, without a word or after an `end`. */
  lost(): void {
    this.#state = 'closed';
  }

  received(message: ReceivedMessage): SessionAction[] {
    if (this.#state !== 'closed') {
      this.#pulse.heard();
      this.#accept(message);
    }
    return this.#taken();
  }

  /** Sends an application message, only while logged on. Its number is `numbers.out` before the call. */
  send(type: string, fields: readonly Field[]): SessionAction[] {
    this.#out.send(type, fields);
    return this.#taken();
  }

  /** @returns the gap fill to send in place of a message that must no longer leave. */
  inPlaceOf(message: FixMessage): FixMessage {
    return this.#out.gapFill(numberOf(message, tags.MsgSeqNum) as number);
  }

  logOut(): SessionAction[] {
    if (this.#state === 'active') {
      this.#out.logOut();
      this.#logoutSentAt = this.#options.clock.monotonic();
      this.#state = 'logout_sent';
    } else this.#end('logged_out', 'not logged on');
    return this.#taken();
  }

  /** To be called about once a second. */
  tick(): SessionAction[] {
    const now = this.#options.clock.monotonic();
    if (this.#state === 'logon_sent' && this.#pulse.silentMs >= logonTimeoutMs) {
      this.#end('silent', 'the counterparty does not answer the logon');
    } else if (this.#state === 'logout_sent' && now - this.#logoutSentAt >= logoutTimeoutMs) {
      this.#end('logged_out', 'the counterparty does not answer the logout');
    } else if (this.#state === 'active') this.#beat(now);
    return this.#taken();
  }

  #beat(now: number): void {
    // The answer comes behind all that the counterparty sends again, which may take long over a slow line.
    if (this.#confirmation !== undefined && this.#in.hasGap) this.#confirmation.askedAt = now;
    if (this.#confirmation !== undefined && now - this.#confirmation.askedAt >= logonTimeoutMs) {
      return this.#end(
        'silent',
        'the counterparty does not answer the TestRequest after the logon',
      );
    }
    switch (this.#pulse.beat(now - this.#out.sentAt)) {
      case 'ended':
        return this.#end(
          'silent',
          `the counterparty has sent nothing for ${Math.round(this.#pulse.silentMs / 1_000)} s`,
        );
      case 'test':
        this.#out.send(types.TestRequest, [[tags.TestReqID, `T${this.#out.next}`]]);
        break;
      case 'heartbeat':
        this.#out.send(types.Heartbeat);
        break;
      case 'none':
    }
    if (!this.#in.asksAgain(now, this.#options.heartBtIntSec * 1_000)) return;
    if (this.#confirmation === undefined) this.#out.askAgain(this.#in.next);
    // Until the logon is confirmed no order leaves: people must be told, and the next logon asks again.
    else this.#end('silent', 'the counterparty does not send again what is missing');
  }

  #accept(message: ReceivedMessage): void {
    const { beginString, clock } = this.#options;
    if (message.beginString !== beginString) {
      const text = `Incorrect BeginString: ${message.beginString}, not ${beginString}`;
      return this.#breakOff('protocol', text);
    }
    const seq = numberOf(message, tags.MsgSeqNum);
    if (seq === undefined) return this.#breakOff('protocol', 'MsgSeqNum is missing');
    const refusal = headerRefusal(message, this.#options, clock.now(), this.#connectedAt);
    if (this.#state === 'logon_sent') return this.#acceptFirst(message, seq, refusal);
    this.#intake.accept(message, seq, refusal);
  }

  /** The answer to the logon. */
  #acceptFirst(message: ReceivedMessage, seq: number, refusal: Refusal | undefined): void {
    if (message.type === types.Logout || message.type === types.Reject) {
      if (seq === this.#in.next) this.#in.next++;
      const text = valueOf(message, tags.Text) ?? 'no reason given';
      const said = `The counterparty refuses the logon: ${text}.`;
      if (saysLow(text)) this.#end('sequence', `${said} ${lowOut(this.#out.next)}`);
      else this.#end('refused', said);
      return;
    }
    if (message.type !== types.Logon) {
      return this.#end('protocol', 'the first message is not a Logon');
    }
    if (refusal !== undefined) {
      return this.#end('refused', rejectReasons[refusal.reason].text);
    }
    const isReset = valueOf(message, tags.ResetSeqNumFlag) === 'Y';
    // The counterparty begins both sequences anew, and counts our logon as number 1.
    if (isReset && !this.#options.resetOnLogon) this.#intake.reset(2, 1);
    if (seq < this.#in.next) return this.#breakOff('sequence', lowIn(seq, this.#in.next));
    this.#state = 'active';
    if (seq === this.#in.next) this.#in.next++;
    else this.#intake.ask(seq);
    if (this.#options.confirmsLogon) this.#confirm();
    else this.#actions.push({ kind: 'logged_on' });
  }

  #confirm(): void {
    const id = `T${this.#out.next}`;
    this.#confirmation = { id, askedAt: this.#options.clock.monotonic() };
    this.#out.send(types.TestRequest, [[tags.TestReqID, id]]);
  }

  #onHeartbeat(message: ReceivedMessage): void {
    // Told after the Logout of this side, the owner would take orders that can no longer leave.
    if (this.#confirmation === undefined || this.#state !== 'active') return;
    if (valueOf(message, tags.TestReqID) !== this.#confirmation.id) return;
    this.#confirmation = undefined;
    this.#actions.push({ kind: 'logged_on' });
  }

  #answerLogout(message: ReceivedMessage): void {
    if (this.#state === 'active') this.#out.logOut();
    this.#end('logged_out', valueOf(message, tags.Text) ?? 'the counterparty has logged out');
  }

  /** This side cannot go on, and does not wait for an answer. */
  #breakOff(reason: SessionEnd['reason'], text: string): void {
    this.#out.logOut(text);
    this.#end(reason, text);
  }

  #end(reason: SessionEnd['reason'], text: string): void {
    this.#state = 'closed';
    this.#actions.push({ kind: 'end', reason, text });
  }

  #taken(): SessionAction[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }
}
