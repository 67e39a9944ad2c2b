/**
 * Builds a text as bytes, which native code copies once; it would join, measure and copy a string built from
 * pieces. The result of `take` is valid until the next `begin`.
 */
const encoder = new TextEncoder();
const firstBytes = 4_096;
const zero = 0x30;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const point = 0x2e;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Native code is faster at texts longer than this. */
const shortMax = 64;
/** Views of up to this many bytes are kept. */
const viewMax = 4_096;
const million = 1_000_000;
/** The text of a smaller number has an exponent. */
const plainMin = 0.000001;
/** Most decimals of a price. */
const decimalsMax = 8;

/** Encodes a text that is used many times. */
export function constantBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export class TextBytes {
  #bytes = new Uint8Array(firstBytes);
  /** The same memory, for native code that writes texts. */
  #buffer = Buffer.from(this.#bytes.buffer);
  #length = 0;
  /** The millions of a time, which change every 17 minutes. */
  #latestMillions = 0;
  #millionsDigits = '0';
  /** Views by their length: making one costs more than filling it. */
  #views: (Uint8Array | undefined)[] = [];

  begin(): this {
    this.#length = 0;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  text(text: string): this {
    const { length } = text;
    // No UTF-16 unit takes more than three bytes.
    this.#reserve(length * 3);
    if (length > shortMax) return this.#encode(text);
    const bytes = this.#bytes;
    const start = this.#length;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) return this.#encode(text);
      bytes[start + i] = unit;
    }
    this.#length = start + length;
    return this;
  }

  /** A text as a JSON string. */
  json(text: string): this {
    const { length } = text;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    const start = this.#length + 1;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        return this.text(JSON.stringify(text));
      }
      bytes[start + i] = unit;
    }
    bytes[start - 1] = quote;
    bytes[start + length] = quote;
    this.#length = start + length + 1;
    return this;
  }

  /** A header's value; characters that would end the line become spaces. */
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
    if (number < million) return this.#digits(number);
    const millions = Math.floor(number / million);
    if (millions >= million * 1_000) return this.text(String(number));
    if (millions !== this.#latestMillions) {
      this.#latestMillions = millions;
      this.#millionsDigits = String(millions);
    }
    return this.text(this.#millionsDigits).#lastDigits(number - millions * million, 6);
  }

  /** A value as an element of a JSON list, where a value that JSON does not know is null. */
  value(value: unknown): this {
    if (typeof value === 'string') return this.json(value);
    if (value === null || value === undefined) return this.#null();
    if (value === true) return this.text('true');
    if (value === false) return this.text('false');
    if (typeof value === 'number' && Number.isFinite(value)) {
      const isWhole = value >= 0 && Number.isSafeInteger(value);
      return isWhole ? this.number(value) : this.#decimal(value);
    }
    if (Array.isArray(value)) return this.list(value);
    return this.text(JSON.stringify(value));
  }

  #null(): this {
    this.#reserve(4);
    const bytes = this.#bytes;
    const at = this.#length;
    bytes[at] = 0x6e;
    bytes[at + 1] = 0x75;
    bytes[at + 2] = 0x6c;
    bytes[at + 3] = 0x6c;
    this.#length = at + 4;
    return this;
  }

  /** The shortest text that means the number; most prices have few decimals. */
  #decimal(number: number): this {
    if (number < plainMin || number >= million) return this.text(String(number));
    let scale = 1;
    for (let decimals = 1; decimals <= decimalsMax; decimals++) {
      scale *= 10;
      const scaled = Math.round(number * scale);
      // The quotient is rounded as a reader of the decimals rounds, so an equal one means an exact text.
      if (scaled / scale !== number) continue;
      const whole = Math.floor(number);
      return this.#digits(whole).byte(point).#lastDigits(scaled - whole * scale, decimals);
    }
    return this.text(String(number));
  }

  /** @param number below 2^31; with leading zeros. */
  #lastDigits(number: number, count: number): this {
    this.#reserve(count);
    let rest = number | 0;
    for (let at = this.#length + count - 1; at >= this.#length; at--) {
      this.#bytes[at] = zero + (rest % 10);
      rest = (rest / 10) | 0;
    }
    this.#length += count;
    return this;
  }

  /** A list as JSON text. */
  list(values: readonly unknown[]): this {
    this.byte(openBracket);
    for (let i = 0; i < values.length; i++) {
      if (i > 0) this.byte(comma);
      this.value(values[i]);
    }
    return this.byte(closeBracket);
  }

  byte(byte: number): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
    return this;
  }

  /** @param number below a million. */
  #digits(number: number): this {
    let count = 1;
    for (let rest = number; rest >= 10; rest = (rest / 10) | 0) count++;
    return this.#lastDigits(number, count);
  }

  take(): Uint8Array {
    if (this.#length > viewMax) return this.#bytes.subarray(0, this.#length);
    return (this.#views[this.#length] ??= this.#bytes.subarray(0, this.#length));
  }

  #encode(text: string): this {
    this.#length += this.#buffer.write(text, this.#length);
    return this;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
    this.#buffer = Buffer.from(bytes.buffer);
    this.#views = [];
  }
}
