/**
 * The only door to uWebSockets.js: chooses its binary, so a change of its package or version touches
 * this file. Corrects what its types get wrong (listen options exist at run time, but not in the
 * typings).
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import type {
  AppOptions,
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  WebSocket,
} from 'uWebSockets.js';

export type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket, WebSocket };

type Native = typeof import('uWebSockets.js');

/** Packages of the newer binary, by platform, architecture and ABI of Node: native-notes/binary.md. */
const newer: Readonly<Record<string, string>> = {
  linux_x64_115: '@uwsjs/linux-x64-20',
  linux_x64_127: '@uwsjs/linux-x64-22',
};

/** What the binary exports, under its own names. Two binaries in one process would not share a loop. */
export const native: Native = await load();

/** The older binary serves where there is no newer one, or where it is not installed. */
async function load(): Promise<Native> {
  const { platform, arch, versions } = process;
  const name = newer[`${platform}_${arch}_${versions.modules}`];
  if (name !== undefined) {
    try {
      return createRequire(import.meta.url)(name) as Native;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return import('uWebSockets.js');
}

/** Paths of PEM files; without both the server speaks plain HTTP. */
export interface TlsFiles {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

export function createApp({ tlsCert, tlsKey }: Partial<TlsFiles> = {}): TemplatedApp {
  if (tlsCert === undefined || tlsKey === undefined) return native.App();
  const options: AppOptions = { cert_file_name: tlsCert, key_file_name: tlsKey };
  return native.SSLApp(options);
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
      port: native.us_socket_local_port(token),
      close: () => {
        native.us_listen_socket_close(token);
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
