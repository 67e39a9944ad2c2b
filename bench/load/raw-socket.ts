/**
 * A TCP connection of a load generator. All connections of a process read into one shared buffer,
 * because a buffer for each read costs a generator more than everything else that it does; so bytes
 * are valid only until `onBytes` returns.
 */
import { connect, type Socket } from 'node:net';

const incoming = Buffer.allocUnsafe(64 * 1024);

export interface RawSocketEvents {
  readonly onBytes: (bytes: Buffer) => void;
  /** Called once, whichever side ended the connection. */
  readonly onClosed: (reason: string) => void;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Resource {
  readonly path: string;
  readonly headers: readonly string[];
}

export type RequestTarget = Address & Resource;

export function addressOf(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Connects and sends the head of a GET with the target's headers and these. */
export async function requestRaw(
  { host, port, path, headers }: RequestTarget,
  own: readonly string[],
  events: RawSocketEvents,
): Promise<Socket> {
  const socket = await connectRaw(host, port, events);
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}:${port}`, ...own, ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

/** Resolves with a connected socket; rejects when no server listens. */
export function connectRaw(host: string, port: number, events: RawSocketEvents): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let reason = 'the other side closed the connection';
    const socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: incoming,
        callback: (length) => {
          events.onBytes(incoming.subarray(0, length));
          return true;
        },
      },
    });
    socket.on('error', (error) => {
      reason = error.message;
      reject(error);
    });
    socket.on('close', () => events.onClosed(reason));
    socket.once('connect', () => resolve(socket));
  });
}
