/**
 * The HTTP routes of the uWS app: registers every route of the table, creates an Exchange for each request and
 * passes it to the handler. Owns the number of open exchanges.
 */
import type { ErrorCode } from '../errors.js';
import type { Clock } from '../lib/clock.js';
import type { Route } from '../routes.js';
import type { AddressOf } from './address-of.js';
import { BucketMap } from '../quota/token-bucket.js';
import { AnswersPerTurn } from './answers-per-turn.js';
import type { OwedBody } from './body-writer.js';
import { Exchange, type ExchangeHost } from './exchange.js';
import { RequestHead } from './request-head.js';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.js';

export interface HttpServerDeps {
  readonly routes: readonly Route[];
  /** WebSocket routes; other requests to them get `upgrade_required`. */
  readonly webSocketPaths: readonly string[];
  readonly clock: Clock;
  readonly nextTraceId: (traceparent: string) => string;
  /** The client's address, of 4 or 16 bytes, from its socket and `X-Forwarded-For`. */
  readonly addressOf: AddressOf;
  /** Bytes of an answer that may wait for a client that does not read. */
  readonly unsentBytesMax: number;
  readonly handle: (exchange: Exchange, route: Route) => void | Promise<void>;
  /** While it drains, the gateway answers every new request with `shutting_down`. */
  readonly isDraining: () => boolean;
  /** `routeIndex` is the route's index in the table, or -1; `status` 0 means that the client disconnected. */
  readonly onEnd: (routeIndex: number, status: number, durationMs: number) => void;
  /** Called before the response of a refusal is written. */
  readonly onRefused: (exchange: Exchange, code: ErrorCode) => void;
  readonly onError: (error: unknown, traceId: string) => void;
}

export interface HttpServer {
  /** Exchanges without a response yet, or with one of which a part waits for the client to read on. */
  readonly openExchanges: number;
  register(app: TemplatedApp): void;
}

/** The native server's function for each method. */
const verbs = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del' } as const;

/** The route of a request, and what is read for it. */
interface Place {
  readonly route: Route | undefined;
  /** In the table of routes. */
  readonly index: number;
  readonly hasParameter: boolean;
  /** Whether the endpoint may read the query: asking for it is a call into native code. */
  readonly hasQuery: boolean;
}
const nowhere: Place = { route: undefined, index: -1, hasParameter: false, hasQuery: false };

/**
 * Answers to HEAD for one client; each further one ends its connection, and has the length 0. Nothing tells
 * whether the client reads them, and the native server keeps those that it does not
 * (native-notes/backpressure.md).
 */
const headsPerMinuteMax = 600;

/** Retry-After in seconds while draining: a restart takes no longer. */
const drainRetryAfter = 1;

const apiPrefix = /^\/api\/v1(?:\/|$)/;

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  let openExchanges = 0;
  const owed = new Set<OwedBody>();
  const answers = new AnswersPerTurn();
  const heads = new BucketMap<string>(headsPerMinuteMax);

  const host: ExchangeHost = {
    addressOf: deps.addressOf,
    clock: deps.clock,
    unsentBytesMax: deps.unsentBytesMax,
    owed,
    isIn: (turn) => turn === answers.current(),
    mustWait: (turn) => answers.isUsedUp(turn),
    keepsAfterHead(exchange) {
      const now = deps.clock.monotonic();
      return heads.of(exchange.partition, now).take(now);
    },
    refused: deps.onRefused,
    ended({ request }, status) {
      openExchanges--;
      deps.onEnd(request.routeIndex, status, deps.clock.monotonic() - request.startedAt);
    },
    failed: ({ request }, error) => deps.onError(error, request.traceId),
  };

  function open(res: HttpResponse, req: HttpRequest, at: Place, isHead: boolean): Exchange {
    const head = new RequestHead(req);
    openExchanges++;
    return new Exchange(res, host, head, {
      isHead,
      traceId: deps.nextTraceId(head.traceparent),
      route: at.route ?? (apiPrefix.test(req.getUrl()) ? undefined : legacyRoute),
      routeIndex: at.index,
      parameter: at.hasParameter ? decode(req.getParameter(0) ?? '') : '',
      query: at.hasQuery ? textOf(req.getQuery()) : '',
      startedAt: deps.clock.monotonic(),
      turn: answers.current(),
    });
  }

  function admit(exchange: Exchange, work: (exchange: Exchange) => void | Promise<void>): void {
    const { head } = exchange;
    if (head.isAmbiguous) return refuseLater(exchange);
    if (head.hasUnmetExpectation && head.hasBody) {
      exchange.fail('expectation_failed', { close: 'announced' });
      return;
    }
    if (deps.isDraining()) {
      exchange.fail('shutting_down', { retryAfter: drainRetryAfter, close: 'announced' });
      return;
    }
    exchange.run(work);
  }

  type Handler = (res: HttpResponse, req: HttpRequest) => void;

  function handlerOf(route: Route, isHead = false): Handler {
    const index = deps.routes.indexOf(route);
    const place: Place = {
      route,
      index,
      hasParameter: route.path.includes(':'),
      hasQuery: route.method === 'GET',
    };
    const work = (exchange: Exchange): void | Promise<void> => deps.handle(exchange, route);
    const begin = (exchange: Exchange): void => admit(exchange, work);
    return (res, req) => open(res, req, place, isHead).begin(begin);
  }

  /** Handles requests that match no route. */
  function refusal(work: (exchange: Exchange) => void): Handler {
    const begin = (exchange: Exchange): void => admit(exchange, work);
    return (res, req) => open(res, req, nowhere, req.getMethod() === 'head').begin(begin);
  }

  return {
    get openExchanges() {
      return openExchanges + owed.size;
    },
    register(app) {
      for (const [path, methods] of methodsByPath(deps.routes)) {
        for (const route of deps.routes.filter((candidate) => candidate.path === path)) {
          app[verbs[route.method]](path, handlerOf(route));
          if (route.method === 'GET') app.head(path, handlerOf(route, true));
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

/**
 * Prevents request smuggling: after an ambiguous request, the native parser goes on with the rest of the
 * segment, which may hold a smuggled one. While a response is owed, the parser closes the connection at a
 * further request, and calls no handler. So the refusal waits until the parser is done with the segment.
 * Nothing is remembered about the address, which other clients may share.
 */
function refuseLater(exchange: Exchange): void {
  setImmediate(() => exchange.fail('bad_request', { close: 'forced' }));
}

/** The native server's types do not say that it gives undefined for a target without a query. */
function textOf(query: string | undefined): string {
  return query ?? '';
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
