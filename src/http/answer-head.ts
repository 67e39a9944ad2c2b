/** The status line and the headers of an answer, in one piece: one native call instead of one per header. */
import { TextBytes, constantBytes } from '../lib/text-bytes.js';
import { type Headers, statusLine } from './status-line.js';

/** The headers `RateLimit-Policy` and `RateLimit`. */
export interface RateLimit {
  /** Both lines, each after its line break, up to the number of requests that remain. */
  readonly start: Uint8Array;
  readonly remaining: number;
  /** Seconds until one more request is free. */
  readonly seconds: number;
}

export interface HeadContent {
  readonly traceId: string;
  readonly rateLimit: RateLimit | undefined;
  readonly headers: Headers;
  readonly isJson: boolean;
  /** Whether to say that the connection closes. */
  readonly saysClose: boolean;
}

const bytes = new TextBytes();
const jsonType = constantBytes('\r\nContent-Type: application/json; charset=utf-8');
const connectionClose = constantBytes('\r\nConnection: close');
const seconds = constantBytes(';t=');
const starts = new Map<number, Uint8Array>();

/** @returns what `writeStatus` takes; valid until the next call. */
export function answerHead(status: number, content: HeadContent): Uint8Array {
  const { traceId, rateLimit, headers, isJson, saysClose } = content;
  bytes.begin().raw(startOf(status)).text(traceId);
  if (rateLimit !== undefined) {
    bytes.raw(rateLimit.start).number(rateLimit.remaining);
    bytes.raw(seconds).number(rateLimit.seconds);
  }
  for (const [name, value] of headers) bytes.text('\r\n').text(name).text(': ').line(value);
  if (isJson) bytes.raw(jsonType);
  if (saysClose) bytes.raw(connectionClose);
  return bytes.take();
}

function startOf(status: number): Uint8Array {
  let start = starts.get(status);
  if (start === undefined) {
    start = constantBytes(`${statusLine(status)}\r\nX-Trace-Id: `);
    starts.set(status, start);
  }
  return start;
}
