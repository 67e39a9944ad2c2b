/**
 * A request's bytes with places in it that are patched in place: decimal digits and texts of a fixed
 * length. Everything is ASCII.
 */
import { writeDigits } from '../digits.js';

export class RequestBytes {
  readonly bytes: Buffer;

  constructor(head: readonly string[], body = '') {
    const framing =
      body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
    this.bytes = Buffer.from([...head, ...framing, '', body].join('\r\n'), 'latin1');
  }

  /** Where the mark stands, which is as long as what will replace it. It must be there once. */
  place(mark: string): number {
    const at = this.bytes.indexOf(mark, 0, 'latin1');
    if (at < 0 || this.bytes.includes(mark, at + 1, 'latin1')) {
      throw new Error(`the request does not hold "${mark}" exactly once`);
    }
    return at;
  }

  text(at: number, text: Uint8Array): void {
    this.bytes.set(text, at);
  }

  /** The last `width` digits of a whole number, with leading zeros. */
  digits(at: number, width: number, value: number): void {
    writeDigits(this.bytes, at, width, value);
  }
}

/** As long as an API key's secret. */
export const keyMark = 'svc_api_###########################################';
/** As long as a requestId. */
export const requestIdMark = 'req_##########################';
