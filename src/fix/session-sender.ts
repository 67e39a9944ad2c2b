/** The outgoing half of a session: numbers messages and writes their headers. Owns the next number to send. */
import type { Clock } from '../lib/clock.js';
import { toFixTime } from './fix-time.js';
import {
  asValue,
  optional,
  valueOf,
  type Field,
  type FixMessage,
  type ReceivedMessage,
} from './message.js';
import { reasonCodeOf, rejectReasons, type Names, type Refusal } from './session-rules.js';
import { routes, tags, types } from './tags.js';

export interface SenderOptions extends Names {
  readonly beginString: string;
  readonly heartBtIntSec: number;
  /** Further fields of every header. */
  readonly headerFields: readonly Field[];
  /** Further fields of the Logon: credentials, which may sign its number and time. */
  readonly logonFields: (seq: number, sendingTime: string) => readonly Field[];
  readonly clock: Clock;
}

export class SessionSender {
  readonly #options: SenderOptions;
  readonly #onMessage: (message: FixMessage) => void;
  /** The next number. */
  next: number;
  /** Monotonic time of the latest message. */
  sentAt = 0;

  constructor(options: SenderOptions, next: number, onMessage: (message: FixMessage) => void) {
    this.#options = options;
    this.next = next;
    this.#onMessage = onMessage;
  }

  send(type: string, fields: readonly Field[] = []): void {
    this.#write(type, this.next++, this.#time(), fields);
  }

  logOn(isReset: boolean): void {
    const { heartBtIntSec, logonFields } = this.#options;
    const time = this.#time();
    const reset: Field[] = isReset ? [[tags.ResetSeqNumFlag, 'Y']] : [];
    const fields: Field[] = [
      [tags.EncryptMethod, '0'],
      [tags.HeartBtInt, `${heartBtIntSec}`],
      ...reset,
      ...logonFields(this.next, time),
    ];
    this.#write(types.Logon, this.next++, time, fields);
  }

  logOut(text?: string): void {
    this.send(types.Logout, text === undefined ? [] : [[tags.Text, asValue(text)]]);
  }

  /** Tells the counterparty that nothing will come again under the numbers up to `to`. */
  fillGap(from: number, to: number): void {
    this.#onMessage(this.gapFill(from, to));
  }

  gapFill(from: number, to = from): FixMessage {
    const time = this.#time();
    return this.#message(types.SequenceReset, from, time, [
      [tags.PossDupFlag, 'Y'],
      [tags.OrigSendingTime, time],
      [tags.GapFillFlag, 'Y'],
      [tags.NewSeqNo, `${to + 1}`],
    ]);
  }

  askAgain(from: number): void {
    this.send(types.ResendRequest, [
      [tags.BeginSeqNo, `${from}`],
      [tags.EndSeqNo, '0'],
    ]);
  }

  reject(message: ReceivedMessage, seq: number, { reason, tag }: Refusal): void {
    const refTag: Field[] = tag === undefined ? [] : [[tags.RefTagID, `${tag}`]];
    this.send(types.Reject, [
      ...routeBack(message),
      [tags.RefSeqNum, `${seq}`],
      [tags.Text, rejectReasons[reason].text],
      ...refTag,
      ...optional(tags.RefMsgType, asValue(message.type)),
      ...optional(tags.SessionRejectReason, reasonCodeOf(reason, this.#options.beginString)),
    ]);
  }

  rejectUnsupported(message: ReceivedMessage, seq: number): void {
    this.send(types.BusinessMessageReject, [
      ...routeBack(message),
      [tags.RefSeqNum, `${seq}`],
      [tags.RefMsgType, message.type],
      [tags.BusinessRejectReason, '3'],
      [tags.Text, 'Unsupported Message Type'],
    ]);
  }

  #time(): string {
    return toFixTime(this.#options.clock.now());
  }

  #write(type: string, seq: number, sendingTime: string, fields: readonly Field[]): void {
    this.#onMessage(this.#message(type, seq, sendingTime, fields));
  }

  #message(type: string, seq: number, sendingTime: string, fields: readonly Field[]): FixMessage {
    const { senderCompId, targetCompId, headerFields, clock } = this.#options;
    this.sentAt = clock.monotonic();
    const header: Field[] = [
      [tags.MsgSeqNum, `${seq}`],
      [tags.SenderCompID, senderCompId],
      [tags.SendingTime, sendingTime],
      [tags.TargetCompID, targetCompId],
      ...headerFields,
    ];
    return { type, fields: [...header, ...fields] };
  }
}

/** Each field once, although the message may be refused because it has one twice. */
function routeBack(message: ReceivedMessage): Field[] {
  return [...routes].flatMap(([tag, back]) => optional(back, valueOf(message, tag)));
}
