/**
 * The least of an HTTP parser that a load generator can do with: status and Content-Length of one
 * answer at a time, found by native searches, nothing copied unless a head comes in pieces. What it
 * does not understand is an error, never a wrong count.
 */
const headEnd = Buffer.from('\r\n\r\n');
/** As native servers write it, and as Node's own does in some frameworks. */
const lengthNames = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];
/** `HTTP/1.1 200` */
const statusAt = 9;
const zero = 48;
const nine = 57;

export class AnswerReader {
  /** Bytes of the body that are still to come. */
  #missing = 0;
  #status = 0;
  /** The beginning of a head that came in pieces. */
  #begun: Buffer | undefined;

  /**
   * @param chunk valid up to `length`; may hold anything behind it.
   * @returns the answer's status once it is whole, and 0 before. Throws when the bytes are no answer.
   */
  read(chunk: Buffer, length: number): number {
    if (this.#missing > 0) return this.#take(length);
    if (this.#begun === undefined) return this.#readHead(chunk, length);
    const whole = Buffer.concat([this.#begun, chunk.subarray(0, length)]);
    this.#begun = undefined;
    return this.#readHead(whole, whole.length);
  }

  #readHead(chunk: Buffer, length: number): number {
    const end = chunk.indexOf(headEnd);
    if (end < 0 || end + headEnd.length > length) {
      this.#begun = Buffer.from(chunk.subarray(0, length));
      return 0;
    }
    this.#status = numberAt(chunk, statusAt);
    this.#missing = bodyLength(chunk, end);
    return this.#take(length - end - headEnd.length);
  }

  #take(length: number): number {
    if (length > this.#missing) throw new Error('more came than the answer is long');
    this.#missing -= length;
    return this.#missing === 0 ? this.#status : 0;
  }
}

function bodyLength(chunk: Buffer, end: number): number {
  for (const name of lengthNames) {
    const at = chunk.indexOf(name);
    if (at >= 0 && at < end) return numberAt(chunk, at + name.length);
  }
  throw new Error(`an answer without a length: ${chunk.subarray(0, end).toString('latin1')}`);
}

function numberAt(chunk: Buffer, from: number): number {
  let value = 0;
  let at = from;
  for (; isDigit(chunk[at]); at++) value = value * 10 + (chunk[at] as number) - zero;
  if (at === from) throw new Error('there is no number where the answer should have one');
  return value;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}
