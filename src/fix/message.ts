/** A FIX message as its type and its fields in their order, and its bytes: length, checksum, delimiters. */
import { tags } from './tags.js';

export type Field = readonly [tag: number, value: string];

export interface FixMessage {
  readonly type: string;
  /** All but BeginString, BodyLength, MsgType and CheckSum. */
  readonly fields: readonly Field[];
}

/** A message that came in: well framed, its content not yet judged. */
export interface ReceivedMessage extends FixMessage {
  readonly beginString: string;
}

export const delimiter = 0x01;
const soh = '\x01';

/** @returns undefined when the field is missing or empty. */
export function valueOf(message: FixMessage, tag: number): string | undefined {
  const value = message.fields.find(([known]) => known === tag)?.[1];
  return value === '' ? undefined : value;
}

/** @returns the value of a field of type SeqNum or Length; undefined if it is missing or no whole number. */
export function numberOf(message: FixMessage, tag: number): number | undefined {
  const value = valueOf(message, tag);
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

export function encodeMessage(beginString: string, { type, fields }: FixMessage): Buffer {
  const body = Buffer.from(
    [[tags.MsgType, type] as Field, ...fields]
      .map(([tag, value]) => `${tag}=${value}${soh}`)
      .join(''),
  );
  const head = Buffer.from(
    `${tags.BeginString}=${beginString}${soh}${tags.BodyLength}=${body.length}${soh}`,
  );
  const sum = (sumOf(head) + sumOf(body)) % 256;
  const trailer = Buffer.from(`${tags.CheckSum}=${String(sum).padStart(3, '0')}${soh}`);
  return Buffer.concat([head, body, trailer]);
}

export function sumOf(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) sum += byte;
  return sum;
}

/** Makes a text of our own or of a bot the value of a field, in which a delimiter would begin another field. */
export function asValue(text: string): string {
  return text.replace(/[\p{Cc}]/gu, ' ');
}

/** @returns the field, unless it has no value. */
export function optional(tag: number, value: string | undefined): Field[] {
  return value === undefined || value === '' ? [] : [[tag, value]];
}

/** @returns the message for people: with `|` for each delimiter and `***` for secrets. */
export function shownMessage({ type, fields }: FixMessage): string {
  const secret: readonly number[] = [tags.Password, tags.RawData];
  return [[tags.MsgType, type] as Field, ...fields]
    .map(([tag, value]) => `${tag}=${secret.includes(tag) ? '***' : value}`)
    .join('|');
}
