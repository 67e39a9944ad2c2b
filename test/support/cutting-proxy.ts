/** A TCP proxy in front of a gateway: what a bad network does to a client. */
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { listenOnLoopback } from './loopback-server.js';

/** First byte of a WebSocket frame. */
const closeFrame = 0x88;

export interface CuttingProxy {
  readonly url: string;
  /** Resets every connection that is open; new ones get through. */
  cut(): void;
  /** What the clients of open connections send from now on never arrives; what they are sent does. */
  swallow(): void;
  /** What the clients of open connections are sent from now on waits until they close their WebSocket. */
  holdUntilClose(): void;
  /** Whether new connections get, instead of the gateway's answer, one that drips without end: a byte a second. */
  drips: boolean;
}

/** Ends with the test. `gatewayUrl`: of each new connection, for a gateway that starts again elsewhere. */
export async function openCuttingProxy(
  t: Test,
  gatewayUrl: string | (() => string),
): Promise<CuttingProxy> {
  const urlOf = typeof gatewayUrl === 'string' ? () => gatewayUrl : gatewayUrl;
  const open = new Set<Socket>();
  /** By client. */
  const gateways = new Map<Socket, Socket>();
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    if (proxy.drips) {
      drip(client);
      return;
    }
    const gateway = connect(Number(new URL(urlOf()).port), '127.0.0.1');
    gateways.set(client, gateway);
    for (const socket of [client, gateway]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        gateways.delete(socket);
        client.destroy();
        gateway.destroy();
      });
    }
    client.pipe(gateway).pipe(client);
  });
  const port = await listenOnLoopback(server);
  t.teardown(() => {
    server.close();
    cut();
  });
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${port}`,
    cut,
    swallow() {
      for (const client of gateways.keys()) client.unpipe().resume();
    },
    holdUntilClose() {
      for (const [client, gateway] of gateways) {
        gateway.unpipe();
        client.on('data', ([first]: Buffer) => {
          if (first === closeFrame) gateway.pipe(client);
        });
      }
    },
    drips: false,
  };
  return proxy;

  function drip(client: Socket): void {
    open.add(client);
    client.resume().on('error', () => undefined);
    client.write('HTTP/1.1 101 Switching Protocols\r\nX-Rest: ');
    const timer = setInterval(() => client.write('x'), 1_000);
    client.on('close', () => {
      clearInterval(timer);
      open.delete(client);
    });
  }
}
