/**
 * Numbers under loss: a counterparty that keeps to the standard, connections that break at any message in either
 * direction, kills that fall back to the numbers that were durable. Each of its messages is taken exactly once and
 * in order, and no number of ours is used twice.
 */
import fc from 'fast-check';
import t from 'tap';
import { toFixTime } from '../../src/fix/fix-time.js';
import { numberOf, valueOf, type Field, type ReceivedMessage } from '../../src/fix/message.js';
import type { SessionAction } from '../../src/fix/session-action.js';
import type { FixSession } from '../../src/fix/session.js';
import { tags, types } from '../../src/fix/tags.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { names, newSession } from './session-transcript.js';

type Step =
  | { readonly do: 'report' | 'order' | 'heartbeat' | 'cut' | 'kill' }
  /** That many of the messages under way arrive, in this direction. */
  | { readonly do: 'toUs' | 'toThem'; readonly count: number };

const steps = fc.array(
  fc.oneof(
    fc
      .constantFrom('report', 'order', 'heartbeat', 'cut', 'kill')
      .map((name): Step => ({ do: name as 'cut' })),
    fc
      .record({ do: fc.constantFrom('toUs', 'toThem'), count: fc.integer({ min: 1, max: 6 }) })
      .map((step) => step as Step),
  ),
  { maxLength: 60 },
);

/** The counterparty: resends application messages, fills the rest. */
class Venue {
  out = 1;
  in = 1;
  reports: string[] = [];
  orders: string[] = [];
  readonly #sent: { type: string; fields: Field[] }[] = [];
  readonly wire: ReceivedMessage[] = [];
  readonly #clock: SimulatedClock;
  #isAsking = false;
  #isLoggedOn = false;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  send(type: string, fields: Field[]): void {
    this.#sent.push({ type, fields });
    this.#put(type, this.out++, fields);
  }

  report(): void {
    this.reports.push(`${this.reports.length + 1}`);
    this.send(types.ExecutionReport, [
      [tags.OrdStatus, '0'],
      [tags.ExecID, `${this.reports.length}`],
    ]);
  }

  connected(): void {
    this.#isAsking = false;
    this.#isLoggedOn = false;
  }

  take(message: ReceivedMessage): void {
    const seq = numberOf(message, tags.MsgSeqNum) as number;
    if (message.type === types.Logon) {
      this.#isLoggedOn = true;
      this.send(types.Logon, []);
    }
    if (message.type === types.ResendRequest)
      this.#resend(numberOf(message, tags.BeginSeqNo) as number);
    if (seq > this.in) {
      if (!this.#isAsking)
        this.send(types.ResendRequest, [
          [tags.BeginSeqNo, `${this.in}`],
          [tags.EndSeqNo, '0'],
        ]);
      this.#isAsking = true;
      return;
    }
    if (seq < this.in) return;
    this.in =
      message.type === types.SequenceReset ? (numberOf(message, tags.NewSeqNo) as number) : seq + 1;
    this.#isAsking = false;
    if (message.type === types.TestRequest) {
      this.send(types.Heartbeat, [[tags.TestReqID, valueOf(message, tags.TestReqID) as string]]);
    }
    if (message.type === types.NewOrderSingle)
      this.orders.push(valueOf(message, tags.ClOrdID) as string);
  }

  #resend(from: number): void {
    for (let seq = from; seq < this.out; seq++) {
      const { type, fields } = this.#sent[seq - 1] as { type: string; fields: Field[] };
      const dup: Field[] = [
        [tags.PossDupFlag, 'Y'],
        [tags.OrigSendingTime, toFixTime(this.#clock.now())],
      ];
      if (type === types.ExecutionReport) this.#put(type, seq, [...dup, ...fields]);
      else
        this.#put(types.SequenceReset, seq, [
          ...dup,
          [tags.GapFillFlag, 'Y'],
          [tags.NewSeqNo, `${seq + 1}`],
        ]);
    }
  }

  #put(type: string, seq: number, fields: readonly Field[]): void {
    // Before the logon it only takes a number, as on a line that breaks.
    if (!this.#isLoggedOn) return;
    const header: Field[] = [
      [tags.MsgSeqNum, `${seq}`],
      [tags.SenderCompID, names.targetCompId],
      [tags.TargetCompID, names.senderCompId],
      [tags.SendingTime, toFixTime(this.#clock.now())],
    ];
    this.wire.push({ beginString: 'FIX.4.4', type, fields: [...header, ...fields] });
  }
}

t.test('each message is taken once and in order, and no number is used twice', async () => {
  fc.assert(
    fc.property(steps, (plan) => {
      const clock = new SimulatedClock();
      const venue = new Venue(clock);
      let session: FixSession = newSession(clock, { confirmsLogon: true });
      const used = new Set<number>();
      const taken: string[] = [];
      let toThem: ReceivedMessage[] = [];
      let orders = 0;
      const carryOut = (actions: SessionAction[]): void => {
        for (const action of actions) {
          if (action.kind === 'deliver') taken.push(valueOf(action.message, tags.ExecID) as string);
          if (action.kind === 'end') throw new Error(`${action.reason}: ${action.text}`);
          if (action.kind !== 'send') continue;
          const seq = numberOf({ ...action.message }, tags.MsgSeqNum) as number;
          if (valueOf(action.message, tags.PossDupFlag) !== 'Y') {
            if (used.has(seq)) throw new Error(`${seq} is used twice`);
            used.add(seq);
          }
          toThem.push({ beginString: 'FIX.4.4', ...action.message });
        }
      };
      const cut = (): void => {
        session.lost();
        toThem = [];
        venue.wire.length = 0;
        venue.connected();
        carryOut(session.connected());
      };
      const arrive = (count: number, isToUs: boolean): void => {
        const wire = isToUs ? venue.wire : toThem;
        for (const message of wire.splice(0, count)) {
          if (isToUs) carryOut(session.received(message));
          else venue.take(message);
        }
      };
      cut();
      for (const step of plan) {
        if (step.do === 'toUs' || step.do === 'toThem') arrive(step.count, step.do === 'toUs');
        else if (step.do === 'report') venue.report();
        else if (step.do === 'heartbeat') venue.send(types.Heartbeat, []);
        else if (step.do === 'order') {
          if (session.isLoggedOn)
            carryOut(session.send(types.NewOrderSingle, [[tags.ClOrdID, `${++orders}`]]));
        } else {
          // What a kill leaves is what was durable: the numbers as they were after the last actions.
          if (step.do === 'kill')
            session = newSession(clock, { confirmsLogon: true, numbers: session.numbers });
          cut();
        }
      }
      // In the end all arrives; what is still missing is asked for within a heartbeat or two.
      for (let round = 0; round < 80; round++) {
        arrive(1_000, false);
        arrive(1_000, true);
        clock.advance(1_000);
        carryOut(session.tick());
        if (round % 20 === 0) venue.send(types.Heartbeat, []);
      }
      const isComplete = JSON.stringify(taken) === JSON.stringify(venue.reports);
      const isOnce = new Set(venue.orders).size === venue.orders.length;
      return isComplete && isOnce && session.numbers.out === venue.in;
    }),
  );
});
