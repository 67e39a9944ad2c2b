/**
 * Puts the head or the body of an answer together as bytes, in memory that all answers share: text would be built
 * from pieces, joined, measured and copied by the native server, which copies bytes once. What `take` gives is
 * valid until the next `begin`.
 */
const encoder = new TextEncoder();
const firstBytes = 4_096;
const zero = 0x30;
const quote = 0x22;
const backslash = 0x5c;

/** A text that every answer of a kind has, encoded once. */
export function constantBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export class AnswerBytes {
  #bytes = new Uint8Array(firstBytes);
  #length = 0;
  /** By length: to make one costs more than to fill it. */
  #views: (Uint8Array | undefined)[] = [];

  begin(): this {
    this.#length = 0;
    return this;
  }

  constant(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  text(text: string): this {
    const { length } = text;
    // No UTF-16 unit takes more than three bytes.
    this.#reserve(length * 3);
    const start = this.#length;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) return this.#encode(text);
      this.#bytes[start + i] = unit;
    }
    this.#length = start + length;
    return this;
  }

  /** A text as JSON has it. */
  json(text: string): this {
    this.#reserve(text.length + 2);
    const start = this.#length + 1;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        return this.text(JSON.stringify(text));
      }
      this.#bytes[start + i] = unit;
    }
    this.#bytes[start - 1] = quote;
    this.#bytes[start + text.length] = quote;
    this.#length = start + text.length + 1;
    return this;
  }

  /** A header's value, in which nothing ends the line. */
  line(text: string): this {
    const start = this.#length;
    this.text(text);
    for (let i = start; i < this.#length; i++) {
      const byte = this.#bytes[i];
      if (byte === 0x0d || byte === 0x0a || byte === 0) this.#bytes[i] = 0x20;
    }
    return this;
  }

  /** @param number a whole number, not negative. */
  number(number: number): this {
    if (number > 999_999) return this.text(String(number));
    this.#reserve(6);
    let digits = 1;
    for (let rest = number; rest >= 10; rest = (rest / 10) | 0) digits++;
    this.#length += digits;
    let rest = number;
    for (let at = this.#length - 1; digits > 0; digits--) {
      this.#bytes[at--] = zero + (rest % 10);
      rest = (rest / 10) | 0;
    }
    return this;
  }

  take(): Uint8Array {
    return (this.#views[this.#length] ??= this.#bytes.subarray(0, this.#length));
  }

  #encode(text: string): this {
    const { written } = encoder.encodeInto(text, this.#bytes.subarray(this.#length));
    this.#length += written;
    return this;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
    this.#views = [];
  }
}
