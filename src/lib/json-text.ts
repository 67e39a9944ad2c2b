/** JSON as bytes: the marks of its syntax, and names and texts between quotes, which may be written with escapes. */

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
const unicodeEscape = 0x75;

/** Whether the text between two quotes is the name. @param name ASCII, without characters that need escapes. */
export function isText(bytes: Uint8Array, open: number, close: number, name: string): boolean {
  let at = open + 1;
  for (let i = 0; i < name.length; i++) {
    if (characterAt(bytes, at) !== name.charCodeAt(i)) return false;
    at += sizeAt(bytes, at);
  }
  return at === close;
}

/** @returns the character of an ASCII byte or an escape; NaN for an escape that JSON does not have. */
export function characterAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number;
  if (byte !== backslash) return byte;
  const kind = bytes[at + 1] as number;
  if (kind !== unicodeEscape) return escapes.get(kind) ?? NaN;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) {
    code = code * 16 + (hexDigits.get(bytes[digit] as number) ?? NaN);
  }
  return code;
}

/** @returns the bytes of the character or escape there. */
export function sizeAt(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== backslash) return 1;
  return bytes[at + 1] === unicodeEscape ? 6 : 2;
}

const escaped = Buffer.from('"\\/\b\f\n\r\t');
const escapes: ReadonlyMap<number, number> = new Map(
  [...Buffer.from('"\\/bfnrt')].map((kind, i) => [kind, escaped[i] as number]),
);
const hexDigits: ReadonlyMap<number, number> = new Map(
  [...Buffer.from('0123456789abcdefABCDEF')].map((code, i) => [code, i < 16 ? i : i - 6]),
);
