/**
 * A gateway that plays a script: the n-th request gets the n-th reply, the last reply repeats. It
 * keeps every request as it came over the wire. For tests of clients against the failures that a
 * real gateway shows only when it is hit at the right moment.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { closeServer, listenOnLoopback } from './loopback-server.js';

export interface ScriptedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string goes out as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Instead of a body: writes a stream of events for as long as it likes. */
  readonly stream?: (out: ServerResponse) => void;
}

/** An answer as it goes over the wire, of which each byte of the second part takes 50 ms. Then the connection ends. */
export interface Drip {
  readonly atOnce: string;
  readonly slowly: string;
}

/** `cut`: the answer begins and the connection breaks before its end. `silent`: it never begins. */
export type Reply = ScriptedAnswer | 'reset-before-body' | 'reset-after-body' | 'cut' | 'silent';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As many bytes as were read before the reply. */
  readonly body: Buffer;
  /** Counts the server's connections from 1. */
  readonly connection: number;
}

export interface FakeApi {
  readonly baseUrl: string;
  /** Every request since the last `play`, in the order of arrival. */
  readonly seen: SeenRequest[];
  /** Answers that have neither ended nor lost their connection. */
  readonly openAnswers: number;
  /** Starts a script, and forgets the one before. */
  play(...script: (Reply | Drip)[]): void;
  /** Runs as soon as a `silent` reply is due. */
  onSilence: () => void;
  close(): Promise<void>;
}

/** @param tls its certificate, for a gateway behind TLS. */
export async function startFakeApi(tls?: { cert: string; key: string }): Promise<FakeApi> {
  const connections = new WeakMap<Socket, number>();
  let connectionCount = 0;
  let openAnswers = 0;
  let script: readonly (Reply | Drip)[] = [];

  const answer: RequestListener = (request, response) => {
    const reply = script[Math.min(api.seen.length, script.length - 1)] ?? { status: 500 };
    openAnswers++;
    response.on('close', () => openAnswers--);
    const chunks: Buffer[] = [];
    const { socket } = request;
    const see = (): void => {
      api.seen.push({
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks),
        connection: connections.get(socket) ?? 0,
      });
    };
    if (reply === 'reset-before-body') {
      see();
      socket.resetAndDestroy();
      return;
    }
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      see();
      give(reply, response, socket);
    });
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
    connections.set(socket, ++connectionCount),
  );

  function give(
    reply: Exclude<Reply, 'reset-before-body'> | Drip,
    response: ServerResponse,
    socket: Socket,
  ) {
    if (reply === 'silent') api.onSilence();
    else if (reply === 'reset-after-body') socket.resetAndDestroy();
    else if (reply === 'cut') {
      response.writeHead(202, { 'Content-Length': '1000' });
      response.write('{"requestId":', () => socket.destroy());
    } else if ('slowly' in reply) {
      socket.write(reply.atOnce);
      drip(reply.slowly, socket);
    } else {
      const { status, headers, body = '', stream } = reply;
      if (stream !== undefined) {
        response.writeHead(status, { 'Content-Type': 'text/event-stream', ...headers });
        response.flushHeaders();
        stream(response);
        return;
      }
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    }
  }

  const api: FakeApi = {
    baseUrl: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${await listenOnLoopback(server)}`,
    seen: [],
    get openAnswers() {
      return openAnswers;
    },
    play(...replies) {
      script = replies;
      api.seen.length = 0;
    },
    onSilence: () => undefined,
    close: () => closeServer(server),
  };
  return api;
}

/** Byte by byte, until its end or that of the connection. */
export function drip(text: string, out: Writable): void {
  const bytes = text[Symbol.iterator]();
  const timer = setInterval(() => {
    const { value, done } = bytes.next();
    if (done === true) out.end();
    else out.write(value);
  }, 50);
  out.on('close', () => clearInterval(timer));
  out.on('finish', () => clearInterval(timer));
}

/** The same again and again, as fast as it is read, until the connection ends. @returns the bytes so far. */
export function flood(out: Writable, piece: string): () => number {
  let written = 0;
  const more = (): void => {
    written += piece.length;
    out.write(piece, (error) => (error ? undefined : more()));
  };
  more();
  return () => written;
}

/** An error answer of `/api/v1/*`. */
export function refusal(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  return {
    status,
    headers,
    body: { error: { code, message: `says ${code}`, traceId: 'trace-1' } },
  };
}
