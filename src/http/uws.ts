/**
 * The only import of uWebSockets.js: chooses its binary, so that only this file depends on its package and
 * version. Corrects its types, which lack the options of `listen`.
 */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { errorText } from '../lib/error-text.js';
import { StartRefused } from '../store/refusal.js';
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

/** @throws StartRefused when the native server does not take the files. */
export function createApp({ tlsCert, tlsKey }: Partial<TlsFiles> = {}): TemplatedApp {
  if (tlsCert === undefined || tlsKey === undefined) return native.App();
  const options: AppOptions = { cert_file_name: tlsCert, key_file_name: tlsKey };
  try {
    return native.SSLApp(options);
  } catch (error) {
    throw new StartRefused(
      `TLS cannot be spoken with the certificate ${tlsCert} and the key ${tlsKey}. Give a chain of which every ` +
        'certificate is whole, and a key of RSA, Ed25519 or the curves P-256, P-384 or P-521.',
      { cause: error },
    );
  }
}

/** Without this option a second listener on the same port would succeed and share the traffic. */
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

/** Port 0 takes any free port. @throws StartRefused when the address cannot be bound. */
export async function listen(app: TemplatedApp, host: string, port: number): Promise<Listener> {
  const free = await freePort(host, port).catch((error: unknown) => {
    throw new StartRefused(unboundText(host, port, error), { cause: error });
  });
  let listener: Listener | undefined;
  (app.listen as unknown as ListenWithOptions)(host, free, exclusivePort, (token) => {
    if (token === false) return;
    listener = {
      port: native.us_socket_local_port(token),
      close: () => {
        native.us_listen_socket_close(token);
      },
    };
  });
  if (listener === undefined) throw new StartRefused(unboundText(host, port, undefined));
  return listener;
}

function unboundText(host: string, port: number, error: unknown): string {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || code === 'EADDRINUSE') {
    return (
      `Cannot listen on ${host}:${port}. Is another program using this port? ` +
      'Choose another with --port.'
    );
  }
  return code === 'EACCES'
    ? `Cannot listen on ${host}:${port}: the system does not allow this port. Choose another with --port.`
    : `Cannot listen on ${host}: ${errorText(error)}. Give an address of this machine with --host.`;
}

/**
 * Asks Node for the port, because the native server gives no reason for a failure. Nor could a gateway that
 * restarts after a crash have a port of the native server's choice again, until a minute after its last
 * connection. Rejects with the system's error.
 */
async function freePort(host: string, wanted: number): Promise<number> {
  const probe = createServer();
  probe.listen({ port: wanted, host, exclusive: true });
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
