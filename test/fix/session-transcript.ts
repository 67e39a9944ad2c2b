/**
 * Plays a transcript against a FIX session. `< ` is a message that comes in (its header is added unless it is there),
 * `+ ` lets seconds pass, `~ ` suspends the process for so many seconds, `! ` calls the session. Below each such
 * line stand all actions of the session, in order: `> ` for a message that it sends (without names and time), `= `
 * for any other action.
 */
import type { Test } from 'tap';
import { toFixTime } from '../../src/fix/fix-time.js';
import type { Field, FixMessage, ReceivedMessage } from '../../src/fix/message.js';
import type { SessionAction } from '../../src/fix/session-action.js';
import { FixSession, type SessionOptions } from '../../src/fix/session.js';
import { tags } from '../../src/fix/tags.js';
import { SimulatedClock } from '../support/simulated-clock.js';

export const names = { senderCompId: 'TW44', targetCompId: 'ISLD' } as const;
const ours: readonly number[] = [
  tags.SenderCompID,
  tags.TargetCompID,
  tags.SendingTime,
  tags.OrigSendingTime,
];

/** The lines in which a session asks for its logon. */
export const logonSent = `
  ! connect
  > 35=A|34=1|98=0|108=30`;

/** The lines that log a session on. */
export const logon = `${logonSent}
  < 35=A|34=1|98=0|108=30
  = logged_on`;

export interface Case {
  readonly text: string;
  readonly options?: Partial<SessionOptions>;
  /** The next numbers to send and to receive at the end of the transcript. */
  readonly out?: number;
  readonly in?: number;
}

export type Cases = Readonly<Record<string, Case>>;

export function playCases(t: Test, cases: Cases): void {
  for (const [name, { text, options, ...numbers }] of Object.entries(cases)) {
    t.test(name, async (t) => {
      const session = playTranscript(t, text, options);
      if (numbers.out !== undefined) t.equal(session.numbers.out, numbers.out, 'next to send');
      if (numbers.in !== undefined) t.equal(session.numbers.in, numbers.in, 'next to receive');
    });
  }
}

export function newSession(
  clock: SimulatedClock,
  options: Partial<SessionOptions> = {},
): FixSession {
  return new FixSession({
    ...names,
    beginString: 'FIX.4.4',
    heartBtIntSec: 30,
    resetOnLogon: false,
    confirmsLogon: false,
    headerFields: [],
    logonFields: () => [],
    supports: (type) => type === '8' || type === '9' || type === 'j',
    numbers: { out: 1, in: 1 },
    clock,
    ...options,
  });
}

export function playTranscript(
  t: Test,
  text: string,
  options: Partial<SessionOptions> = {},
): FixSession {
  const clock = new SimulatedClock();
  const session = newSession(clock, options);
  const lines = text.split('\n').map((line) => line.trim());
  let done: string[] = [];
  for (const line of [...lines.filter((line) => line !== ''), '. ']) {
    const [kind, rest] = [line[0] ?? '', line.slice(2)];
    if (kind === '>' || kind === '=') {
      t.equal(done.shift(), line);
      continue;
    }
    t.strictSame(done, [], `nothing else before ${line}`);
    if (kind === '<') done = session.received(incoming(rest, clock)).map(shown);
    else if (kind === '+') done = pass(session, clock, Number(rest));
    else if (kind === '~') {
      clock.elapse(Number(rest) * 1_000);
      done = session.tick().map(shown);
    } else if (kind === '!') done = call(session, rest).map(shown);
  }
  return session;
}

function pass(session: FixSession, clock: SimulatedClock, seconds: number): string[] {
  const done: string[] = [];
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000);
    done.push(...session.tick().map(shown));
  }
  return done;
}

function call(session: FixSession, what: string): SessionAction[] {
  if (what === 'connect') return session.connected();
  if (what === 'log out') return session.logOut();
  if (what === 'lose') return (session.lost(), []);
  return session.send('D', [[tags.ClOrdID, what]]);
}

/** @param text `8=` names another version, `52=+121` a time in seconds after ours. */
export function incoming(text: string, clock: SimulatedClock): ReceivedMessage {
  const fields = text.split('|').map((field): Field => {
    const [tag = '', value = ''] = field.split('=');
    const isTime = [tags.SendingTime, tags.OrigSendingTime].some((time) => time === Number(tag));
    const at = /^[+-]\d+$/.test(value) ? clock.now() + Number(value) * 1_000 : undefined;
    return [Number(tag), isTime && at !== undefined ? toFixTime(at) : value];
  });
  const given = (tag: number): string | undefined => fields.find(([known]) => known === tag)?.[1];
  const header: Field[] = [
    [tags.SenderCompID, names.targetCompId],
    [tags.TargetCompID, names.senderCompId],
    [tags.SendingTime, toFixTime(clock.now())],
  ];
  const body = fields.filter(([tag]) => tag !== tags.BeginString && tag !== tags.MsgType);
  return {
    beginString: given(tags.BeginString) ?? 'FIX.4.4',
    type: given(tags.MsgType) ?? '',
    fields: [...header.filter(([tag]) => given(tag) === undefined), ...body],
  };
}

function shown(action: SessionAction): string {
  switch (action.kind) {
    case 'send':
      return `> ${fieldsOf(action.message)}`;
    case 'deliver':
      return `= deliver ${fieldsOf(action.message)}`;
    case 'missed':
      return `= missed ${action.from}-${action.to}`;
    case 'end':
      return `= end ${action.reason}`;
    default:
      return `= ${action.kind}`;
  }
}

function fieldsOf({ type, fields }: FixMessage): string {
  const shownFields = fields.filter(([tag]) => !ours.includes(tag));
  return [`35=${type}`, ...shownFields.map(([tag, value]) => `${tag}=${value}`)].join('|');
}
