/**
 * Scans the bytes of a JSON text once, before it is parsed: returns the nesting depth and the byte range of
 * one member of the root object, so that its value can be forwarded unchanged. Does not check the syntax: the
 * result is valid only if JSON.parse then accepts the text.
 */
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isText,
  openBrace,
  openBracket,
  quote,
} from './json-text.js';

export interface JsonScan {
  /** Deepest nesting of objects and arrays; the root is depth 1. */
  readonly depth: number;
  /** Byte offsets of the member's value, -1 if there is none; of the last one if the name is repeated. */
  readonly start: number;
  readonly end: number;
}

/** @param member ASCII, without characters that need escapes; the text may still escape it. */
export function scanJson(bytes: Uint8Array, member: string): JsonScan {
  const length = bytes.length;
  let level = 0;
  let depth = 0;
  let isKey = false;
  let keyStart = 0;
  let keyEnd = 0;
  let valueStart = -1;
  let start = -1;
  let end = -1;

  for (let at = 0; at < length; at++) {
    switch (bytes[at]) {
      case quote: {
        const open = at;
        at++;
        for (; at < length; at++) {
          const byte = bytes[at];
          if (byte === quote) break;
          if (byte === backslash) at++;
        }
        if (isKey && level === 1) {
          keyStart = open;
          keyEnd = at;
        }
        break;
      }
      case openBrace:
        level++;
        if (level > depth) depth = level;
        isKey = level === 1;
        break;
      case openBracket:
        level++;
        if (level > depth) depth = level;
        break;
      case colon:
        if (level === 1 && isKey) {
          isKey = false;
          if (isText(bytes, keyStart, keyEnd, member)) valueStart = at + 1;
        }
        break;
      case comma:
      case closeBrace:
      case closeBracket:
        if (level === 1 && valueStart >= 0) {
          start = valueStart;
          end = at;
          valueStart = -1;
        }
        if (bytes[at] === comma) isKey = level === 1;
        else level--;
        break;
    }
  }
  return { depth: Math.max(1, depth), start, end };
}
