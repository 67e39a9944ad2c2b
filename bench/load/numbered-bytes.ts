/** Prepared bytes in which only a number of ten digits changes from copy to copy. */
import { numberDigits, numberOrigin } from './sample-event.js';

export class NumberedBytes {
  readonly #template: Buffer;
  /** Where each of the number's last digits stands. */
  readonly #ends: readonly number[];

  /** `text` carries `numberOrigin` wherever the number belongs. */
  constructor(bytes: Buffer) {
    const digits = String(numberOrigin);
    const ends: number[] = [];
    for (let at = bytes.indexOf(digits); at >= 0; at = bytes.indexOf(digits, at + numberDigits)) {
      ends.push(at + numberDigits);
    }
    this.#template = bytes;
    this.#ends = ends;
  }

  /** `count` copies in a row, numbered upwards from `first`. */
  copies(first: number, count: number): Buffer {
    const size = this.#template.length;
    const all = Buffer.allocUnsafe(size * count);
    for (let i = 0; i < count; i++) {
      this.#template.copy(all, i * size);
      for (const end of this.#ends) writeDigits(all, i * size + end, first + i);
    }
    return all;
  }
}

function writeDigits(bytes: Buffer, end: number, number: number): void {
  let rest = number;
  for (let at = end - 1; at >= end - numberDigits; at--) {
    const tenth = Math.floor(rest / 10);
    bytes[at] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
}
