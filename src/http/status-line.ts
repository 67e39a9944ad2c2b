/** Formats status lines for the native server: `202 Accepted`. */
import { STATUS_CODES } from 'node:http';

const lines = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]),
);

export function statusLine(status: number): string {
  return lines.get(status) ?? String(status);
}
