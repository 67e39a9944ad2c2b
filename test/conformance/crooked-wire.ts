/**
 * A wire between a plugin and its judge that tampers with what it carries, so that a conforming plugin looks
 * like one that breaks a rule.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { closeServer, listenOnLoopback } from '../support/loopback-server.js';

export interface AnyFrame {
  readonly type: string;
  readonly [field: string]: any;
}

/** What the wire carries in place of a frame: nothing, one frame, or several. */
type Said = AnyFrame | readonly AnyFrame[] | undefined;

export interface Tampering {
  readonly offersNoSubprotocol?: true;
  readonly answersNoPing?: true;
  /** `connection` counts from 1; `isOpen` tells whether the gateway still hears it. */
  readonly fromPlugin?: (
    frame: AnyFrame,
    connection: number,
    isOpen: () => boolean,
  ) => Said | Promise<Said>;
  readonly fromGateway?: (frame: AnyFrame, connection: number) => Said | 'cut';
  /** Frames that the wire sends to the gateway after each welcome. */
  readonly afterWelcome?: (welcome: AnyFrame) => Said;
  /** @returns what replaces a close code; 0 breaks the connection. */
  readonly closeCode?: (code: number) => number;
  readonly refusal?: (status: number, retryAfter: string) => readonly [number, string];
}

export interface CrookedWire {
  readonly url: string;
  close(): Promise<void>;
}

export async function openCrookedWire(
  gatewayUrl: string,
  tampering: Tampering,
): Promise<CrookedWire> {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  let connections = 0;

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => undefined);
    const options = {
      headers: { authorization: String(request.headers.authorization) },
      autoPong: tampering.answersNoPing !== true,
    };
    const address = `${gatewayUrl.replace('http', 'ws')}${request.url}`;
    const protocols = request.headers['sec-websocket-protocol']?.split(', ') ?? [];
    const gateway = tampering.offersNoSubprotocol
      ? new WebSocket(address, options)
      : new WebSocket(address, protocols, options);
    gateway.on('error', () => undefined);
    gateway.on('unexpected-response', (_, response) => {
      const told = [response.statusCode ?? 0, response.headers['retry-after'] ?? ''] as const;
      const [status, retryAfter] = tampering.refusal?.(...told) ?? told;
      const header = retryAfter === '' ? '' : `Retry-After: ${retryAfter}\r\n`;
      socket.end(`HTTP/1.1 ${status} Refused\r\n${header}Content-Length: 0\r\n\r\n`);
      gateway.terminate();
    });
    gateway.on('open', () => {
      sockets.handleUpgrade(request, socket, head, (plugin) => join(plugin, gateway));
    });
  });

  function join(plugin: WebSocket, gateway: WebSocket): void {
    const connection = ++connections;
    const { fromPlugin, fromGateway, afterWelcome, closeCode } = tampering;
    // The frames keep their order, also when `fromPlugin` takes time for one.
    let turn = Promise.resolve();
    const isOpen = (): boolean => gateway.readyState === WebSocket.OPEN;
    plugin.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as AnyFrame;
      const said = fromPlugin === undefined ? frame : fromPlugin(frame, connection, isOpen);
      turn = turn.then(async () => say(gateway, await said));
    });
    gateway.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as AnyFrame;
      const said = fromGateway === undefined ? frame : fromGateway(frame, connection);
      if (said === 'cut') return gateway.terminate();
      say(plugin, said);
      if (frame.type === 'welcome') say(gateway, afterWelcome?.(frame));
    });
    plugin.on('close', () => gateway.terminate());
    gateway.on('close', (code) => {
      const told = closeCode?.(code) ?? code;
      if (told < 4_000) plugin.terminate();
      else plugin.close(told);
    });
    for (const end of [plugin, gateway]) end.on('error', () => undefined);
  }

  return {
    url: `http://127.0.0.1:${await listenOnLoopback(server)}`,
    close: () => closeServer(server, sockets),
  };
}

function say(to: WebSocket, said: Said): void {
  if (said === undefined || to.readyState !== WebSocket.OPEN) return;
  for (const frame of Array.isArray(said) ? said : [said]) to.send(JSON.stringify(frame));
}
