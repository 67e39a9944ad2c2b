/** Parses a JSON body strictly: valid UTF-8 without a BOM, not empty, nested at most `depthMax`. */
import type { Outline } from '../lib/json-outline.js';
import { scanJson } from '../lib/json-scan.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface ParsedJson {
  readonly value: unknown;
  /** The text of the member's value in the body; '' if it has none. */
  readonly memberText: string;
}

/**
 * @param outline what the caller reads of the value.
 * @param member see scanJson.
 * @returns undefined for `malformed_json`.
 */
export function parseJson(
  bytes: Uint8Array,
  depthMax: number,
  outline: Outline,
  member = '',
): ParsedJson | undefined {
  const { depth, start, end } = scanJson(bytes, member);
  if (depth > depthMax) return undefined;
  try {
    const text = utf8.decode(bytes);
    const value = outline.parse(bytes, text, utf8);
    if (start < 0) return { value, memberText: '' };
    // If every byte is a character, positions in the bytes are positions in the text.
    const isAscii = text.length === bytes.length;
    const part = isAscii ? text.slice(start, end) : utf8.decode(bytes.subarray(start, end));
    return { value, memberText: part.trim() };
  } catch {
    return undefined;
  }
}
