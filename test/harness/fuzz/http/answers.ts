/**
 * Parses the responses in all bytes that a connection has received (latin1: one character per byte).
 */
import { readHeaders, type RawAnswer } from '../../../support/raw-client.js';

export type Answer = Omit<RawAnswer, 'head'>;

export interface Received {
  readonly answers: readonly Answer[];
  /** The bytes after the last complete response. */
  readonly rest: string;
  /** The last response continues until the connection ends. */
  readonly isStream: boolean;
}

/** `isHead`: whether the n-th request was a HEAD. Skips 1xx responses. */
export function readAnswers(received: string, isHead: (place: number) => boolean): Received {
  const answers: Answer[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (!rest.startsWith('HTTP/1.1 ') || headEnd < 0) return { answers, rest, isStream: false };
    const status = Number(rest.slice(9, 12));
    const headers = readHeaders(rest.slice(0, headEnd));
    const bodyStart = headEnd + 4;
    if (status < 200) {
      rest = rest.slice(bodyStart);
      continue;
    }
    if (headers['content-type']?.[0] === 'text/event-stream' && !isHead(answers.length)) {
      answers.push({ status, headers, body: rest.slice(bodyStart) });
      return { answers, rest: '', isStream: true };
    }
    const announced = headers['content-length']?.[0];
    // The native server's own responses ignore HEAD and end with the connection.
    const isNative = headers['x-trace-id'] === undefined;
    const hasBody = status !== 204 && (isNative || !isHead(answers.length));
    const length = !hasBody ? 0 : announced === undefined ? rest.length : Number(announced);
    if (announced !== undefined && rest.length < bodyStart + length) {
      return { answers, rest, isStream: false };
    }
    answers.push({ status, headers, body: rest.slice(bodyStart, bodyStart + length) });
    rest = rest.slice(bodyStart + length);
  }
}
