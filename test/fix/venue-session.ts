/**
 * The venue's side of a FIX session, right by the specification: numbers over connections, resends, resets. Owns the
 * numbers and the sent messages, which live as long as the venue.
 */
import { toFixTime } from '../../src/fix/fix-time.js';
import { numberOf, shownMessage, valueOf, type ReceivedMessage } from '../../src/fix/message.js';
import { tags, types } from '../../src/fix/tags.js';
import { names as ours } from './session-transcript.js';
import type { Pipe, Rule, Surroundings } from './surroundings.js';

const names = { ...tags, CxlRejResponseTo: 434 };
type Name = keyof typeof names;
/** Fields of a message by their names; those that are undefined are left out. */
export type Said = Readonly<Partial<Record<Name, string | number | undefined>>>;

const heartbeatSec = 30;
/** ExecID of an answer to a question, which is no execution. */
export const statusExecId = '0';
/** SessionRejectReason: a tag appears more than once. */
const isTwice = '13';
/** Types that are not sent again: a gap fill takes their place. */
const passedOver = /^[01245A]$/;
const logon: Said = { EncryptMethod: '0', HeartBtInt: heartbeatSec };
const anew: Said = { ...logon, ResetSeqNumFlag: 'Y' };

export class VenueSession {
  /** Counts the resets: a number from before the latest one means nothing. */
  life = 1;
  readonly #world: Surroundings;
  readonly #onMessage: (message: ReceivedMessage, seq: number) => void;
  #out = 1;
  #in = 1;
  #sent: { readonly type: string; readonly said: Said }[] = [];
  readonly #ahead = new Map<number, ReceivedMessage>();
  /** The first number of the latest ResendRequest; 0 if that, or its answer, may have been lost. */
  #askedFrom = 0;
  #pipe: Pipe | undefined;
  #isLoggedOn = false;
  /** The venue has reset the sequences within the session, and reads nothing until that is answered. */
  #awaitsReset = false;
  /** The other side may not have heard of the latest reset: the next logon makes another one. */
  #isResetUnsure = false;
  /**
   * Whether the next report with news gets a field twice on its way: the desk must refuse it, and its content is
   * lost. An answer is spared: a desk asks only three times, and all three answers might be spoiled.
   */
  isNextSpoiled = false;
  #saidAt = 0;

  constructor(world: Surroundings, onMessage: (message: ReceivedMessage, seq: number) => void) {
    this.#world = world;
    this.#onMessage = onMessage;
  }

  /** Whether every message that has arrived is read. */
  get isIdle(): boolean {
    return (this.#pipe?.toVenue.length ?? 0) === 0;
  }

  accept(pipe: Pipe): void {
    this.drop();
    this.#pipe = pipe;
    this.#isResetUnsure ||= this.#awaitsReset;
    this.#awaitsReset = false;
    this.#ahead.clear();
    this.#askedFrom = 0;
  }

  drop(): void {
    if (this.#pipe !== undefined) this.#pipe.isVenueClosed = true;
    this.#pipe = undefined;
    this.#isLoggedOn = false;
  }

  /** Sends a message; without a connection the desk asks for it later. */
  say(type: string, said: Said = {}): void {
    this.#sent.push({ type, said });
    this.#write(type, this.#out++, said);
  }

  /** Reads the next message. */
  read(): void {
    const message = this.#pipe?.toVenue.shift();
    if (message !== undefined) this.#receive(message);
    else if (this.#pipe?.isTerminalClosed === true) this.drop();
  }

  tick(): void {
    const silentMs = this.#world.clock.monotonic() - this.#saidAt;
    if (this.#isLoggedOn && silentMs >= heartbeatSec * 1_000) this.say(types.Heartbeat);
  }

  /** The network breaks: a part of what was under way arrives, on either side. */
  cut(): void {
    const { chance } = this.#world;
    const pipe = this.#pipe;
    if (pipe === undefined) return;
    this.#world.note(() => 'the connection is cut');
    pipe.toTerminal.length = chance.between(0, pipe.toTerminal.length);
    pipe.toVenue.length = chance.between(0, pipe.toVenue.length);
    while (pipe.toVenue.length > 0 && !pipe.isVenueClosed) this.read();
    this.drop();
  }

  /** Garbles a message, so that its number is missing. Not a Logon, without which the connection would end. */
  lose(): void {
    const { chance } = this.#world;
    const queue = chance.happens(0.7) ? this.#pipe?.toTerminal : this.#pipe?.toVenue;
    if (queue === undefined || queue.length === 0) return;
    const at = chance.between(0, queue.length - 1);
    const lost = queue[at] as ReceivedMessage;
    if (lost.type === types.Logon) return;
    this.#world.note(() => `garbled: ${shownMessage(lost)}`);
    queue.splice(at, 1);
    this.#askedFrom = 0;
  }

  /** The venue resets both sequences within the session. */
  beginAnew(): void {
    if (!this.#isLoggedOn || this.#awaitsReset) return;
    this.#world.note(() => 'the venue begins anew within the session');
    this.reset(1);
    this.#awaitsReset = true;
    this.say(types.Logon, anew);
  }

  /** Sends a SequenceReset without gap fill, as after a disaster: the messages between are lost. */
  passOver(numbers: number): void {
    if (!this.#isLoggedOn || this.#awaitsReset) return;
    const next = this.#out + numbers;
    this.#write(types.SequenceReset, this.#out, { NewSeqNo: next });
    while (this.#sent.length < next - 1) this.#sent.push({ type: types.Heartbeat, said: {} });
    this.#out = next;
    this.#askedFrom = 0;
  }

  /** @param next number to receive. */
  reset(next: number): void {
    this.life++;
    this.#sent = [];
    this.#out = 1;
    this.#in = next;
    this.#ahead.clear();
    this.#askedFrom = 0;
  }

  #write(type: string, seq: number, said: Said): void {
    if (this.#pipe === undefined || !this.#isLoggedOn) return;
    this.#saidAt = this.#world.clock.monotonic();
    const SendingTime = toFixTime(this.#world.clock.now());
    const { senderCompId: TargetCompID, targetCompId: SenderCompID } = ours;
    const header: Said = { MsgSeqNum: seq, SenderCompID, TargetCompID, SendingTime };
    const fields = Object.entries({ ...header, ...said })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [names[name as Name], `${value}`] as const);
    const isNews = said.PossResend === undefined && said.ExecID !== statusExecId;
    if (this.isNextSpoiled && type === types.ExecutionReport && isNews) {
      this.isNextSpoiled = false;
      fields.push([tags.CumQty, '7'], [tags.CumQty, '8']);
    }
    this.#pipe.toTerminal.push({ beginString: 'FIX.4.4', type, fields });
  }

  #receive(message: ReceivedMessage): void {
    const seq = numberOf(message, tags.MsgSeqNum) ?? NaN;
    if (message.type === types.Logon) return this.#onLogon(message, seq);
    if (!this.#isLoggedOn) return this.#refuse('before a logon', message);
    this.#isResetUnsure = false;
    if (this.#awaitsReset) return;
    if (seq < this.#in) {
      if (valueOf(message, tags.PossDupFlag) !== 'Y') this.#refuse('too low', message);
      return;
    }
    // Answered ahead of its turn: both sides may lack messages, each waiting for the other.
    if (message.type === types.ResendRequest) this.#resend(message);
    if (seq > this.#in) return this.#onAhead(message, seq);
    for (let next: ReceivedMessage | undefined = message; next !== undefined;) {
      this.#take(next, this.#in);
      next = this.#ahead.get(this.#in);
    }
  }

  #refuse(why: string, message: ReceivedMessage): void {
    const rule: Rule = 'the session goes on by itself, and refuses nothing that is right';
    this.#world.breach(rule, `${why}, where ${this.#in} is next: ${shownMessage(message)}`);
  }

  #onLogon(message: ReceivedMessage, seq: number): void {
    const isReset = valueOf(message, tags.ResetSeqNumFlag) === 'Y';
    if (isReset && this.#isLoggedOn) {
      // The answer to the venue's own reset.
      this.#awaitsReset = false;
      this.#in = seq + 1;
      return;
    }
    this.#isLoggedOn = true;
    const { habits } = this.#world;
    const isOwn = this.#isResetUnsure || (habits.losesReports && this.#world.happens(0.05));
    if (isReset || isOwn) {
      this.#isResetUnsure ||= !isReset;
      this.reset(2);
      return this.say(types.Logon, anew);
    }
    if (seq < this.#in) return this.#refuse('a logon too low', message);
    this.say(types.Logon, logon);
    if (seq === this.#in) this.#in++;
    else this.#ask(0);
  }

  #onAhead(message: ReceivedMessage, seq: number): void {
    const { habits, chance } = this.#world;
    if (habits.keepsAhead) this.#ahead.set(seq, message);
    if (this.#askedFrom === this.#in) return;
    this.#ask(habits.keepsAhead ? chance.pick([0, seq - 1]) : 0);
  }

  #ask(to: number): void {
    this.#askedFrom = this.#in;
    this.say(types.ResendRequest, { BeginSeqNo: this.#in, EndSeqNo: to });
  }

  #take(message: ReceivedMessage, seq: number): void {
    this.#in = seq + 1;
    switch (message.type) {
      case types.Heartbeat:
      case types.ResendRequest:
        return;
      case types.SequenceReset:
        this.#in = numberOf(message, tags.NewSeqNo) ?? NaN;
        return;
      case types.TestRequest:
        return this.say(types.Heartbeat, { TestReqID: valueOf(message, tags.TestReqID) });
      case types.Logout:
        this.say(types.Logout);
        return this.drop();
      case types.Reject:
        // The desk refuses a report that was spoiled on its way.
        if (valueOf(message, tags.SessionRejectReason) === isTwice) return;
        return this.#refuse('a refusal', message);
      default:
        this.#onMessage(message, seq);
    }
  }

  #resend(request: ReceivedMessage): void {
    const OrigSendingTime = toFixTime(this.#world.clock.now());
    const again: Said = { PossDupFlag: 'Y', OrigSendingTime };
    let gapFrom: number | undefined;
    for (let seq = numberOf(request, tags.BeginSeqNo) ?? NaN; seq <= this.#out; seq++) {
      const sent = this.#world.habits.resends ? this.#sent[seq - 1] : undefined;
      const isResent = sent !== undefined && !passedOver.test(sent.type);
      if (!isResent && seq < this.#out) gapFrom ??= seq;
      else if (gapFrom !== undefined) {
        const fill: Said = { GapFillFlag: 'Y', NewSeqNo: seq };
        this.#write(types.SequenceReset, gapFrom, { ...again, ...fill });
        gapFrom = undefined;
      }
      if (isResent) this.#write(sent.type, seq, { ...again, ...sent.said });
    }
  }
}
