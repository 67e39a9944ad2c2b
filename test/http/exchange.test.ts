import t from 'tap';
import { constantBytes } from '../../src/lib/text-bytes.js';
import { Exchange, type RequestContext } from '../../src/http/exchange.js';
import { refusalOf } from '../../src/http/trail-fields.js';
import { RequestHead } from '../../src/http/request-head.js';
import type { HttpRequest } from '../../src/http/uws.js';
import { routes } from '../../src/routes.js';
import { RecordedResponse } from '../support/recorded-response.js';
import { SimulatedClock } from '../support/simulated-clock.js';

const usedUpTurn = 7;
const traceId = '0'.repeat(31) + '1';

function setUp(
  /** `isNew`: the native server's call for it has not begun. */
  change: Partial<RequestContext> & {
    readonly isNew?: boolean;
    readonly keepsAfterHead?: boolean;
    readonly failsToTell?: boolean;
  } = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const response = new RecordedResponse();
  const clock = new SimulatedClock();
  const statuses: number[] = [];
  const errors: unknown[] = [];
  const refused: string[] = [];
  const request: Pick<HttpRequest, 'forEach'> = {
    forEach(take) {
      for (const [name, value] of Object.entries(headers)) take(name, value);
    },
  };
  const exchange = new Exchange(
    response.native,
    {
      clock,
      unsentBytesMax: 100,
      owed: new Set(),
      addressOf: () => Uint8Array.of(192, 0, 2, 1),
      isIn: () => true,
      mustWait: (turn) => turn === usedUpTurn,
      keepsAfterHead: () => change.keepsAfterHead ?? true,
      refused(_, code) {
        if (change.failsToTell) throw new Error('the log has failed');
        refused.push(code);
      },
      ended: (_, status) => statuses.push(status),
      failed: (_, error) => errors.push(error),
    },
    new RequestHead(request as HttpRequest),
    {
      isHead: false,
      traceId,
      route: undefined,
      routeIndex: -1,
      parameter: '',
      query: '',
      startedAt: 0,
      turn: 0,
      ...change,
    },
  );
  if (!change.isNew) response.inCall(() => exchange.begin(() => undefined));
  return { exchange, response, clock, statuses, errors, refused };
}

t.test('an answer has its status, the trace id, its type and its body, once', async (t) => {
  const { exchange, response, statuses } = setUp();
  const start = constantBytes('\r\nRateLimit-Policy: p\r\nRateLimit: r=');
  exchange.rateLimit = { start, remaining: 1_199, seconds: 60 };
  exchange.reply(202, '{}', [['Location', '/x']]);
  t.equal(response.status, '202 Accepted');
  t.same(response.headers, [
    `X-Trace-Id: ${traceId}`,
    'RateLimit-Policy: p',
    'RateLimit: r=1199;t=60',
    'Location: /x',
    'Content-Type: application/json; charset=utf-8',
  ]);
  t.equal(response.body, '{}');
  exchange.reply(200, 'again');
  exchange.fail('internal_error');
  t.equal(
    exchange.openStream('', { onDrained: () => undefined, onClosed: () => undefined }),
    undefined,
  );
  t.same(statuses, [202]);
  t.equal(exchange.isOver, true);
});

t.test('an answer that has to wait is given in the next turn, and is the only one', async (t) => {
  const { exchange, response, statuses, refused } = setUp({ turn: usedUpTurn });
  exchange.fail('not_found');
  t.equal(exchange.isOver, true);
  exchange.fail('internal_error');
  exchange.reply(200, '{}');
  t.strictSame([statuses, refused, response.status], [[], ['not_found'], '']);
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame([statuses, response.status], [[404], '404 Not Found']);
});

t.test('an answer that has to wait is not written when the client has left', async (t) => {
  const { exchange, response, statuses } = setUp({ turn: usedUpTurn });
  exchange.reply(200, '{}');
  response.abort();
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame([statuses, response.status], [[0], '']);
});

t.test(
  'an answer within the native server’s call needs no cork, and nobody listens for it',
  async (t) => {
    const { exchange, response, statuses } = setUp({ isNew: true });
    response.inCall(() => exchange.begin(() => exchange.reply(200, '{}')));
    t.strictSame([response.status, response.isListenedTo, statuses], ['200 OK', false, [200]]);
    const body = setUp();
    body.exchange.readBody(100, () => body.exchange.fail('invalid_signal'));
    body.response.receive('{}', true);
    t.equal(body.response.status, '422 Unprocessable Entity');
    t.ok(body.response.isListenedTo, 'the client could leave before its body came');
  },
);

t.test('who has no whole answer at the end of the call is listened for', async (t) => {
  const open = setUp({ isNew: true });
  open.response.inCall(() => open.exchange.begin(() => undefined));
  open.response.abort();
  t.same(open.statuses, [0]);
  const waiting = setUp({ isNew: true, turn: usedUpTurn });
  waiting.response.inCall(() => waiting.exchange.begin(() => waiting.exchange.reply(200, '{}')));
  waiting.response.abort();
  t.same(waiting.statuses, [0]);
  const owed = setUp({ isNew: true });
  owed.response.takes = 1;
  owed.response.inCall(() => owed.exchange.begin(() => owed.exchange.reply(200, '{}')));
  t.ok(owed.response.isListenedTo, 'the native server ends the process otherwise');
  const failed = setUp({ isNew: true });
  const bug = new Error('bug');
  const work = (): void => {
    throw bug;
  };
  t.throws(() => failed.response.inCall(() => failed.exchange.begin(work)), bug);
  t.ok(failed.response.isListenedTo);
});

t.test('a client that leaves while much of its answer waits is not closed later', async (t) => {
  const { exchange, response, clock, statuses } = setUp();
  response.takes = 1;
  exchange.reply(200, 'x'.repeat(200));
  response.abort();
  clock.advance(60_000);
  t.equal(response.isClosed, false);
  t.strictSame(statuses, [200]);
});

t.test('a stream that ends within the call is not listened to', async (t) => {
  for (const end of ['end', 'abort'] as const) {
    const { exchange, statuses, errors } = setUp({ isNew: true });
    const ends: string[] = [];
    const work = (): void => {
      const events = { onDrained: () => undefined, onClosed: (how: string) => void ends.push(how) };
      exchange.openStream('', events)?.[end]();
    };
    t.doesNotThrow(() => exchange.begin(work), end);
    t.strictSame([statuses, errors, ends.length], [[200], [], 1]);
  }
});

t.test('an answer that waits keeps its body while others are given', async (t) => {
  const { exchange, response } = setUp({ turn: usedUpTurn });
  exchange.fail('not_found');
  const other = setUp();
  other.exchange.fail('invalid_signal', { message: 'x'.repeat(500) });
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(response.body?.includes('"code":"not_found"'), true);
});

t.test('nothing is written once the client is gone', async (t) => {
  const { exchange, response, statuses } = setUp();
  response.abort();
  exchange.reply(200, '{}');
  exchange.fail('internal_error');
  t.equal(response.status, '');
  t.same(statuses, [0]);
});

t.test('the end of an exchange is told once, be it an answer or that the client left', (t) => {
  const ends = {
    answered: ({ exchange }: ReturnType<typeof setUp>) => exchange.reply(200, '{}'),
    left: ({ response }: ReturnType<typeof setUp>) => response.abort(),
  };
  for (const [name, end] of Object.entries(ends)) {
    const all = setUp();
    const told: string[] = [];
    all.exchange.onOver(() => told.push('then'));
    t.strictSame(told, [], `not ${name}`);
    end(all);
    end(all);
    t.strictSame(told, ['then'], name);
    all.exchange.onOver(() => told.push('at once'));
    t.strictSame(told, ['then', 'at once'], `${name} before`);
  }
  t.end();
});

t.test('a refusal is told once, before its answer, with the client’s address', async (t) => {
  const { exchange, refused } = setUp({ routeIndex: 0, route: routes[0] });
  exchange.userId = 'u1';
  exchange.keyId = 7;
  t.same(refusalOf(exchange, 'invalid_signal'), {
    traceId,
    route: 'POST /api/auth/login',
    status: 422,
    code: 'invalid_signal',
    clientAddress: '192.0.2.1',
    userId: 'u1',
    keyId: 7,
  });
  exchange.fail('invalid_signal');
  exchange.fail('internal_error');
  t.same(refused, ['invalid_signal']);
  t.equal(exchange.clientAddress, 'unknown', 'the native response has none any more');
  const gone = setUp();
  gone.response.abort();
  gone.exchange.fail('invalid_signal');
  t.same(gone.refused, []);
  const accepted = setUp();
  accepted.exchange.reply(202, '{}');
  t.same(accepted.refused, []);
  t.equal(refusalOf(setUp().exchange, 'not_found').route, 'none');
});

t.test(
  'a HEAD gets the length and no body, and may be the last one; 204 gets neither',
  async (t) => {
    const head = setUp({ isHead: true });
    head.exchange.reply(200, '{"a":"ü"}');
    t.equal(head.response.body, undefined);
    t.ok(head.response.headers.includes('Content-Length: 10'));
    t.notOk(head.response.closesAfter);
    const last = setUp({ isHead: true, keepsAfterHead: false });
    last.exchange.reply(200, '{"a":"ü"}');
    t.equal(last.response.body, '');
    t.ok(last.response.closesAfter);
    const none = setUp();
    none.exchange.reply(204, '');
    t.equal(none.response.isEnded, true);
    t.equal(none.response.body, undefined);
    t.same(none.response.headers, [`X-Trace-Id: ${traceId}`]);
  },
);

t.test('a line break in a header’s value becomes a space', async (t) => {
  const { exchange, response } = setUp();
  exchange.reply(200, '', [['X-Value', 'a\r\nSet-Cookie: b\0']]);
  t.ok(response.headers.includes('X-Value: a  Set-Cookie: b '));
});

t.test('an error has the envelope of its route', async (t) => {
  const legacy = routes.find(({ envelope }) => envelope === 'legacy');
  const v1 = routes.find(({ envelope }) => envelope !== 'legacy');
  const details = [{ field: 'a', code: 'required' }];
  const old = setUp({ route: legacy });
  old.exchange.fail('validation_failed', { details });
  t.match(JSON.parse(old.response.body ?? ''), { code: 'validation_failed', errors: details });
  const current = setUp({ route: v1 });
  current.exchange.fail('invalid_signal', { details, requestId: 'req_1' });
  t.match(JSON.parse(current.response.body ?? ''), {
    error: { code: 'invalid_signal', traceId, details },
    requestId: 'req_1',
  });
});

t.test('an error has the headers that its status asks for', async (t) => {
  const rows = [
    { code: 'api_rate_limited', failure: { retryAfter: 0 }, line: 'Retry-After: 1' },
    { code: 'api_rate_limited', failure: { retryAfter: 0.2 }, line: 'Retry-After: 1' },
    { code: 'api_rate_limited', failure: { retryAfter: 1.2 }, line: 'Retry-After: 2' },
    { code: 'method_not_allowed', failure: { allow: 'GET' }, line: 'Allow: GET' },
    { code: 'invalid_api_key', failure: {}, line: 'WWW-Authenticate: Bearer' },
    { code: 'upgrade_required', failure: {}, line: 'Upgrade: websocket' },
    { code: 'bad_request', failure: { close: 'announced' }, line: 'Connection: close' },
  ] as const;
  for (const { code, failure, line } of rows) {
    const { exchange, response } = setUp();
    exchange.fail(code, failure);
    t.ok(response.headers.includes(line), `${code}: ${line}`);
    t.equal(response.closesAfter, false);
  }
  const forced = setUp();
  forced.exchange.fail('bad_request', { close: 'forced' });
  t.equal(forced.response.closesAfter, true);
});

t.test('an answer to the last request of a connection says once that it closes', async (t) => {
  const announced = (response: RecordedResponse) =>
    response.headers.filter((line) => line === 'Connection: close').length;
  const last = { connection: 'TE, close' };
  type Answer = (exchange: Exchange) => void;
  for (const [name, answer] of Object.entries<Answer>({
    'with a body': (exchange) => exchange.reply(200, '{}'),
    'with none': (exchange) => exchange.reply(204, ''),
    'a refusal': (exchange) => exchange.fail('not_found'),
    'a refusal that announces it anyway': (exchange) =>
      exchange.fail('request_body_too_large', { close: 'announced' }),
    'a stream': (exchange) =>
      exchange.openStream('', { onDrained: () => undefined, onClosed: () => undefined }),
  })) {
    const { exchange, response } = setUp({}, last);
    answer(exchange);
    t.equal(announced(response), 1, name);
    t.equal(response.closesAfter, false, `${name}: what is unread stays bounded`);
    const head = setUp({ isHead: true }, last);
    answer(head.exchange);
    t.equal(announced(head.response), 1, `${name}, to HEAD`);
    const other = setUp({}, { connection: 'keep-alive' });
    answer(other.exchange);
    t.equal(announced(other.response), name.endsWith('anyway') ? 1 : 0, name);
  }
  for (const change of [{}, { isHead: true, keepsAfterHead: false }]) {
    const { exchange, response } = setUp(change, last);
    exchange.fail('bad_request', { close: change.isHead ? 'announced' : 'forced' });
    t.equal(announced(response), 0, 'the native server says so of what it ends itself');
    t.equal(response.closesAfter, true);
  }
});

t.test('a body comes whole, in however many parts', async (t) => {
  for (const parts of [['{"a":1}'], ['{"a"', ':1}'], ['', '{', '"a":1', '}'], ['{"a":1}', '']]) {
    for (const headers of [{}, { 'content-length': '7' }]) {
      const { exchange, response } = setUp({}, headers);
      const bodies: string[] = [];
      exchange.readBody(100, (body) => void bodies.push(Buffer.from(body).toString()));
      parts.forEach((part, index) => response.receive(part, index === parts.length - 1));
      t.same(bodies, ['{"a":1}'], JSON.stringify(parts));
    }
  }
});

t.test('a body beyond the limit is 413, as announced or as it comes', async (t) => {
  const announced = setUp({}, { 'content-length': '101' });
  announced.exchange.readBody(100, () => void t.fail('it was not to be read'));
  t.equal(announced.response.status, '413 Payload Too Large');
  const comes = setUp();
  comes.exchange.readBody(100, () => void t.fail('it was not to be read'));
  comes.response.receive('x'.repeat(60), false);
  comes.response.receive('x'.repeat(60), false);
  t.equal(comes.response.status, '413 Payload Too Large');
  comes.response.receive('x', true);
  t.same(comes.statuses, [413]);
});

t.test('a throw in an endpoint is told and answered with 500, also a late one', async (t) => {
  const bug = new Error('bug');
  const { exchange, response, errors } = setUp();
  exchange.run(() => {
    throw bug;
  });
  t.equal(response.status, '500 Internal Server Error');
  t.same(errors, [bug]);
  const late = setUp();
  late.exchange.run(() => Promise.reject(bug));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(late.response.status, '500 Internal Server Error');
  t.same(late.errors, [bug]);
});

t.test(
  'a stream is left open after its head and first words; a HEAD gets the head alone',
  async (t) => {
    const { exchange, response, statuses } = setUp();
    const ends: string[] = [];
    const events = { onDrained: () => undefined, onClosed: (end: string) => void ends.push(end) };
    t.ok(exchange.openStream('retry: 1000\n\n', events));
    t.equal(response.status, '200 OK');
    t.ok(response.headers.includes('Content-Type: text/event-stream'));
    t.same(response.written, ['retry: 1000\n\n']);
    t.equal(response.isEnded, false);
    response.abort();
    t.same(ends, ['left']);
    t.same(statuses, [200]);
    const head = setUp({ isHead: true });
    t.equal(head.exchange.openStream('retry: 1000\n\n', events), undefined);
    t.same(head.response.written, []);
    t.equal(head.response.isEnded, true);
    t.notOk(head.response.headers.some((line) => line.startsWith('Content-Length')));
  },
);

t.test('a refusal that cannot be told is answered all the same', (t) => {
  const { exchange, response, errors } = setUp({ failsToTell: true });
  exchange.fail('not_found');
  t.match(response.status, /^404/);
  t.match(errors, [{ message: 'the log has failed' }]);
  t.end();
});
