/**
 * Serves health checks and metrics on the ops port, with a separate node:http server, so that it responds
 * while the API port drains. Owns its socket from `listen` to `close`.
 */
import { hostInUrl } from '../lib/host.js';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { BucketMap } from '../quota/token-bucket.js';
import { StartRefused } from '../store/refusal.js';
import type { Metrics } from './metrics.js';

export interface OpsServerDeps {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** `reason` is the text of the `/readyz` response. */
  readonly readiness: () => { readonly ready: boolean; readonly reason: string };
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export interface OpsServer {
  /** @returns the URL with the actual port. Rejects with `StartRefused` when the port cannot be opened. */
  listen(): Promise<string>;
  /** Closes all connections without a drain. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Enough for scrapers and probes; bounds the file handles. */
export const connectionsMax = 64;
/** Answers to one address: more than a monitor needs, too few to delay an order. */
export const answersPerSecondMax = 1_000;
/** Short, because a silent connection takes a scraper's place. */
const requestTimeoutMs = 2_000;
const unreadTimeoutMs = 10_000;
const timeouts = {
  headersTimeout: requestTimeoutMs,
  requestTimeout: requestTimeoutMs,
  /** Node checks these timeouts every 30 s by default. */
  connectionsCheckingInterval: 1_000,
};
const plainText = 'text/plain; charset=utf-8';
const allowedMethods = ['GET', 'HEAD'];

export function createOpsServer({
  host,
  port,
  readiness,
  metrics,
  clock,
}: OpsServerDeps): OpsServer {
  const open = new Set<Socket>();
  const budgets = new BucketMap<string | undefined>(answersPerSecondMax, { windowMs: 1_000 });
  const budgetOf = (address: string | undefined) => budgets.of(address, clock.monotonic());

  const pages: Record<string, () => Answer | Promise<Answer>> = {
    '/healthz': () => text(200, 'ok'),
    '/readyz': () => {
      const { ready, reason } = readiness();
      return text(ready ? 200 : 503, reason);
    },
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.scrape(),
    }),
  };

  async function answer(request: IncomingMessage): Promise<Answer> {
    const path = (request.url ?? '').split('?', 1)[0] as string;
    const page = pages[path];
    if (page === undefined)
      return text(404, 'No such page. The ops port has /healthz, /readyz and /metrics.');
    if (!allowedMethods.includes(request.method ?? '')) return text(405, 'Use GET or HEAD.');
    return page();
  }

  /** Closes all connections of the address: the requests of each would be parsed before it could be cut off. */
  function cutOff(address: string | undefined): void {
    for (const socket of open) if (socket.remoteAddress === address) socket.destroy();
  }

  const server = createServer(timeouts, (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const { remoteAddress } = socket;
    if (!budgetOf(remoteAddress).take(clock.monotonic())) return cutOff(remoteAddress);
    answer(request).then(
      (found) => send(response, request, found),
      (error: unknown) => {
        // A 500, because an empty scrape would look like an idle gateway.
        send(response, request, text(500, `The answer could not be made: ${String(error)}`));
      },
    );
  });
  server.maxConnections = connectionsMax;
  server.timeout = unreadTimeoutMs;
  server.on('connection', (socket) => {
    if (budgetOf(socket.remoteAddress).remaining(clock.monotonic()) === 0) socket.destroy();
    else open.add(socket.once('close', () => open.delete(socket)));
  });

  return {
    async listen() {
      await bind(server, host, port);
      const { address, port: realPort } = server.address() as AddressInfo;
      return `http://${hostInUrl(address)}:${realPort}`;
    },
    close() {
      return new Promise((resolve) => {
        // Its only error is that the server is not open.
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE' ? 'another program uses it already' : error.message;
      reject(
        new StartRefused(
          `The ops port ${host}:${port} cannot be opened: ${reason}. Choose another with ` +
            '--ops-host and --ops-port; port 0 takes any that is free.',
          { cause: error },
        ),
      );
    });
    server.listen({ host, port, exclusive: true }, resolve);
  });
}

function text(status: number, body: string): Answer {
  return { status, contentType: plainText, body };
}

function send(response: ServerResponse, request: IncomingMessage, answer: Answer): void {
  response.writeHead(answer.status, {
    'Content-Type': answer.contentType,
    'Content-Length': Buffer.byteLength(answer.body),
    'Cache-Control': 'no-store',
    ...(answer.status === 405 ? { Allow: allowedMethods.join(', ') } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}
