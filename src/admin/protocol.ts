/**
 * The protocol of `admin.sock`: lines of JSON. The command sends its version and one request; the gateway
 * accepts or refuses it at once; then come rows in both directions, if the operation has any; the last
 * line is the result. An empty line shows that the gateway is still at work.
 */
import type { Socket } from 'node:net';

export interface Opening {
  readonly version: string;
  readonly operation: string;
  readonly request: unknown;
}

/** From the command, while the operation runs. */
export type CommandLine = { readonly row: unknown } | { readonly end: true };

/** From the gateway: `accepted` or `error` first, `result` or `error` last. */
export type GatewayLine =
  | { readonly accepted: true }
  | { readonly row: unknown }
  | { readonly result: unknown }
  | { readonly error: { readonly code: ErrorCode; readonly message: string } };

export type ErrorCode =
  | 'other_version'
  | 'unknown_operation'
  | 'invalid_request'
  | 'draining'
  | 'busy'
  | 'store_failed'
  | 'internal_error';

/** A row may hold a payload of 96 KiB, and every byte of it may be escaped to six. */
export const lineBytesMax = 1024 * 1024;
/** Enough for an operator's shell and scripts; more connections are closed at once. */
export const connectionsMax = 64;
/** Most operations with rows at once: their commands may be stopped, and a halt must find a place beside them. */
export const rowOperationsMax = 48;
/** A side that has sent nothing for this long counts as dead. */
export const silenceMs = 5_000;
/** Interval of the empty lines of a gateway at work. */
export const pulseMs = 1_000;

const lineEnd = 0x0a;

/** Stands for a line that is too long or no JSON; nothing comes after it. */
export const badLine = Symbol('bad line');

/** The messages from the other side, until it ends or is gone. Reads only as far as it is consumed. */
export async function* linesOf(socket: Socket): AsyncGenerator<unknown, void, void> {
  let parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      let rest = chunk as Buffer;
      for (let at = rest.indexOf(lineEnd); at >= 0; at = rest.indexOf(lineEnd)) {
        const text = Buffer.concat([...parts, rest.subarray(0, at)]).toString();
        rest = rest.subarray(at + 1);
        parts = [];
        size = 0;
        if (text === '') continue;
        const message = parse(text);
        yield message;
        if (message === badLine) return;
      }
      parts.push(rest);
      size += rest.length;
      if (size > lineBytesMax) return yield badLine;
    }
  } catch {
    // The connection broke: what came before it is all there is.
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return badLine;
  }
}

/** Resolves when the other side can take more; false once it is gone. */
export function sendLine(socket: Socket, message: object): Promise<boolean> {
  if (!socket.writable) return Promise.resolve(false);
  if (socket.write(`${JSON.stringify(message)}\n`)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off('drain', settle).off('close', settle);
      resolve(socket.writable);
    };
    socket.on('drain', settle).on('close', settle);
  });
}
