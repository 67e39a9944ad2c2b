/**
 * The HTTP routes of the uWS app: registers every route of the table, creates an Exchange for each request and
 * passes it to the handler. Owns the number of open exchanges, and the peers that are blocked for the rest of a
 * turn of the event loop.
 */
import type { Clock } from '../lib/clock.js';
import type { Route } from '../routes.js';
import { Exchange, type ExchangeHost } from './exchange.js';
import { RequestHead } from './request-head.js';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.js';

export interface HttpServerDeps {
  readonly routes: readonly Route[];
  /** WebSocket routes; other requests to them get `upgrade_required`. */
  readonly webSocketPaths: readonly string[];
  readonly clock: Clock;
  readonly nextTraceId: (traceparent: string) => string;
  /** Partition of a client, from its peer address (4 or 16 bytes) and `X-Forwarded-For`. */
  readonly partitionOf: (res: HttpResponse, forwardedFor: string) => string;
  readonly handle: (exchange: Exchange, route: Route) => void | Promise<void>;
  /** While it drains, the gateway answers every new request with `shutting_down`. */
  readonly isDraining: () => boolean;
  /** `routeIndex` is the route's index in the table, or -1; `status` 0 means that the client disconnected. */
  readonly onEnd: (routeIndex: number, status: number, durationMs: number) => void;
  readonly onError: (error: unknown, traceId: string) => void;
}

export interface HttpServer {
  /** Exchanges without a response yet. */
  readonly openExchanges: number;
  register(app: TemplatedApp): void;
}

/** Retry-After in seconds while draining: a restart takes no longer. */
const drainRetryAfter = 1;

const apiPrefix = /^\/api\/v1(?:\/|$)/;

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const blockedPeers = new Set<string>();
  let openExchanges = 0;

  /**
   * Prevents request smuggling: after a rejected ambiguous request, the native parser continues with the rest
   * of the segment, which may contain a smuggled one. Rejects all requests of that peer until the end of this
   * turn of the event loop.
   */
  function blockPeer(address: string): void {
    if (blockedPeers.size === 0) setImmediate(() => blockedPeers.clear());
    blockedPeers.add(address);
  }

  const host: ExchangeHost = {
    partitionOf: deps.partitionOf,
    ended({ request }, status) {
      openExchanges--;
      deps.onEnd(request.routeIndex, status, deps.clock.monotonic() - request.startedAt);
    },
    failed: ({ request }, error) => deps.onError(error, request.traceId),
  };

  function open(
    res: HttpResponse,
    req: HttpRequest,
    route: Route | undefined,
    isHead: boolean,
  ): Exchange {
    const head = new RequestHead(req);
    openExchanges++;
    return new Exchange(res, host, head, {
      isHead,
      traceId: deps.nextTraceId(head.traceparent),
      route: route ?? (apiPrefix.test(req.getUrl()) ? undefined : legacyRoute),
      routeIndex: route === undefined ? -1 : deps.routes.indexOf(route),
      parameter: route?.path.includes(':') === true ? decode(req.getParameter(0) ?? '') : '',
      query: req.getQuery(),
      startedAt: deps.clock.monotonic(),
    });
  }

  function serve(
    res: HttpResponse,
    exchange: Exchange,
    work: (exchange: Exchange) => void | Promise<void>,
  ): void {
    if (exchange.head.isAmbiguous || (blockedPeers.size > 0 && blockedPeers.has(addressOf(res)))) {
      blockPeer(addressOf(res));
      exchange.fail('bad_request', { close: 'forced' });
      return;
    }
    if (deps.isDraining()) {
      exchange.fail('shutting_down', { retryAfter: drainRetryAfter, close: 'announced' });
      return;
    }
    exchange.run(() => work(exchange));
  }

  type Handler = (res: HttpResponse, req: HttpRequest) => void;

  function handlerOf(route: Route, isHead = false): Handler {
    const work = (exchange: Exchange): void | Promise<void> => deps.handle(exchange, route);
    return (res, req) => serve(res, open(res, req, route, isHead), work);
  }

  /** Handles requests that match no route. */
  function refusal(work: (exchange: Exchange) => void): Handler {
    return (res, req) => serve(res, open(res, req, undefined, req.getMethod() === 'head'), work);
  }

  return {
    get openExchanges() {
      return openExchanges;
    },
    register(app) {
      for (const [path, methods] of methodsByPath(deps.routes)) {
        for (const route of deps.routes.filter((candidate) => candidate.path === path)) {
          if (route.method === 'POST') app.post(path, handlerOf(route));
          else if (route.method === 'DELETE') app.del(path, handlerOf(route));
          else app.get(path, handlerOf(route)).head(path, handlerOf(route, true));
        }
        const allow = methods.join(', ');
        app.any(
          path,
          refusal((exchange) => exchange.fail('method_not_allowed', { allow })),
        );
      }
      for (const path of deps.webSocketPaths) {
        app.any(
          path,
          refusal((exchange) => exchange.fail('upgrade_required')),
        );
      }
      app.any(
        '/*',
        refusal((exchange) => exchange.fail('not_found')),
      );
    },
  };
}

/** Used for all unknown paths outside `/api/v1`, so that their errors have the legacy envelope. */
const legacyRoute: Route = {
  operation: 'none',
  method: 'GET',
  path: '/*',
  credential: 'none',
  scope: null,
  envelope: 'legacy',
};

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const route of routes) {
    const known = methods.get(route.path) ?? [];
    known.push(...(route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
    methods.set(route.path, known);
  }
  return methods;
}

/** Identifies a peer within one turn of the event loop. */
function addressOf(res: HttpResponse): string {
  return Buffer.from(res.getRemoteAddress()).toString('latin1');
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
