import t from 'tap';
import { unsentMsMax } from '../../src/http/body-writer.js';
import type { Exchange } from '../../src/http/exchange.js';
import { createHttpServer } from '../../src/http/server.js';
import type { HttpRequest, HttpResponse, TemplatedApp } from '../../src/http/uws.js';
import { type Route, routes } from '../../src/routes.js';
import { RecordedResponse } from '../support/recorded-response.js';
import { SimulatedClock } from '../support/simulated-clock.js';

type Handler = (res: HttpResponse, req: HttpRequest) => void;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parameter?: string;
  readonly peer?: readonly number[];
  /** Bytes of a body that the socket takes at once. */
  readonly takes?: number;
}

/** The server on an app that only keeps the handlers; `handle` answers 200 unless it is replaced. */
function setUp(
  handle: (exchange: Exchange) => void = (exchange) => exchange.reply(200, '{}'),
  isDraining = false,
) {
  const handlers = new Map<string, Handler>();
  const ended: [operation: string | undefined, status: number, durationMs: number][] = [];
  const handled: Route[] = [];
  const refused: string[] = [];
  const register =
    (method: string) =>
    (path: string, handler: Handler): unknown => {
      handlers.set(`${method} ${path}`, handler);
      return app;
    };
  const app = Object.fromEntries(
    ['get', 'head', 'post', 'put', 'del', 'any'].map((method) => [method, register(method)]),
  );
  const clock = new SimulatedClock();
  const server = createHttpServer({
    routes,
    webSocketPaths: ['/plugin/v1'],
    clock,
    nextTraceId: () => 'trace',
    unsentBytesMax: 1_000,
    addressOf: () => Uint8Array.of(192, 0, 2, 1),
    onRefused: (_, code) => refused.push(code),
    isDraining: () => isDraining,
    handle: (exchange, route) => {
      handled.push(route);
      handle(exchange);
    },
    onEnd: (index, status, durationMs) =>
      ended.push([routes[index]?.operation, status, durationMs]),
    onError: (error) => t.fail(String(error)),
  });
  server.register(app as unknown as TemplatedApp);

  /** Calls the handler that the native router would choose. */
  function ask(asked: Request): RecordedResponse {
    const { method, path, headers = {}, parameter = '', peer, takes = Infinity } = asked;
    const response = new RecordedResponse(peer);
    response.takes = takes;
    const request: Partial<HttpRequest> = {
      forEach(take) {
        for (const [name, value] of Object.entries(headers)) take(name, value);
      },
      getUrl: () => path,
      getMethod: () => method,
      getQuery: () => '',
      getParameter: () => parameter,
    };
    const handler =
      handlers.get(`${method} ${path}`) ?? handlers.get(`any ${path}`) ?? handlers.get('any /*');
    response.inCall(() => handler?.(response.native, request as HttpRequest));
    return response;
  }
  return { server, clock, ask, ended, handled };
}

const nativeMethod = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del' } as const;

t.test('each route of the table has a handler, and each GET one for HEAD', async (t) => {
  for (const route of routes) {
    const method = nativeMethod[route.method];
    for (const each of method === 'get' ? ['get', 'head'] : [method]) {
      const { ask, handled, ended } = setUp();
      const { status, body } = ask({ method: each, path: route.path });
      t.equal(status, '200 OK', `${each} ${route.path}`);
      t.equal(body, each === 'head' ? undefined : '{}');
      t.same(handled, [route]);
      t.same(ended, [[route.operation, 200, 0]]);
    }
  }
});

t.test('another method on a route’s path is 405 with the methods that there are', async (t) => {
  const { ask } = setUp();
  const keys = ask({ method: 'put', path: '/api/api-keys' });
  t.equal(keys.status, '405 Method Not Allowed');
  t.ok(keys.headers.includes('Allow: POST, GET, HEAD'), keys.headers.join());
});

t.test('a path of no route is 404, in the envelope of its part of the API', async (t) => {
  const { ask, ended } = setUp();
  const v1 = ask({ method: 'get', path: '/api/v1/nothing' });
  t.match(JSON.parse(v1.body ?? ''), { error: { code: 'not_found', traceId: 'trace' } });
  const other = ask({ method: 'get', path: '/nothing' });
  t.match(JSON.parse(other.body ?? ''), { code: 'not_found' });
  t.same(ended, [
    [undefined, 404, 0],
    [undefined, 404, 0],
  ]);
});

t.test('a parameter is decoded where it can be', async (t) => {
  const seen: string[] = [];
  const { ask } = setUp((exchange) => {
    seen.push(exchange.request.parameter);
    exchange.reply(200, '');
  });
  const path = routes.find(({ path }) => path.includes(':') && path.includes('signals'))?.path;
  for (const parameter of ['req_1', 'a%20b', '%zz']) {
    ask({ method: 'get', path: path ?? '', parameter });
  }
  t.same(seen, ['req_1', 'a b', '%zz']);
});

t.test('exchanges are open until they are answered or the client is gone', async (t) => {
  const exchanges: Exchange[] = [];
  const { ask, server, clock, ended } = setUp((exchange) => void exchanges.push(exchange));
  const path = '/api/api-keys';
  ask({ method: 'get', path });
  const left = ask({ method: 'get', path });
  t.equal(server.openExchanges, 2);
  clock.advance(7);
  exchanges[0]?.reply(200, '[]');
  t.equal(server.openExchanges, 1);
  left.abort();
  t.equal(server.openExchanges, 0);
  t.same(ended, [
    ['list-keys', 200, 7],
    ['list-keys', 0, 7],
  ]);
});

t.test(
  'an exchange is open until its client has read so much that the socket has taken its answer',
  async (t) => {
    const { server, clock, ask, ended } = setUp((exchange) =>
      exchange.reply(200, 'x'.repeat(1_002)),
    );
    const slow = (): RecordedResponse => ask({ method: 'get', path: '/api/api-keys', takes: 1 });
    const [reads, leaves, stalls] = [slow(), slow(), slow()];
    t.equal(ended.length, 3, 'they are answered');
    t.equal(server.openExchanges, 3);
    reads.takes = 1_000;
    reads.drain();
    t.equal(server.openExchanges, 3, 'one byte is left');
    reads.drain();
    t.equal(server.openExchanges, 2);
    leaves.abort();
    t.equal(server.openExchanges, 1);
    clock.advance(unsentMsMax);
    t.ok(stalls.isClosed);
    // As the native server does when it closes.
    stalls.abort();
    t.equal(server.openExchanges, 0);
  },
);

t.test('an ambiguous request is owed its refusal until its segment has been parsed', async (t) => {
  const { ask, handled } = setUp();
  const path = '/api/api-keys';
  const headers = { 'content-length': '1', 'transfer-encoding': 'chunked' };
  const refused = ask({ method: 'post', path, headers });
  t.notOk(refused.isEnded, 'so that the native server closes on what follows');
  t.same(handled, []);
  t.equal(ask({ method: 'get', path }).status, '200 OK', 'another client of the same address');
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(refused.status, '400 Bad Request');
  t.equal(refused.closesAfter, true);
});

t.test('an expectation that is not met is refused at once where a body is to come', async (t) => {
  const body = { 'content-length': '5' };
  for (const [method, path] of [
    ['post', '/api/api-keys'],
    ['get', '/api/api-keys'],
    ['get', '/nothing'],
  ] as const) {
    const { ask, handled } = setUp();
    const refused = ask({ method, path, headers: { expect: '100-Continue', ...body } });
    t.equal(refused.status, '417 Expectation Failed');
    t.match(JSON.parse(refused.body ?? ''), { code: 'expectation_failed' });
    t.ok(refused.headers.includes('Connection: close'));
    t.equal(refused.closesAfter, false, 'a body that comes all the same is passed over');
    t.same(handled, []);
  }
  const { ask } = setUp();
  const path = '/api/api-keys';
  const none = ask({ method: 'post', path, headers: { expect: '100-Continue' } });
  t.equal(none.status, '200 OK', 'nothing is held back');
  const met = ask({ method: 'post', path, headers: { expect: '100-continue', ...body } });
  t.equal(met.status, '200 OK');
});

t.test('while the gateway drains, a new request is answered with shutting_down', async (t) => {
  const { ask, handled } = setUp(undefined, true);
  const refused = ask({ method: 'get', path: '/api/api-keys' });
  t.equal(refused.status, '503 Service Unavailable');
  t.match(JSON.parse(refused.body ?? ''), { code: 'shutting_down' });
  t.same(handled, []);
});
