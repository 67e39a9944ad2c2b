/**
 * The only door to uWebSockets.js: a change of its package or version touches this file. Corrects
 * what its types get wrong (listen options exist at run time, but not in the typings).
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import {
  App,
  SSLApp,
  us_listen_socket_close,
  us_socket_local_port,
  type AppOptions,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  type WebSocket,
} from 'uWebSockets.js';

export type { HttpRequest, HttpResponse, TemplatedApp, WebSocket };

/** Paths of PEM files; without both the server speaks plain HTTP. */
export interface TlsFiles {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

export function createApp({ tlsCert, tlsKey }: Partial<TlsFiles> = {}): TemplatedApp {
  if (tlsCert === undefined || tlsKey === undefined) return App();
  const options: AppOptions = { cert_file_name: tlsCert, key_file_name: tlsKey };
  return SSLApp(options);
}

/** Without it a second listener on the same port would succeed and share the traffic. */
const exclusivePort = 1;

type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (token: us_listen_socket | false) => void,
) => void;

export interface Listener {
  readonly port: number;
  /** Stops accepting; what is open stays open. */
  close(): void;
}

/** Port 0 takes any free port. @returns undefined when the address cannot be bound. */
export async function listen(
  app: TemplatedApp,
  host: string,
  port: number,
): Promise<Listener | undefined> {
  const wanted = port === 0 ? await freePort(host) : port;
  let listener: Listener | undefined;
  (app.listen as unknown as ListenWithOptions)(host, wanted, exclusivePort, (token) => {
    if (token === false) return;
    listener = {
      port: us_socket_local_port(token),
      close: () => {
        us_listen_socket_close(token);
      },
    };
  });
  return listener;
}

/**
 * The native server lets its own choice of a port be reused only after the last connection's minute
 * of waiting; a gateway that is started again after a crash could not have the same port.
 */
async function freePort(host: string): Promise<number> {
  const probe = createServer();
  probe.listen(0, host);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
