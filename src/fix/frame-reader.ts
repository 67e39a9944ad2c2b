/**
 * Cuts a stream of bytes into FIX messages. What is garbled (wrong length, checksum or head) is passed over, as
 * the standard asks: its sequence number is then missing, and the session asks for it again. Owns the bytes of
 * the message that has not come whole, within a bound.
 */
import { dataFields, tags } from './tags.js';
import { delimiter, sumOf, type Field, type ReceivedMessage } from './message.js';

export type Frame =
  | { readonly kind: 'message'; readonly message: ReceivedMessage }
  | { readonly kind: 'garbled'; readonly reason: string };

const start = Buffer.from('8=FIX');
const equals = 0x3d;
/** `10=ddd` and its delimiter. */
const trailerBytes = 7;
/** BeginString and BodyLength with their delimiters; more is not a head. */
const headBytesMax = 40;
/** Far above any order message; a larger length is a damaged one, and would be waited for in vain. */
export const bodyBytesMax = 1 << 18;
/**
 * Tag of a field that has none. The session judges such a message: if it were passed over here, the session would
 * ask for it again, the venue would write it as badly again, and nothing behind it would ever be read.
 */
const noTag = 0;
const tagForm = /^(?:[1-9]\d{0,8}|0|-\d{1,9})$/;
const headForm = /^8=(FIX[^\x01]*)\x019=(\d{1,9})\x01/;

interface Cut {
  readonly frame: Frame;
  /** How many of the bytes the frame takes. */
  readonly length: number;
}

export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): Frame[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const frames: Frame[] = [];
    for (let cut = this.#cut(); cut !== undefined; cut = this.#cut()) {
      frames.push(cut.frame);
      this.#bytes = this.#bytes.subarray(cut.length);
    }
    return frames;
  }

  /** @returns undefined when more bytes are needed. */
  #cut(): Cut | undefined {
    const bytes = this.#bytes;
    if (bytes.length < start.length) return undefined;
    if (!bytes.subarray(0, start.length).equals(start)) return this.#skip('no message begins here');
    const head = headForm.exec(bytes.toString('latin1', 0, headBytesMax));
    if (head === null) {
      return bytes.length < headBytesMax
        ? undefined
        : this.#skip('the first two fields are not 8 and 9');
    }
    const headLength = head[0].length;
    const bodyLength = Number(head[2]);
    if (bodyLength > bodyBytesMax) return this.#skip('the body is too long');
    const end = headLength + bodyLength;
    if (bytes.length < end + trailerBytes) return undefined;
    const trailer = /^10=(\d{3})\x01$/.exec(bytes.toString('latin1', end, end + trailerBytes));
    if (trailer === null || bytes[end - 1] !== delimiter) return this.#skip('the length is wrong');
    const length = end + trailerBytes;
    if (sumOf(bytes.subarray(0, end)) % 256 !== Number(trailer[1])) {
      return garbled('the checksum is wrong', length);
    }
    const message = parseBody(head[1] as string, bytes.subarray(headLength, end));
    if (message === undefined) return garbled('the third field is not 35', length);
    return { frame: { kind: 'message', message }, length };
  }

  /** Goes on where the next message may begin: a wrong length must not swallow the messages that follow. */
  #skip(reason: string): Cut {
    const next = this.#bytes.indexOf(start, 1);
    return garbled(reason, next === -1 ? this.#bytes.length - start.length + 1 : next);
  }
}

function garbled(reason: string, length: number): Cut {
  return { frame: { kind: 'garbled', reason }, length };
}

/** @param body ends with a delimiter. */
function parseBody(beginString: string, body: Buffer): ReceivedMessage | undefined {
  const fields: Field[] = [];
  let dataLength: number | undefined;
  for (let at = 0; at < body.length;) {
    let end = body.indexOf(delimiter, at);
    const tagText = body.toString('latin1', at, at + body.subarray(at, end).indexOf(equals));
    const hasTag = tagForm.test(tagText);
    const tag = hasTag ? Number(tagText) : noTag;
    const valueAt = hasTag ? at + tagText.length + 1 : at;
    // Ignores a length that is wrong: some venues count characters instead of bytes.
    if (hasTag && body[valueAt + (dataLength ?? NaN)] === delimiter)
      end = valueAt + (dataLength as number);
    const value = body.toString('utf8', valueAt, end);
    const dataTag = dataFields.get(tag);
    const isNext = dataTag !== undefined && isAt(body, end + 1, `${dataTag}=`);
    dataLength = isNext && /^\d{1,6}$/.test(value) ? Number(value) : undefined;
    fields.push([tag, value]);
    at = end + 1;
  }
  const [first, ...rest] = fields;
  if (first?.[0] !== tags.MsgType) return undefined;
  return { beginString, type: first[1], fields: rest };
}

/** Decodes only as many bytes as the text has: decoding the rest of the body for each field would be quadratic. */
function isAt(body: Buffer, at: number, text: string): boolean {
  return body.toString('latin1', at, at + text.length) === text;
}
