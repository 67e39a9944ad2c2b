/**
 * Empties the names and texts of a long JSON text that no caller reads, so that it is cheap to parse. For each name
 * that the process has not met, and each new order of names, V8 makes an object that outlives the call: 64 KiB of them
 * take JSON.parse ten milliseconds, and their outline one.
 */
import type { TextDecoder } from 'node:util';
import {
  backslash,
  characterAt,
  closeBrace,
  closeBracket,
  colon,
  isText,
  openBrace,
  openBracket,
  quote,
  sizeAt,
} from './json-text.js';

/** A shorter text is parsed as it is, which takes a fifth of a millisecond at most. */
const bytesMin = 1_024;
/** Different names of each level that are kept whatever they are: more than an answer tells as unknown. */
export const namesPerLevel = 64;

const space = 0x20;

export class Outline {
  /** By their first character: of thousands of names that are not kept, hardly one is compared. */
  readonly #names: (string[] | undefined)[] = [];
  readonly #depth: number;

  /**
   * @param names that are kept: ASCII, without characters that need escapes.
   * @param depth the deepest level whose names and texts are kept; the root is depth 1.
   */
  constructor(names: Iterable<string>, depth: number) {
    for (const name of names) (this.#names[name.charCodeAt(0)] ??= []).push(name);
    this.#depth = depth;
  }

  /**
   * @param text of the bytes.
   * @param utf8 has made the text of them.
   * @returns the value, with what is read of it. Throws as `JSON.parse`.
   */
  parse(bytes: Uint8Array, text: string, utf8: TextDecoder): unknown {
    const outline = this.of(bytes);
    return JSON.parse(outline === bytes ? text : utf8.decode(outline));
  }

  /**
   * @param bytes UTF-8.
   * @returns as many bytes, which are JSON exactly if the given ones are: an invalid text stays as it is.
   */
  of(bytes: Uint8Array): Uint8Array {
    if (bytes.length < bytesMin) return bytes;
    const outline = Buffer.from(bytes);
    const others = Array.from({ length: this.#depth + 1 }, () => new Set<string>());
    let level = 0;
    for (let at = 0; at < outline.length; at++) {
      switch (outline[at]) {
        case openBrace:
        case openBracket:
          level++;
          break;
        case closeBrace:
        case closeBracket:
          level--;
          break;
        case quote: {
          const open = at;
          at = endOfText(outline, open);
          if (at < 0) return outline;
          if (level <= this.#depth) {
            if (!isBeforeColon(outline, at) || this.#isKept(outline, open, at)) break;
            const ofLevel = others[level];
            if (ofLevel !== undefined && ofLevel.size < namesPerLevel) {
              ofLevel.add(outline.toString('latin1', open, at));
              break;
            }
          }
          outline.fill(space, open + 1, at + 1);
          outline[open + 1] = quote;
        }
      }
    }
    return outline;
  }

  #isKept(bytes: Uint8Array, open: number, close: number): boolean {
    const names = this.#names[characterAt(bytes, open + 1)];
    return names?.some((name) => isText(bytes, open, close, name)) === true;
  }
}

/** @returns where the text's closing quote is; -1 if it has none, or has what no text may have. */
function endOfText(bytes: Uint8Array, open: number): number {
  for (let at = open + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) return at;
    if (byte < space) return -1;
    if (byte !== backslash) continue;
    if (Number.isNaN(characterAt(bytes, at))) return -1;
    at += sizeAt(bytes, at) - 1;
  }
  return -1;
}

function isBeforeColon(bytes: Uint8Array, close: number): boolean {
  let at = close + 1;
  while (whiteSpace.has(bytes[at] as number)) at++;
  return bytes[at] === colon;
}

const whiteSpace: ReadonlySet<number> = new Set([space, 0x09, 0x0a, 0x0d]);
