/**
 * The gateway's side of the plugin protocol, played by the test frame by frame over a real socket.
 * It holds every frame of a plugin against the protocol's schemas, and answers nothing by itself
 * but a login and, where asked to, the acknowledgement of what has a `seq`.
 */
import { createServer } from 'node:http';
import { WebSocketServer, type WebSocket } from 'ws';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import {
  pluginPath,
  subprotocol,
  type GatewayFrame,
  type PluginFrame,
  type PluginFrameOf,
  type PluginFrameType,
  type WelcomeFrame,
} from '../../src/plugins/protocol.js';
import { Inbox } from './inbox.js';
import { closeServer, listenOnLoopback } from './loopback-server.js';

export class FakeConnection {
  /** Everything that came, in order; each test takes what it waits for. */
  readonly frames: PluginFrame[] = [];
  readonly #inbox = new Inbox<PluginFrame>();
  readonly #closed: Promise<number>;
  acknowledges = false;

  constructor(
    readonly socket: WebSocket,
    readonly authorization: string | undefined,
    readonly path: string | undefined,
  ) {
    this.#closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('message', (data: Buffer) => {
      const { frame, error } = decodeFrame(new Uint8Array(data));
      if (frame === undefined) throw new Error(`the plugin sent ${error}: ${data.toString()}`);
      this.frames.push(frame);
      if (this.acknowledges && 'seq' in frame) this.send({ type: 'ack', seq: frame.seq });
      this.#inbox.put(frame);
    });
  }

  /** The next frame of this type; frames before it are passed over. */
  next<T extends PluginFrameType>(
    type: T,
    matches: (frame: PluginFrameOf<T>) => boolean = () => true,
  ): Promise<PluginFrameOf<T>> {
    return this.#inbox.take(
      (frame) => frame.type === type && matches(frame as PluginFrameOf<T>),
    ) as Promise<PluginFrameOf<T>>;
  }

  send(frame: GatewayFrame): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Takes the hello and answers it. */
  async welcome(welcome: Partial<WelcomeFrame> = {}): Promise<PluginFrameOf<'hello'>> {
    const hello = await this.next('hello');
    this.sendWelcome(welcome);
    return hello;
  }

  sendWelcome(welcome: Partial<WelcomeFrame> = {}): void {
    this.send({
      type: 'welcome',
      connectionId: 'con_1',
      heartbeatMs: 30_000,
      serverTime: '2026-01-15T12:00:00.000Z',
      lastSeq: 0,
      // Without `outgoingQueue`, as an older gateway.
      ...welcome,
    } as WelcomeFrame);
  }

  /** Resolves with the close code. */
  closed(): Promise<number> {
    return this.#closed;
  }
}

export interface FakeGateway {
  readonly url: string;
  readonly port: number;
  /** The next connection that is opened. */
  connection(): Promise<FakeConnection>;
  /** The next upgrade that is answered with another status than 101. */
  refused(): Promise<void>;
  /** Upgrades are answered with this status from now on; 101 lets them through. */
  status: number;
  /** `Retry-After` of such an answer; '' for none. */
  retryAfter: string;
  close(): Promise<void>;
}

export async function startFakeGateway(): Promise<FakeGateway> {
  const arrivals = new Inbox<FakeConnection>();
  const refusals = new Inbox<void>();
  const server = createServer((request, response) => {
    if (request.url === '/api/auth/login') response.end('{"sessionToken":"svc_session_1"}');
    else response.writeHead(404).end();
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  server.on('upgrade', (request, socket, head) => {
    if (gateway.status !== 101 || request.url?.endsWith(pluginPath) !== true) {
      const status = gateway.status === 101 ? 404 : gateway.status;
      refusals.put();
      const retryAfter = gateway.retryAfter && `Retry-After: ${gateway.retryAfter}\r\n`;
      socket.end(
        `HTTP/1.1 ${status} Refused\r\n${retryAfter}Content-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const { authorization } = request.headers;
      arrivals.put(new FakeConnection(webSocket, authorization, request.url));
    });
  });
  const port = await listenOnLoopback(server);

  const gateway: FakeGateway = {
    url: `http://127.0.0.1:${port}`,
    port,
    status: 101,
    retryAfter: '',
    connection: () => arrivals.take(() => true),
    refused: () => refusals.take(() => true),
    close: () => closeServer(server, sockets),
  };
  return gateway;
}
