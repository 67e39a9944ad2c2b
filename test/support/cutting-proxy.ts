/** A TCP proxy in front of a gateway that can cut all connections: what a bad network does to a client. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Test } from 'tap';

export interface CuttingProxy {
  readonly url: string;
  /** Resets every connection that is open; new ones get through. */
  cut(): void;
}

/** Ends with the test. */
export async function openCuttingProxy(t: Test, gatewayUrl: string): Promise<CuttingProxy> {
  const port = Number(new URL(gatewayUrl).port);
  const open = new Set<Socket>();
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    const gateway = connect(port, '127.0.0.1');
    for (const socket of [client, gateway]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        gateway.destroy();
      });
    }
    client.pipe(gateway).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    cut();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}
