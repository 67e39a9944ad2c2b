/** The status line, `202 Accepted`, and the headers that each answer of a status has. */
import { STATUS_CODES } from 'node:http';

const lines = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]),
);

export function statusLine(status: number): string {
  return lines.get(status) ?? String(status);
}

export type Headers = readonly (readonly [name: string, value: string])[];

export const noHeaders: Headers = [];
const headersByStatus: Readonly<Record<number, Headers>> = {
  401: [['WWW-Authenticate', 'Bearer']],
  426: [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
  ],
};

export function headersOfStatus(status: number): Headers {
  return headersByStatus[status] ?? noHeaders;
}
