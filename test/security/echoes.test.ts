/**
 * No value that comes from outside can end a line of the gateway's: not in the head of an answer, not
 * in an event stream, not in the log. Every place that could come back is fed with line breaks in all
 * their spellings, as bytes on the socket, and every line that comes back is one that belongs there.
 */
import t, { type Test } from 'tap';
import { pluginPath, subprotocol } from '../../src/plugins/protocol.js';
import { routes, type Route } from '../../src/routes.js';
import { createLog } from '../../src/telemetry/log.js';
import { signal } from '../support/api.js';
import { event, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { openReader, sourceQuery } from '../support/event-reader.js';
import { RawClient, request } from '../support/raw-client.js';

const gateway = await startTestGateway(t, { users: 1, config: { logLevel: 'trace' } });
const user = await gateway.user();
const terminal = await gateway.plugin(user);
const order = await gateway.order(user, terminal);

/** What an attacker would like to see on a line of its own. */
const planted = 'X-Planted: yes';

/** Bytes in a head's value that some readers take for a line break, and that the parser lets through. */
const carried: Readonly<Record<string, string>> = {
  'CR LF, percent-encoded': '%0d%0a',
  'CR LF, percent-encoded twice': '%250d%250a',
  'LF, as an overlong UTF-8': '\xc0\x8a',
  'letters whose low bytes are CR LF': bytesOf('\u560d\u560a'),
  NEL: bytesOf('\u0085'),
  'U+2028 and U+2029': bytesOf('\u2028\u2029'),
  'CR LF, escaped as JSON': '\\r\\n',
  DEL: '\x7f',
};
/** Bytes that end a head's value, or that no head may hold. */
const forbidden: Readonly<Record<string, string>> = {
  CR: '\r',
  LF: '\n',
  NUL: '\0',
  'a folded line': '\r\n ',
  'VT and FF': '\x0b\x0c',
};
/** Headers that decide what becomes of a request, tried one by one; the others all at once. */
const decisive = ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID'];
const idle = [
  ...['traceparent', 'tracestate', 'X-Trace-Id', 'X-Request-Id', 'Origin', 'Referer', 'User-Agent'],
  ...['Accept', 'Allow', 'Cookie', 'X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'Location'],
];

/** Every header that an answer of the API port may have, each on one line of printable ASCII. */
const answerLine =
  /^(?:Date|uWebSockets|X-Trace-Id|RateLimit-Policy|RateLimit|Content-Type|Content-Length|Retry-After|Location|Allow|WWW-Authenticate|Upgrade|Connection|Cache-Control|Pragma|Idempotent-Replayed|X-Accel-Buffering|Transfer-Encoding|Sec-WebSocket-Accept|Sec-WebSocket-Protocol): [\x20-\x7e]+$/;

/** What is wrong with the head or the body of an answer; undefined when nothing is. */
function faultIn(head: string, body: string): string | undefined {
  const [status = '', ...lines] = head.split('\r\n');
  if (!/^HTTP\/1\.1 [1-5]\d\d [A-Za-z ]+$/.test(status)) return `status line ${status}`;
  const odd = lines.find((line) => !answerLine.test(line));
  if (odd !== undefined) return `line ${JSON.stringify(odd)}`;
  const names = lines.map((line) => line.slice(0, line.indexOf(':')));
  if (new Set(names).size !== names.length) return `a header twice: ${names.join(' ')}`;
  return /[\r\n\0]/.test(body) ? `a line break in the body: ${JSON.stringify(body)}` : undefined;
}

/**
 * @param path of a GET, where the answer alone does not say which operation it belongs to.
 * @returns the fault of the answer, or that no answer came; undefined if nothing is wrong.
 */
async function faultOf(bytes: string, path = ''): Promise<string | undefined> {
  const client = await RawClient.connect(gateway.url);
  await client.send(bytes);
  const answer = await client.answer(path === '' ? {} : { request: { method: 'GET', path } });
  const fault = answer === undefined ? 'no answer' : faultIn(answer.head, answer.body);
  const rest = client.unread;
  client.cut();
  // What follows an upgrade or the head of a stream is no answer.
  const isOpen = answer?.status === 101 || answer?.headers['transfer-encoding'] !== undefined;
  return fault ?? (rest === '' || isOpen ? undefined : `more than an answer: ${rest}`);
}

function usualLines(route: Route): string[] {
  const credential = route.credential === 'user-token' ? user.token : user.key;
  return [
    `Authorization: Bearer ${credential}`,
    'Content-Type: application/json',
    'Idempotency-Key: usual',
  ];
}

function pathOf(route: Route, text: string): string {
  const parameter = text.replaceAll(/[ \x80-\xff]/g, (character) => encodeURIComponent(character));
  const source = route.operation === 'stream-events' ? sourceQuery() : `platform=${parameter}`;
  return `${route.path.replace(/:\w+/, parameter)}?${source}&x=${parameter}`;
}

t.test('the check would see a line that was planted', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\nDate: now';
  t.equal(faultIn(head, '{}'), undefined);
  t.match(faultIn(`${head}\r\n${planted}`, ''), /^line "X-Planted/);
  t.match(faultIn(`${head}\n${planted}`, ''), /^line "Date: now\\n/);
  t.match(faultIn(`${head}\r\nAllow: a\u0085`, ''), /^line/);
  t.match(faultIn(`${head}\r\nDate: then`, ''), /twice/);
  t.match(faultIn(head, `{"a":"\n"}`), /body/);
});

for (const route of routes) {
  t.test(`no answer of ${route.method} ${route.path} has a line of the client’s`, async (t) => {
    for (const [name, separator] of Object.entries(carried)) {
      const text = `a${separator}${planted}`;
      const tries = { all: idle, ...Object.fromEntries(decisive.map((each) => [each, [each]])) };
      for (const [what, headers] of Object.entries(tries)) {
        const own = headers.map((header) => `${header}: ${text}`);
        const lines = usualLines(route).filter((line) => !line.startsWith(`${what}:`));
        const path = pathOf(route, text);
        const body = route.method === 'GET' ? '' : '{}';
        const fault = await faultOf(request(route.method, path, [...lines, ...own], body));
        t.equal(fault, undefined, `${what} with ${name}`);
      }
    }
  });
}

t.test('an upgrade answers with lines of the gateway alone', async (t) => {
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  const usual = {
    Authorization: `Bearer ${user.sessionToken}`,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': subprotocol,
    'Sec-WebSocket-Extensions': 'permessage-deflate',
  };
  for (const [name, separator] of Object.entries(carried)) {
    for (const [header, value] of Object.entries(usual)) {
      const own = { ...usual, [header]: `${value}${separator}${planted}, ${value}` };
      const lines = Object.entries(own).map(([key, text]) => `${key}: ${text}`);
      const fault = await faultOf(request('GET', pluginPath, [...upgrade, ...lines]), pluginPath);
      t.equal(fault, undefined, `${header} with ${name}`);
    }
  }
});

t.test('a head with bytes that it must not hold gets an answer of ours or none', async (t) => {
  const submit = routes.find(({ operation }) => operation === 'submit-signal') as Route;
  for (const [name, separator] of Object.entries(forbidden)) {
    for (const header of [...decisive, ...idle]) {
      const lines = [...usualLines(submit), `${header}: a${separator}${planted}`];
      const client = await RawClient.connect(gateway.url);
      await client.send(request('POST', submit.path, lines, '{}'));
      // The native parser waits for ever for the end of such a head: the client ends the connection.
      client.socket.end();
      const answer = await client.answer();
      const fault = answer === undefined ? undefined : faultIn(answer.head, answer.body);
      // The native server's own answer, without a trace id, is a page for people.
      if (answer?.headers['x-trace-id'] !== undefined) t.equal(fault, undefined, name);
      t.notMatch(answer?.head, /planted/i, `${header} with ${name}`);
    }
  }
});

t.test('what was accepted comes back as data: in answers, replays and lists', async (t) => {
  const line = { ...carried, ...forbidden, 'CR LF': '\r\n' };
  for (const [name, separator] of Object.entries(line)) {
    const text = `a${separator}${planted}`;
    const body = JSON.stringify(signal({ signalId: text, instanceId: text, type: text }));
    const [route] = routes.filter(({ operation }) => operation === 'submit-signal');
    // Bytes that are not UTF-8 are refused in a key, as is DEL.
    const key = `key${carried[name] ?? ''}`.replace(/\x7f|\xc0\x8a/, '');
    const lines = [...usualLines(route as Route).slice(0, 2), `Idempotency-Key: ${key}${name}`];
    for (const attempt of ['first', 'replayed']) {
      const client = await RawClient.connect(gateway.url);
      await client.send(request('POST', '/api/v1/signals', lines, body));
      const answer = await client.answer();
      t.equal(answer?.status, 202, `${name}, ${attempt}`);
      t.equal(faultIn(answer?.head ?? '', answer?.body ?? ''), undefined, `${name}, ${attempt}`);
      const location = answer?.headers['location']?.[0] ?? '';
      t.equal(await faultOf(request('GET', location, lines)), undefined, `${name}, read`);
      client.cut();
    }
  }
});

t.test('no text of a terminal begins a line of an event stream', async (t) => {
  const eventLine = /^(?:id: [0-9a-f]+-\d+|event: [a-z_]+|data: \{.*\}|retry: \d+|:.*|)$/s;
  const odd = `a\r\n\r\nid: 0-1\nevent: replay_gap\ndata: {}\n\nb\rdata: x\u2028\u0085\0`;
  const source = { instanceId: odd, accountName: odd };
  const named = await gateway.plugin(user, { ...source, software: { name: odd, version: odd } });
  const reader = await openReader(gateway.url, user.key, { source });
  let stream = '';
  reader.response.on('data', (text: string) => (stream += text));
  const data = { text: odd, level: odd, [odd]: odd };
  await tell(named, event(1, { data, rawText: odd, executionId: odd.slice(0, 99), orderRef: 'x' }));
  const own = await openReader(gateway.url, user.key);
  own.response.on('data', (text: string) => (stream += text));
  const native = { orderId: odd, state: odd, code: odd, text: odd };
  await tell(terminal, report(1, order.executionId, 'rejected', { native }));
  const message = await reader.next('terminal_message');
  t.match(message.data, { rawText: odd, instanceId: odd, accountName: odd, data });
  await own.next('command_result');
  t.ok(stream.split('\n').length > 6, 'the stream was heard');
  const wrong = stream.split(/\r\n|\r|\n/).filter((line) => !eventLine.test(line));
  t.same(wrong, []);
  const begins = stream.match(/^retry: 1000\nid: /gm)?.length;
  t.equal(begins, 2);
  t.equal(stream.match(/^id: /gm)?.length, (stream.match(/^event: /gm)?.length ?? 0) + 2);
  t.notOk(reader.events.some(({ name }) => name === 'replay_gap'));
  reader.close();
  own.close();
  named.cut();
});

t.test('no value begins a line of the log', async (t: Test) => {
  const written: string[] = [];
  const log = createLog('trace', { write: (text) => written.push(text) });
  for (const separator of ['\n', '\r\n', '\r', '\u2028', '\u0085', '\0']) {
    const text = `a${separator}{"level":"fatal","msg":"${planted}"}`;
    log.warn({ value: text, [text]: 1, err: new Error(text) }, text);
  }
  t.equal(written.length, 6);
  for (const text of written) t.match(text, /^\{[^\r\n]*\}\n$/);

  const lines = gateway.process.log().trimEnd().split('\n');
  for (const line of lines) t.match(JSON.parse(line), { level: /^(?:trace|debug|info|warn)$/ });
  t.notMatch(gateway.process.log(), /planted/i);
  t.ok(lines.length >= 1, 'the most talkative level says something');
});

function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
