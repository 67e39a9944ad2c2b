/** Heads of requests: reuse of connections, pipelining, cuts, size, and what is no HTTP/1.1. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { apiDocument } from '../support/api-document.js';
import { createKey, get, signal, submit } from '../support/api.js';
import { isOlderBinary } from '../support/older-binary.js';
import { rawCall, RawClient, request } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const { key, token } = await gateway.user();
const path = '/api/v1/signals';
const sources = '/api/v1/terminal-events/sources';
const authorization = `Authorization: Bearer ${key}`;

function post(idempotencyKey: string, body: object): string {
  const lines = [
    authorization,
    'Content-Type: application/json',
    `Idempotency-Key: ${idempotencyKey}`,
  ];
  return request('POST', path, lines, JSON.stringify(body));
}

t.test('a connection serves many requests, one after the other, also after errors', async (t) => {
  const client = await RawClient.connect(url);
  for (let i = 0; i < 50; i++) {
    t.equal((await client.exchange(post(`reuse-${i}`, signal())))?.status, 202);
    await client.send(post(`reuse-${i}-invalid`, {}));
    t.equal((await client.answer())?.status, 422);
    await client.send(request('GET', '/nothing'));
    t.equal((await client.answer())?.status, 404);
  }
  client.cut();
});

t.test('after Connection: close the connection is closed', async (t) => {
  const client = await RawClient.connect(url);
  await client.send(request('GET', sources, [authorization, 'Connection: close']));
  t.equal((await client.answer())?.status, 200);
  t.equal(await client.closed(), '');
});

t.test('who says close in a list, or in a second line, is told that it is', async (t) => {
  for (const close of [['Connection: TE, close'], ['Connection: TE', 'Connection: close']]) {
    const { id } = await createKey(url, token);
    for (const [method, target, credential, status] of [
      ['GET', sources, key, 200],
      ['HEAD', sources, key, 200],
      ['GET', '/nothing', key, 404],
      ['DELETE', `/api/api-keys/${id}`, token, 204],
    ] as const) {
      const lines = [`Authorization: Bearer ${credential}`, ...close];
      const answer = await rawCall(url, method, target, lines);
      t.equal(answer?.status, status);
      t.strictSame(answer?.headers['connection'], ['close'], `${method} ${target}`);
    }
  }
});

t.test('pipelined reads are answered in their order', async (t) => {
  const client = await RawClient.connect(url);
  const traceIds = Array.from({ length: 20 }, (_, index) =>
    (index + 1).toString(16).padStart(32, '0'),
  );
  const reads = traceIds.map((id) =>
    request('GET', sources, [authorization, `traceparent: 00-${id}-00f067aa0ba902b7-01`]),
  );
  await client.send(reads.join(''));
  for (const id of traceIds) {
    const answer = await client.answer();
    t.equal(answer?.status, 200);
    t.equal(answer?.headers['x-trace-id']?.[0], id);
  }
  client.cut();
});

t.test('pipelined signals are accepted at most once each, and a retry settles which', async (t) => {
  const bodies = [signal(), signal(), signal()];
  const client = await RawClient.connect(url);
  await client.send(bodies.map((body, index) => post(`pipe-${index}`, body)).join(''));
  // The native server may close without an answer; it must not leave anything in doubt.
  await Promise.race([client.answer(), client.closed()]);
  client.cut();
  for (const [index, body] of bodies.entries()) {
    const first = await submit(url, key, JSON.stringify(body), `pipe-${index}`);
    t.equal(first.status, 202);
    const again = await submit(url, key, JSON.stringify(body), `pipe-${index}`);
    t.equal(again.text, first.text);
  }
});

t.test(
  'a request line that is cut gets its answer; by the older binary, at worst 505',
  async (t) => {
    const target = '/api/v1/nothing';
    const bytes = request('GET', target);
    const lineEnd = bytes.indexOf('\r\n') + 2;
    const refused: number[] = [];
    for (let at = 1; at <= lineEnd; at++) {
      const client = await RawClient.connect(url);
      await client.send(bytes.slice(0, at));
      await new Promise((resolve) => setTimeout(resolve, 5));
      await client.send(bytes.slice(at));
      const answer = await client.answer();
      if (answer?.status === 505) {
        refused.push(at);
        await client.closed();
      } else {
        t.equal(answer?.status, 404, `cut at ${at}`);
      }
      client.cut();
    }
    const methodEnd = 'GET '.length;
    const versionStart = `GET ${target}`.length;
    t.ok(
      refused.every((at) => isOlderBinary && (at === methodEnd || at >= versionStart)),
      `only just after the method or within the version: ${refused.join()}`,
    );
  },
);

t.test(
  'a signal whose line was cut is accepted, or refused with 505 and not looked at',
  async (t) => {
    const body = signal();
    const bytes = post('cut', body);
    const client = await RawClient.connect(url);
    await client.send(bytes.slice(0, 'POST '.length));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await client.send(bytes.slice('POST '.length));
    const answer = await client.answer();
    client.cut();
    if (!isOlderBinary) t.equal(answer?.status, 202);
    const again = await submit(url, key, JSON.stringify(body), 'cut');
    t.equal(again.status, 202);
    t.equal(again.headers.get('idempotent-replayed'), answer?.status === 202 ? 'true' : null);
  },
);

t.test('headers may be cut anywhere', async (t) => {
  const bytes = request('GET', sources, [authorization]);
  const lineEnd = bytes.indexOf('\r\n') + 2;
  const cuts = Array.from({ length: bytes.length - lineEnd }, (_, index) => lineEnd + index).filter(
    (at) => at % 3 === 0,
  );
  const statuses = await Promise.all(
    cuts.map(async (at) => {
      const client = await RawClient.connect(url);
      await client.send(bytes.slice(0, at));
      await new Promise((resolve) => setTimeout(resolve, 5));
      await client.send(bytes.slice(at));
      const answer = await client.answer();
      client.cut();
      return answer?.status;
    }),
  );
  t.same([...new Set(statuses)], [200]);
});

t.test('a head that is too large gets 431 and a close, and nobody else suffers', async (t) => {
  // oxfmt-ignore
  const heads: Record<string, string> = {
    'one header of 5 KB': request('GET', sources, [authorization, `X-Pad: ${'x'.repeat(5_000)}`]),
    'one header of 70 KB': request('GET', sources, [authorization, `X-Pad: ${'x'.repeat(70_000)}`]),
    'a path of 70 KB': request('GET', `/api/v1/signals/${'x'.repeat(70_000)}`, [authorization]),
    'a query of 70 KB': request('GET', `${sources}?${'x'.repeat(70_000)}`, [authorization]),
    'a key of 70 KB': request('GET', sources, [`Authorization: Bearer svc_api_${'x'.repeat(70_000)}`]),
    'a thousand headers': request('GET', sources, [authorization, ...Array.from({ length: 1_000 }, (_, index) => `X-${index}: ${'x'.repeat(70)}`)]),
    'two hundred short headers': request('GET', sources, [authorization, ...Array.from({ length: 200 }, (_, index) => `X${index}: 1`)]),
    'a head that never ends': `GET ${sources} HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(15_000)}`,
  };
  for (const [name, bytes] of Object.entries(heads)) {
    const client = await RawClient.connect(url);
    await client.send(bytes);
    const text = await client.closed();
    t.match(text, /^HTTP\/1\.1 431 /, name);
    t.equal((await get(url, sources, key)).status, 200);
  }
});

t.test('the parser’s own answers are the three that the document and the guide name', async (t) => {
  const { description } = apiDocument['info'] as { description: string };
  const guide = readFileSync(new URL('../../../ops/api-guide.md', import.meta.url), 'utf8');
  for (const [status, bytes] of [
    [400, `GET ${sources} HTTP/1.1\r\n${authorization}\r\n\r\n`],
    [431, request('GET', sources, [authorization, `X-Pad: ${'x'.repeat(5_000)}`])],
    [505, `GET ${sources} HTTP/1.0\r\nHost: x\r\n${authorization}\r\n\r\n`],
  ] as const) {
    const client = await RawClient.connect(url);
    await client.send(bytes);
    const text = await client.closed();
    t.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
    t.notMatch(text, /^x-trace-id:|application[/]json/im, `${status}`);
    for (const page of [description, guide]) {
      const [own = ''] = /^The HTTP parser itself .*?connection[^.]*\./ms.exec(page) ?? [];
      t.match(own, `with ${status}`);
    }
  }
});

t.test('what is no HTTP/1.1 is refused and closed', async (t) => {
  // oxfmt-ignore
  const texts: Record<string, string> = {
    'HTTP/1.0': `GET ${sources} HTTP/1.0\r\nHost: x\r\n${authorization}\r\n\r\n`,
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/9.9': `GET ${sources} HTTP/9.9\r\nHost: x\r\n${authorization}\r\n\r\n`,
    'a TLS hello': '\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03' + 'x'.repeat(60) + '\r\n\r\n',
    'noise': Array.from({ length: 300 }, (_, index) => String.fromCharCode((index * 7_919) % 256)).join('') + '\r\n\r\n',
    'an absolute target': request('GET', `http://gateway${sources}`, [authorization]),
    'an asterisk': request('OPTIONS', '*', [authorization]),
    'bare line feeds': `GET ${sources} HTTP/1.1\nHost: x\n${authorization}\n\n`,
  };
  for (const [name, bytes] of Object.entries(texts)) {
    const client = await RawClient.connect(url);
    await client.send(bytes);
    const text = await client.closed();
    t.match(text, /^(HTTP\/1\.1 [45]|$)/, `${name}: ${text.slice(0, 30)}`);
  }
});

t.test(
  'what the native parser does not read is refused, or ends in silence and a close',
  async (t) => {
    // oxfmt-ignore
    const texts: Record<string, string> = {
    'HTTP/0.9': `GET ${sources}\r\n\r\n`,
    'a control character in a header': request('GET', sources, [authorization, 'X: a\x01b']),
    'a folded header': request('GET', sources, [authorization, 'X: a', ' b']),
    'a space before a colon': request('GET', sources, [authorization, 'X : a']),
    'a NUL in a header': request('GET', sources, [authorization, 'X: a\0b']),
    'a header without a colon': request('GET', sources, [authorization, 'X']),
    'no header at all': `GET ${sources} HTTP/1.1\r\n\r\n`,
  };
    await Promise.all(
      Object.entries(texts).map(async ([name, bytes]) => {
        const client = await RawClient.connect(url);
        await client.send(bytes);
        t.match(await client.closed(), /^(HTTP\/1\.1 [45]|$)/, name);
      }),
    );
    t.equal((await get(url, sources, key)).status, 200);
  },
);

t.test('heads that never become whole hold up nobody', async (t) => {
  const clients = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const client = await RawClient.connect(url);
      await client.send(
        `GET ${sources} HTTP/1.1\r\nHost: x\r\n${authorization}`.slice(0, 1 + index),
      );
      return client;
    }),
  );
  for (let i = 0; i < 20; i++) t.equal((await get(url, sources, key)).status, 200);
  for (const client of clients) client.cut();
});

t.test('connections that send nothing, or leave at once, do no harm', async (t) => {
  const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(url)));
  clients.forEach((client, index) => {
    if (index % 2 === 0) client.cut();
  });
  t.equal((await get(url, sources, key)).status, 200);
  for (const client of clients) client.cut();
  t.equal((await get(url, sources, key)).status, 200);
});
