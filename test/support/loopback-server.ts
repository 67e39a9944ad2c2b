/** Servers of the tests: on any free port of loopback, and closed without waiting for their clients. */
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { WebSocketServer } from 'ws';

/** @returns the port. */
export async function listenOnLoopback(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Breaks every connection, those that have become WebSockets too. */
export function closeServer(server: HttpServer, webSockets?: WebSocketServer): Promise<void> {
  return new Promise((resolve) => {
    for (const socket of webSockets?.clients ?? []) socket.terminate();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
