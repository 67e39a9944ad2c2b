/** Prepared bytes in which only a number of ten digits changes from copy to copy. */
import { writeDigits } from './digits.js';
import { numberDigits, numberOrigin } from './sample-event.js';

export class NumberedBytes {
  readonly #template: Buffer;
  readonly #places: readonly number[];

  /** `bytes` carry `numberOrigin` wherever the number belongs. */
  constructor(bytes: Buffer) {
    const digits = String(numberOrigin);
    const places: number[] = [];
    for (let at = bytes.indexOf(digits); at >= 0; at = bytes.indexOf(digits, at + numberDigits)) {
      places.push(at);
    }
    this.#template = bytes;
    this.#places = places;
  }

  /** `count` copies in a row, numbered upwards from `first`. */
  copies(first: number, count: number): Buffer {
    const size = this.#template.length;
    const all = Buffer.allocUnsafe(size * count);
    for (let i = 0; i < count; i++) {
      this.#template.copy(all, i * size);
      for (const at of this.#places) writeDigits(all, i * size + at, numberDigits, first + i);
    }
    return all;
  }
}
