/**
 * The HTTP side of the one uWS process: registers every route of the table, makes an Exchange of
 * every request and hands it on. Owns what spans requests: how many are open, which connections are
 * condemned, whether the gateway drains.
 */
import type { Clock } from '../lib/clock.js';
import type { Route } from '../routes.js';
import { Exchange, type ExchangeHost } from './exchange.js';
import { RequestHead } from './request-head.js';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.js';

export interface HttpServerDeps {
  readonly routes: readonly Route[];
  /** Paths that another room serves to WebSocket clients: plain requests are told so. */
  readonly webSocketPaths: readonly string[];
  readonly clock: Clock;
  readonly nextTraceId: (traceparent: string) => string;
  /** Partition of a client, from its peer address (4 or 16 bytes) and `X-Forwarded-For`. */
  readonly partitionOf: (res: HttpResponse, forwardedFor: string) => string;
  readonly handle: (exchange: Exchange, route: Route) => void | Promise<void>;
  /** While it drains, the gateway answers every new request with `shutting_down`. */
  readonly isDraining: () => boolean;
  /** `routeIndex` is the route's place in the table, or -1; `status` 0 means the client left. */
  readonly onEnd: (routeIndex: number, status: number, durationMs: number) => void;
  readonly onError: (error: unknown, traceId: string) => void;
}

export interface HttpServer {
  /** Exchanges that have no answer yet. */
  readonly openExchanges: number;
  register(app: TemplatedApp): void;
}

/** Seconds until a client should try again: a restart takes no longer. */
const drainRetryAfter = 1;

const apiPrefix = /^\/api\/v1(?:\/|$)/;

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const condemned = new Set<string>();
  let openExchanges = 0;

  /**
   * The native parser goes on reading the segment after an ambiguous request was refused and would
   * run the smuggled one behind it. Until this turn of the loop is over, nothing from that address
   * is executed.
   */
  function condemn(address: string): void {
    if (condemned.size === 0) setImmediate(() => condemned.clear());
    condemned.add(address);
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
    if (exchange.head.isAmbiguous || (condemned.size > 0 && condemned.has(addressOf(res)))) {
      condemn(addressOf(res));
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

  /** For what no route takes. */
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

/** Stands for every path outside `/api/v1`: its errors have the legacy shape. */
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

/** Names a peer within one turn of the loop. */
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
