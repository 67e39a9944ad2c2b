/** Parses a JSON body strictly: valid UTF-8 without a BOM, not empty, nested at most `depthMax`. */
import { scanJson, type JsonScan } from '../lib/json-scan.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface ParsedJson {
  readonly value: unknown;
  readonly scan: JsonScan;
}

/** @param member see scanJson. @returns undefined for `malformed_json`. */
export function parseJson(
  bytes: Uint8Array,
  depthMax: number,
  member = '',
): ParsedJson | undefined {
  const scan = scanJson(bytes, member);
  if (scan.depth > depthMax) return undefined;
  try {
    return { value: JSON.parse(utf8.decode(bytes)) as unknown, scan };
  } catch {
    return undefined;
  }
}
