/**
 * Maintains the plugin's connection to the gateway: connects, sends hello and heartbeats, and reconnects
 * after 1, 2, 5, then 10 s unless a close code forbids it. Passes all frames but `welcome` to its owner. Owns
 * the socket and its timers.
 */
import { errorText } from '../lib/error-text.js';
import { WebSocket, type ClientOptions } from 'ws';
import { keptAlive } from '../lib/kept-alive.js';
import { every, type Clock, type Timer } from '../lib/clock.js';
import { setPatientTimer } from '../lib/patient-timer.js';
import {
  frameBytesMax,
  pluginPath,
  subprotocol,
  type GatewayFrame,
  type PluginFrame,
  type WelcomeFrame,
} from '../plugins/protocol.js';
import { decodeGatewayFrame } from './gateway-frame.js';
import {
  endedBy,
  isForbidden,
  reconnectDelayMs,
  refusedBy,
  retryAfterMs,
  sessionRefused,
  type Refused,
} from './reconnect-policy.js';

export type LinkNotice =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected'; readonly connectionId: string; readonly lastSeq: number }
  /** `closeCode` is absent when the connection was not established. */
  | {
      readonly kind: 'disconnected';
      readonly closeCode?: number;
      readonly message: string;
      readonly retryMs: number;
    }
  | ({ readonly kind: 'refused' } & Refused)
  | { readonly kind: 'bad_frame' };

export interface GatewayLinkDeps {
  /** `ws://` or `http://` base of the gateway; a path prefix is kept. */
  readonly url: string;
  readonly token: () => Promise<string> | string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly hello: () => PluginFrame;
  readonly onWelcome: (welcome: WelcomeFrame) => void;
  readonly onFrame: (frame: Exclude<GatewayFrame, WelcomeFrame>) => void;
  /** A welcomed connection has ended. */
  readonly onLost: () => void;
  readonly onNotice: (notice: LinkNotice) => void;
}

/** Timeout from the attempt to connect to `welcome`. */
const welcomeTimeoutMs = 15_000;
/** Heartbeat intervals without a frame or pong from the gateway after which the connection is closed. */
const silentBeatsMax = 2;
/** The types of `ws` do not have its `closeTimeout`. */
const socketOptions: ClientOptions & { readonly closeTimeout: number } = {
  maxPayload: 2 * frameBytesMax,
  // For the close handshake, whichever side began it: no order is taken until it has ended.
  closeTimeout: 2_000,
  perMessageDeflate: false,
};
/** Characters of a bearer token that are valid in an HTTP header. */
const headerText = /^[\x21-\x7e]+$/;

export class GatewayLink {
  readonly #deps: GatewayLinkDeps;
  readonly #url: string;
  #socket: WebSocket | undefined;
  #isWelcomed = false;
  #isEnded = false;
  #attempt = 0;
  #retry: Timer | undefined;
  #welcomeTimer: Timer | undefined;
  #heartbeat: Timer | undefined;
  #silentBeats = 0;
  /** Whether an `error` frame has come on this connection. */
  #hadError = false;
  #failure = '';
  /** What a refused upgrade asked for in `Retry-After`. */
  #retryAfterMs = 0;
  #onClosed: () => void = () => undefined;
  #onEnded: () => void = () => undefined;

  constructor(deps: GatewayLinkDeps) {
    this.#deps = deps;
    this.#url = socketUrl(deps.url);
  }

  /** Keeps the process alive until the link is stopped or refused: between two attempts nothing else may do so. */
  start(): void {
    void keptAlive(new Promise<void>((resolve) => (this.#onEnded = resolve)));
    void this.#connect();
  }

  /** Sends on the welcomed connection, if there is one. */
  send(frame: PluginFrame): void {
    if (this.#isWelcomed) this.#socket?.send(JSON.stringify(frame));
  }

  /** Ends the connection for a new one. */
  renew(why: string): void {
    this.#failure = why;
    this.#socket?.terminate();
  }

  /** Stops without a reconnect, and reports the reason. */
  refuse(refused: Refused): void {
    if (this.#isEnded) return;
    void this.stop();
    this.#deps.onNotice({ kind: 'refused', ...refused });
  }

  /** Stops without a reconnect; resolves when the socket is closed. */
  stop(): Promise<void> {
    this.#isEnded = true;
    this.#onEnded();
    this.#retry?.cancel();
    const socket = this.#socket;
    if (socket === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      if (socket.readyState === WebSocket.OPEN) socket.close(1000, 'terminal_stopped');
      else if (socket.readyState === WebSocket.CONNECTING) socket.terminate();
    });
  }

  async #connect(): Promise<void> {
    this.#hadError = false;
    this.#failure = '';
    this.#retryAfterMs = 0;
    this.#deps.onNotice({ kind: 'connecting' });
    let token: string;
    try {
      token = await this.#deps.token();
    } catch (error) {
      this.#failure = errorText(error);
      this.#reconnectLater(undefined);
      return;
    }
    if (this.#isEnded) return;
    if (!headerText.test(token)) return this.refuse(sessionRefused);
    this.#open(token);
  }

  #open(token: string): void {
    const socket = new WebSocket(this.#url, subprotocol, {
      headers: { authorization: `Bearer ${token}` },
      ...socketOptions,
    });
    let status = 0;
    this.#socket = socket;
    this.#welcomeTimer = setPatientTimer(this.#deps.clock, welcomeTimeoutMs, () => {
      this.#failure = 'the gateway did not send welcome in time';
      socket.terminate();
    });
    socket.on('open', () => socket.send(JSON.stringify(this.#deps.hello())));
    socket.on('message', (data: Buffer, isBinary) => {
      if (!this.#isEnded) this.#receive(isBinary ? undefined : data.toString());
    });
    socket.on('pong', () => (this.#silentBeats = 0));
    socket.on('unexpected-response', (request, response) => {
      status = response.statusCode ?? 0;
      this.#failure = `the gateway answered with status ${status}`;
      this.#retryAfterMs = retryAfterMs(response.headers['retry-after']);
      response.resume();
      request.destroy();
      socket.terminate();
    });
    socket.on('error', (error) => {
      if (this.#failure === '') this.#failure = errorText(error);
    });
    socket.on('close', (code, reason) => this.#closed(code, reason.toString(), status));
  }

  #receive(text: string | undefined): void {
    this.#silentBeats = 0;
    const frame = text === undefined ? undefined : decodeGatewayFrame(text);
    if (frame === undefined) return this.#deps.onNotice({ kind: 'bad_frame' });
    if (frame.type === 'error') this.#hadError = true;
    if (frame.type !== 'welcome') return this.#deps.onFrame(frame);
    if (!this.#isWelcomed) this.#welcomed(frame);
  }

  #welcomed(welcome: WelcomeFrame): void {
    this.#welcomeTimer?.cancel();
    this.#isWelcomed = true;
    this.#attempt = 0;
    this.#silentBeats = 0;
    this.#heartbeat = every(this.#deps.clock, welcome.heartbeatMs, () => this.#beat());
    this.#deps.onWelcome(welcome);
    const { connectionId, lastSeq } = welcome;
    this.#deps.onNotice({ kind: 'connected', connectionId, lastSeq });
  }

  #beat(): void {
    if (++this.#silentBeats > silentBeatsMax) {
      this.#failure = 'the gateway has been silent for too long';
      this.#socket?.terminate();
      return;
    }
    this.#socket?.ping();
    this.send({ type: 'heartbeat' });
  }

  #closed(code: number, text: string, status: number): void {
    const wasWelcomed = this.#isWelcomed;
    this.#socket = undefined;
    this.#isWelcomed = false;
    this.#welcomeTimer?.cancel();
    this.#heartbeat?.cancel();
    if (wasWelcomed) this.#deps.onLost();
    this.#onClosed();
    if (this.#isEnded) return;
    if (status === 401) return this.refuse(sessionRefused);
    if (isForbidden(code, this.#hadError)) return this.refuse(refusedBy(code, text));
    if (this.#failure === '') this.#failure = endedBy(code, text);
    this.#reconnectLater(this.#hadConnection(status, code) ? code : undefined);
  }

  /** Without a connection, the close code is the library's own and does not come from the gateway. */
  #hadConnection(status: number, code: number): boolean {
    return status === 0 && code !== 1006;
  }

  #reconnectLater(closeCode: number | undefined): void {
    if (this.#isEnded) return;
    const retryMs = reconnectDelayMs(this.#attempt++, this.#deps.random, this.#retryAfterMs);
    this.#retry = this.#deps.clock.setTimer(retryMs, () => void this.#connect());
    this.#deps.onNotice({
      kind: 'disconnected',
      ...(closeCode === undefined ? {} : { closeCode }),
      message: this.#failure,
      retryMs,
    });
  }
}

function socketUrl(base: string): string {
  const url = new URL(base);
  url.protocol = url.protocol.replace(/^http/, 'ws');
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(pluginPath) ? path : `${path}${pluginPath}`;
  url.search = '';
  url.hash = '';
  return url.href;
}
