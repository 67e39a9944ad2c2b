/**
 * The server that plays the gateway: login, and the upgrades of the plugin under test, which it accepts or
 * refuses as a rule asks. Owns the sockets and the tokens; lives for one judgement.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock } from '../lib/clock.js';
import { hostInUrl } from '../lib/host.js';
import { randomSecret } from '../lib/ids.js';
import { frameBytesMax, pluginPath, subprotocol } from '../plugins/protocol.js';

/** An attempt of the plugin to connect. */
export interface Attempt {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly token: string;
}

/** Answers the next upgrade instead of 101. */
export interface Refusal {
  readonly status: number;
  readonly retryAfterS?: number;
}

export interface StageListeners {
  readonly onConnection: (socket: WebSocket, offered: readonly string[]) => void;
  readonly onAttempt: () => void;
}

export class Stage {
  readonly email = 'plugin@example.com';
  readonly password: string;
  readonly attempts: Attempt[] = [];
  /** For the next upgrades, in order. */
  readonly refusals: Refusal[] = [];
  url = '';
  readonly #clock: Clock;
  readonly #listeners: StageListeners;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: 2 * frameBytesMax,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  readonly #tokens = new Set<string>();

  constructor(clock: Clock, password: string, listeners: StageListeners) {
    this.#clock = clock;
    this.password = password;
    this.#listeners = listeners;
    this.#server = createServer((request, response) => {
      this.#logIn(request).then(
        (answer) => {
          response.writeHead(answer.status, { 'content-type': 'application/json' });
          response.end(JSON.stringify(answer.body));
        },
        // The plugin has ended while it sent its login: its next start logs in anew.
        () => response.destroy(),
      );
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
  }

  /** Rejects when the address is taken. */
  async open(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    this.url = `http://${hostInUrl(host)}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The session token of the latest attempt. */
  get token(): string {
    return this.attempts.at(-1)?.token ?? '';
  }

  /** From now on, the token gets a 401. */
  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #logIn(request: IncomingMessage): Promise<{ status: number; body: object }> {
    if (request.method !== 'POST' || request.url !== '/api/auth/login') {
      return {
        status: 404,
        body: {
          code: 'not_found',
          message: 'The conformance tool has only the login and the plugin path.',
        },
      };
    }
    const { email, password } = await bodyOf(request);
    if (email !== this.email || password !== this.password) {
      return { status: 401, body: { code: 'invalid_credentials', message: 'Wrong password.' } };
    }
    const sessionToken = `sbs_${randomSecret()}`;
    this.#tokens.add(sessionToken);
    return { status: 200, body: { token: 'none', sessionToken } };
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const refusal = this.#refusalOf(request, token);
    this.attempts.push({ at: this.#clock.monotonic(), token });
    this.#listeners.onAttempt();
    socket.on('error', () => undefined);
    if (refusal !== undefined) {
      const { status, retryAfterS } = refusal;
      const retryAfter = retryAfterS === undefined ? '' : `Retry-After: ${retryAfterS}\r\n`;
      socket.end(
        `HTTP/1.1 ${status} Refused\r\n${retryAfter}Content-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      return;
    }
    const offered = request.headers['sec-websocket-protocol']?.split(/, */) ?? [];
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) =>
      this.#listeners.onConnection(webSocket, offered),
    );
  }

  #refusalOf({ url = '' }: IncomingMessage, token: string): Refusal | undefined {
    if (!url.startsWith(pluginPath)) return { status: 404 };
    if (!this.#tokens.has(token)) return { status: 401 };
    return this.refusals.shift();
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const part of request) text += String(part);
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
