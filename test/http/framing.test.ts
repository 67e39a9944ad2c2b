/**
 * Request smuggling: framing that two readers could understand differently is refused, and what
 * hides behind it in the same segment, or comes later, has no effect.
 */
import t, { type Test } from 'tap';
import { signal, submit } from '../support/api.js';
import { rawCall, RawClient, request } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t, { flags: ['--trust-proxy', '127.0.0.1/32'] });
const { url } = gateway;
const { key } = await gateway.user();
const path = '/api/v1/signals';
const credentials = [`Authorization: Bearer ${key}`, 'Content-Type: application/json'];

let count = 0;
const lines = () => [...credentials, `Idempotency-Key: raw-${++count}`];

/** A whole, valid POST of a signal: what an attacker would like to have executed. */
function smuggled(): { bytes: string; isAccepted: () => Promise<boolean> } {
  const body = signal();
  return {
    bytes: request('POST', path, lines(), JSON.stringify(body)),
    // A second request with the signalId tells whether it was accepted before.
    isAccepted: async () => (await submit(url, key, body)).status === 409,
  };
}

/** A request with this framing, and the bytes that follow in the same segment. */
// oxfmt-ignore
const ambiguous: Record<string, (tail: string) => string> = {
  'two Content-Lengths, the first shorter': (tail) => request('POST', path, [...lines(), 'Content-Length: 2', `Content-Length: ${2 + tail.length}`]) + `{}${tail}`,
  'two Content-Lengths, the first zero': (tail) => request('POST', path, [...lines(), 'Content-Length: 0', `Content-Length: ${tail.length}`]) + tail,
  'two Content-Lengths that agree': (tail) => request('POST', path, [...lines(), 'Content-Length: 2', 'Content-Length: 2']) + `{}${tail}`,
  'an empty Content-Length': (tail) => request('POST', path, [...lines(), 'Content-Length:']) + tail,
  'two Hosts': (tail) => request('POST', path, [...lines(), 'Host: other', 'Content-Length: 2']) + `{}${tail}`,
  'two Hosts that agree': (tail) => request('GET', '/api/v1/terminal-events/sources', [...lines(), 'Host: gateway']) + tail,
  'Transfer-Encoding and Content-Length': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: chunked', `Content-Length: ${5 + tail.length}`]) + `0\r\n\r\n${tail}`,
  'Content-Length and Transfer-Encoding': (tail) => request('POST', path, [...lines(), `Content-Length: ${5 + tail.length}`, 'Transfer-Encoding: chunked']) + `0\r\n\r\n${tail}`,
  'Transfer-Encoding: identity': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: identity']) + `0\r\n\r\n${tail}`,
  'Transfer-Encoding: gzip, chunked': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: gzip, chunked']) + `0\r\n\r\n${tail}`,
  'Transfer-Encoding: chunked, identity': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: chunked, identity']) + `0\r\n\r\n${tail}`,
  'Transfer-Encoding: xchunked': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: xchunked']) + `0\r\n\r\n${tail}`,
  'Transfer-Encoding twice': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']) + `0\r\n\r\n${tail}`,
  'an empty Transfer-Encoding': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding:']) + `0\r\n\r\n${tail}`,
  'an empty Transfer-Encoding with a Content-Length': (tail) => request('POST', path, [...lines(), 'Transfer-Encoding:', 'Content-Length: 2']) + `{}${tail}`,
  'a signed Content-Length': (tail) => request('POST', path, [...lines(), 'Content-Length: +2']) + `{}${tail}`,
  'a negative Content-Length': (tail) => request('POST', path, [...lines(), 'Content-Length: -1']) + tail,
  'a list of Content-Lengths': (tail) => request('POST', path, [...lines(), 'Content-Length: 2, 2']) + `{}${tail}`,
  'a hexadecimal Content-Length': (tail) => request('POST', path, [...lines(), 'Content-Length: 0x2']) + `{}${tail}`,
  'a Content-Length with an exponent': (tail) => request('POST', path, [...lines(), 'Content-Length: 2e0']) + `{}${tail}`,
  'a Content-Length beyond all numbers': (tail) => request('POST', path, [...lines(), 'Content-Length: 18446744073709551618']) + `{}${tail}`,
  'no Host': (tail) => `POST ${path} HTTP/1.1\r\n${lines().join('\r\n')}\r\nContent-Length: 2\r\n\r\n{}${tail}`,
};

/** Framing that the native parser lets through, so that the gateway itself must refuse what follows. */
const letThrough = ambiguous['two Content-Lengths that agree'] as (tail: string) => string;

async function isRefused(
  t: Test,
  send: (client: RawClient) => Promise<void>,
  name: string,
): Promise<void> {
  const client = await RawClient.connect(url);
  await send(client);
  const answer = await client.answer();
  t.ok(answer === undefined || answer.status >= 400, `${name}: ${answer?.status}`);
  const rest = await client.closed();
  t.notMatch(rest, /HTTP\/1\.1 2/, `${name}: nothing is accepted after it`);
  client.cut();
}

t.test('the smuggled request would be accepted if it came alone', async (t) => {
  const { bytes, isAccepted } = smuggled();
  const client = await RawClient.connect(url);
  t.equal((await client.exchange(bytes))?.status, 202);
  client.cut();
  t.ok(await isAccepted());
});

t.test(
  'ambiguous framing is refused, the connection closed, and nothing behind it executed',
  async (t) => {
    for (const [name, build] of Object.entries(ambiguous)) {
      const { bytes, isAccepted } = smuggled();
      await isRefused(t, (client) => client.send(build(bytes)), name);
      t.notOk(
        await isAccepted(),
        `${name}: the request behind it in the same segment had no effect`,
      );
    }
  },
);

t.test('the refusal says once that the connection closes', async (t) => {
  const client = await RawClient.connect(url);
  await client.send(letThrough(''));
  const answer = await client.answer();
  t.equal(answer?.status, 400);
  t.strictSame(answer?.headers['connection'], ['close']);
  await client.closed();
});

t.test('a request in a segment of its own behind it is not executed either', async (t) => {
  for (const [name, build] of Object.entries(ambiguous)) {
    const { bytes, isAccepted } = smuggled();
    await isRefused(
      t,
      async (client) => {
        await client.send(build(''));
        await client.send(bytes);
      },
      name,
    );
    t.notOk(await isAccepted(), name);
  }
});

t.test('of ten requests behind ambiguous framing none is executed', async (t) => {
  const ten = Array.from({ length: 10 }, smuggled);
  const tail = ten.map(({ bytes }) => bytes).join('');
  await isRefused(t, (client) => client.send(letThrough(tail)), 'ten');
  for (const { isAccepted } of ten) t.notOk(await isAccepted());
});

/** Framings whose tail a reader of the other framing takes for a request. */
const lengths: Record<string, readonly string[]> = {
  'two Content-Lengths': ['Content-Length: 0', 'Content-Length: 0'],
  'an empty Content-Length': ['Content-Length:'],
  'two Hosts': ['Host: gateway'],
};

t.test('a request behind an ambiguous upgrade is not executed', async (t) => {
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  for (const [name, framing] of Object.entries(lengths)) {
    for (const lines of [[key], [...upgrade, key]]) {
      const { bytes, isAccepted } = smuggled();
      const head = request('GET', '/plugin/v1', [...lines, ...framing]);
      await isRefused(t, (client) => client.send(head + bytes), name);
      t.notOk(await isAccepted(), name);
    }
  }
});

t.test('an ambiguous upgrade that comes alone is answered, and the log stays JSON', async (t) => {
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const client = await RawClient.connect(url);
  const framing = lengths['two Content-Lengths'] as readonly string[];
  await client.send(request('GET', '/plugin/v1', [key, ...framing]));
  t.match(await client.closed(), /^HTTP\/1\.1 400 /);
  for (const line of gateway.process.log().trim().split('\n')) t.ok(JSON.parse(line));
});

t.test('the ambiguous request itself has no effect', async (t) => {
  const body = signal();
  const text = JSON.stringify(body);
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  for (const twice of [length, 'Host: gateway', 'Transfer-Encoding: identity']) {
    await isRefused(
      t,
      (client) => client.send(request('POST', path, [...lines(), length, twice], text)),
      twice,
    );
  }
  t.equal((await submit(url, key, body)).status, 202);
});

t.test('a request whose length is no number does nothing, with or without a body', async (t) => {
  const { token, keyId, key: doomed } = await gateway.user();
  for (const length of ['+5', '5, 5', '0x5', '1'.repeat(19), '-1', '']) {
    const lines = [`Authorization: Bearer ${token}`, `Content-Length: ${length}`];
    const answer = await rawCall(url, 'DELETE', `/api/api-keys/${keyId}`, lines);
    t.equal(answer?.status, 400, `Content-Length: ${length}`);
  }
  t.equal((await submit(url, doomed, signal())).status, 202, 'the key was not revoked');
});

/** Version 2 of the PROXY protocol, as a proxy writes it for this client. */
const proxied = Buffer.concat([
  Buffer.from('\r\n\r\n\0\r\nQUIT\n'),
  Buffer.from([0x21, 0x11, 0, 12, 198, 51, 100, 7, 127, 0, 0, 1, 0, 1, 0, 2]),
]).toString('latin1');

/** What stands before and within the requests of all clients, who share one address. */
const ways: Record<string, { readonly first?: string; readonly line?: string }> = {
  directly: {},
  'through a trusted proxy': { line: 'X-Forwarded-For: 198.51.100.7' },
  'through a proxy with the PROXY protocol': { first: proxied },
};

t.test('no request of a bystander at the same address fails', async (t) => {
  for (const [way, { first = '', line = 'X-Way: direct' }] of Object.entries(ways)) {
    t.test(way, async (t) => {
      let isOver = false;
      let refusals = 0;
      async function attack(): Promise<void> {
        while (!isOver) {
          const attacker = await RawClient.connect(url);
          await attacker.send(first + request('GET', path, [line, 'Transfer-Encoding: x']));
          if ((await attacker.answer())?.status === 400) refusals++;
          attacker.cut();
        }
      }
      const attacks = Array.from({ length: 8 }, attack);
      const client = await RawClient.connect(url);
      await client.send(first);
      for (let sent = 0; sent < 150; sent++) {
        const bytes = request('POST', path, [line, ...lines()], JSON.stringify(signal()));
        t.equal((await client.exchange(bytes))?.status, 202);
      }
      isOver = true;
      await Promise.all(attacks);
      t.ok(refusals > 150, `beside ${refusals} ambiguous heads`);
      client.cut();
    });
  }
});

t.test('a body is never read as a request', async (t) => {
  const { bytes, isAccepted } = smuggled();
  const answer = await rawCall(url, 'POST', path, lines(), bytes);
  t.equal(answer?.status, 400);
  t.match(answer?.body, 'malformed_json');
  const unread = smuggled();
  const client = await RawClient.connect(url);
  await client.send(request('POST', '/nothing', [], unread.bytes));
  t.equal((await client.answer())?.status, 404);
  await client.send(request('PUT', path, credentials, unread.bytes));
  t.equal((await client.answer())?.status, 405);
  await client.send(request('GET', '/api/v1/terminal-events/sources', credentials, unread.bytes));
  t.equal((await client.answer())?.status, 200, 'a body that no endpoint reads is passed over');
  t.equal(client.unread, '');
  client.cut();
  t.notOk(await isAccepted());
  t.notOk(await unread.isAccepted());
});

t.test('values that are echoed cannot split the answer', async (t) => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736';
  // oxfmt-ignore
  const rows: [line: string, path: string][] = [
    [`traceparent: 00-${id}-00f067aa0ba902b7-01\rX-Evil: 1`, '/api/v1/terminal-events/sources'],
    [`traceparent: 00-${id}-00f067aa0ba902b7-01`, '/api/v1/signals/req%0d%0aX-Evil:%201'],
    [`Idempotency-Key: a%0d%0aX-Evil: 1`, '/api/v1/orders/x%0d%0aX-Evil:1/cancel'],
  ];
  for (const [line, target] of rows) {
    for (const method of ['GET', 'POST']) {
      const client = await RawClient.connect(url);
      await client.send(request(method, target, [...credentials, line]));
      const answer = await Promise.race([
        client.answer(),
        new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 500).unref()),
      ]);
      t.equal(answer?.headers['x-evil'], undefined, target);
      t.notMatch(answer?.head ?? '', /X-Evil/, target);
      client.cut();
    }
  }
});
