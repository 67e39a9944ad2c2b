/**
 * Store keys as bytes whose order is the keys' order: strings by code point, numbers by value, lists
 * part by part. Every two different keys have different bytes. lmdb's own encoding does not promise
 * that: in strings of 64 characters and more it writes NUL as the separator of parts and turns every
 * lone surrogate into the same replacement character, so that two signalIds could become one.
 */

type KeyPart = string | number;
/** A key, or bytes that already are one: the bounds of a range are not always keys themselves. */
export type StoreKey = KeyPart | readonly KeyPart[] | Uint8Array;

/** Longest key that lmdb takes with pages of 4 KiB. */
export const keyBytesMax = 1978;

// Both lie above 5, where lmdb begins a range that has no start.
const numberTag = 0x10;
const stringTag = 0x20;

// Below every byte that a string is made of, so that a shorter string and a shorter list sort first.
const partEnd = 0x00;
/** Written before a character that would otherwise be read as `partEnd` or as `escape`. */
const escape = 0x01;

const numberBytes = 9;
const bytesPerUnitMax = 3;

/** @returns the position after the key's last byte. The target has room for it. */
export function writeKey(key: StoreKey, target: Uint8Array, position: number): number {
  if (typeof key === 'string') return writeString(key, target, position);
  if (typeof key === 'number') return writeNumber(key, target, position);
  if (key instanceof Uint8Array) {
    target.set(key, position);
    return position + key.length;
  }
  let at = position;
  for (let i = 0; i < key.length; i++) {
    if (i > 0) target[at++] = partEnd;
    const part = key[i] as KeyPart;
    at = typeof part === 'string' ? writeString(part, target, at) : writeNumber(part, target, at);
  }
  return at;
}

function writeString(text: string, target: Uint8Array, position: number): number {
  let at = position;
  target[at++] = stringTag;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      if (code <= escape) {
        target[at++] = escape;
        code++;
      }
      target[at++] = code;
    } else if (code < 0x800) {
      target[at++] = 0xc0 | (code >> 6);
      target[at++] = 0x80 | (code & 0x3f);
    } else {
      // A surrogate without its other half is kept as three bytes: WTF-8.
      code = text.codePointAt(i) as number;
      if (code > 0xffff) {
        i++;
        target[at++] = 0xf0 | (code >> 18);
        target[at++] = 0x80 | ((code >> 12) & 0x3f);
      } else {
        target[at++] = 0xe0 | (code >> 12);
      }
      target[at++] = 0x80 | ((code >> 6) & 0x3f);
      target[at++] = 0x80 | (code & 0x3f);
    }
  }
  return at;
}

const numberView = new DataView(new ArrayBuffer(8));

/** IEEE 754 sorts as an unsigned integer once negative numbers are inverted and others get the sign bit. */
function writeNumber(value: number, target: Uint8Array, position: number): number {
  target[position] = numberTag;
  // Adding zero turns -0 into 0.
  numberView.setFloat64(0, value + 0);
  const inverted = value < 0;
  for (let i = 0; i < 8; i++) {
    const byte = numberView.getUint8(i);
    target[position + 1 + i] = inverted ? ~byte : i === 0 ? byte | 0x80 : byte;
  }
  return position + numberBytes;
}

/** The inverse of `writeKey`: one part comes back as itself, more as a list. */
export function readKey(source: Uint8Array, start: number, end: number): KeyPart | KeyPart[] {
  const parts: KeyPart[] = [];
  let at = start;
  while (at < end) {
    if (source[at] === numberTag) {
      parts.push(readNumber(source, at + 1));
      at += numberBytes;
    } else {
      const from = at + 1;
      at = from;
      while (at < end && source[at] !== partEnd) at++;
      parts.push(readString(source, from, at));
    }
    at++; // the part's end
  }
  return parts.length === 1 ? (parts[0] as KeyPart) : parts;
}

function readString(source: Uint8Array, start: number, end: number): string {
  let text = '';
  let at = start;
  const next = (): number => source[at++] as number;
  while (at < end) {
    const first = next();
    if (first === escape) text += String.fromCharCode(next() - 1);
    else if (first < 0x80) text += String.fromCharCode(first);
    else if (first < 0xe0) text += String.fromCharCode(((first & 0x1f) << 6) | (next() & 0x3f));
    else {
      let code = first < 0xf0 ? first & 0x0f : ((first & 0x07) << 6) | (next() & 0x3f);
      code = (code << 6) | (next() & 0x3f);
      code = (code << 6) | (next() & 0x3f);
      text += String.fromCodePoint(code);
    }
  }
  return text;
}

function readNumber(source: Uint8Array, position: number): number {
  const inverted = (source[position] as number) < 0x80;
  for (let i = 0; i < 8; i++) {
    const byte = source[position + i] as number;
    numberView.setUint8(i, inverted ? ~byte : i === 0 ? byte & 0x7f : byte);
  }
  return numberView.getFloat64(0);
}

/** Throws when the key is longer than `keyBytesMax`: a bug, since callers check the lengths of names before. */
export function assertKeyFits(key: StoreKey): void {
  if (!keyFits(key)) throw new RangeError(`a store key is longer than ${keyBytesMax} bytes`);
}

export function keyFits(key: StoreKey): boolean {
  return bytesAtMost(key) <= keyBytesMax || encodeKey(key).length <= keyBytesMax;
}

function bytesAtMost(key: StoreKey): number {
  if (typeof key === 'string') return 1 + key.length * bytesPerUnitMax;
  if (typeof key === 'number') return numberBytes;
  if (key instanceof Uint8Array) return key.length;
  let bytes = key.length;
  for (const part of key) bytes += bytesAtMost(part);
  return bytes;
}

export function encodeKey(key: StoreKey): Uint8Array {
  const target = new Uint8Array(bytesAtMost(key));
  return target.subarray(0, writeKey(key, target, 0));
}

/** The keys that begin with `parts` are those from `first` (inclusive) to `past` (exclusive). */
export function prefixBounds(parts: readonly KeyPart[]): { first: Uint8Array; past: Uint8Array } {
  const first = encodeKey(parts);
  const past = new Uint8Array(first.length + 1);
  past.set(first);
  past[first.length] = partEnd + 1;
  return { first, past };
}
