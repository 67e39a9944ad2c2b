/** How a body may come: in pieces, chunked, slowly, too large, not at all, or cut off. */
import t from 'tap';
import { get, signal, submit } from '../support/api.js';
import { RawClient, rawPatiently, request, type RawAnswer } from '../support/raw-client.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const { key } = await gateway.user();
const path = '/api/v1/signals';
const sources = '/api/v1/terminal-events/sources';
const bodyBytesMax = 65_536;

let count = 0;
const lines = (...more: string[]) => [
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  `Idempotency-Key: body-${++count}`,
  ...more,
];

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const lastChunk = '0\r\n\r\n';
const chunkedHead = () => request('POST', path, lines('Transfer-Encoding: chunked'));

/** A valid signal's text of exactly so many bytes. */
function sized(bytes: number): string {
  const text = JSON.stringify(signal({ payload: { pad: '' } }));
  return text.replace('"pad":""', `"pad":"${'x'.repeat(bytes - text.length)}"`);
}

function exchange(pieces: readonly string[]): Promise<RawAnswer | undefined> {
  return rawPatiently(() => exchangeOnce(pieces));
}

async function exchangeOnce(pieces: readonly string[]): Promise<RawAnswer | undefined> {
  const client = await RawClient.connect(url);
  for (const piece of pieces) {
    await client.send(piece);
    // Lets each piece go out as a segment of its own.
    await new Promise(setImmediate);
  }
  const answer = await client.answer();
  client.cut();
  return answer;
}

function splitEvery(text: string, size: number): string[] {
  return text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
}

async function isFree(body: object): Promise<boolean> {
  return (await submit(url, key, body)).status === 202;
}

t.test('a body may come in pieces of any size', async (t) => {
  for (const size of [1, 2, 7, 64, 100_000]) {
    const text = JSON.stringify(signal({ payload: { text: 'é😀' } }));
    const head = request('POST', path, lines(`Content-Length: ${Buffer.byteLength(text)}`));
    const answer = await exchange([
      head,
      ...splitEvery(Buffer.from(text).toString('latin1'), size),
    ]);
    t.equal(answer?.status, 202, `${size} bytes a piece`);
  }
});

t.test('head and body may share a segment or be cut anywhere between them', async (t) => {
  const build = () => request('POST', path, lines(), JSON.stringify(signal()));
  const bodyStart = build().indexOf('\r\n\r\n') + 4;
  for (const at of [-3, -2, -1, 0, 1, 2, 20].map((offset) => bodyStart + offset)) {
    const bytes = build();
    const answer = await exchange([bytes.slice(0, at), bytes.slice(at)]);
    t.equal(answer?.status, 202, `cut at ${at - bodyStart}`);
  }
});

t.test('a chunked body may come in one chunk or in many, at once or one by one', async (t) => {
  for (const size of [1, 5, 50, 100_000]) {
    const chunks = splitEvery(JSON.stringify(signal()), size).map(chunk);
    t.equal(
      (await exchange([chunkedHead() + chunks.join('') + lastChunk]))?.status,
      202,
      `${size}, at once`,
    );
    const others = splitEvery(JSON.stringify(signal()), size).map(chunk);
    t.equal(
      (await exchange([chunkedHead(), ...others, lastChunk]))?.status,
      202,
      `${size}, one by one`,
    );
  }
});

t.test('a large body is read whole, chunked or not', async (t) => {
  const text = sized(bodyBytesMax);
  t.equal((await exchange([request('POST', path, lines(), text)]))?.status, 202);
  const chunks = splitEvery(sized(bodyBytesMax), 10_000).map(chunk);
  t.equal((await exchange([chunkedHead(), ...chunks, lastChunk]))?.status, 202);
  const tiny = splitEvery(sized(20_000), 3).map(chunk);
  t.equal((await exchange([chunkedHead() + tiny.join('') + lastChunk]))?.status, 202);
});

t.test('an empty body is malformed, chunked or not', async (t) => {
  for (const bytes of [
    request('POST', path, lines('Content-Length: 0')),
    request('POST', path, lines()),
    chunkedHead() + lastChunk,
  ]) {
    const answer = await exchange([bytes]);
    t.equal(answer?.status, 400);
    t.match(answer?.body, 'malformed_json');
  }
});

t.test('413 comes at the header, before a byte of the body', async (t) => {
  for (const length of [bodyBytesMax + 1, 1_000_000_000, 999_999_999_999_999]) {
    const client = await RawClient.connect(url);
    await client.send(request('POST', path, lines(`Content-Length: ${length}`)));
    const answer = await client.answer();
    t.equal(answer?.status, 413);
    t.match(answer?.body, 'request_body_too_large');
    t.same(answer?.headers['connection'], ['close']);
    client.cut();
  }
});

t.test('who sends a body that is too large still hears the 413, every time', async (t) => {
  for (let i = 0; i < 10; i++) {
    const answer = await exchange([request('POST', path, lines(), sized(bodyBytesMax + 1))]);
    t.equal(answer?.status, 413);
    const large = await exchange([request('POST', path, lines(), sized(2_000_000))]);
    t.equal(large?.status, 413);
  }
});

t.test(
  'a chunked body gets its 413 once, as soon as it is too large, and has no effect',
  async (t) => {
    const body = signal({ payload: { pad: 'x'.repeat(bodyBytesMax) } });
    const client = await RawClient.connect(url);
    await client.send(chunkedHead());
    for (const piece of splitEvery(JSON.stringify(body), 4_096)) await client.send(chunk(piece));
    const answer = await client.answer();
    t.equal(answer?.status, 413, 'before the last chunk');
    t.match(answer?.body, 'request_body_too_large');
    for (let i = 0; i < 20; i++) await client.send(chunk('x'.repeat(4_096)));
    await client.send(lastChunk + request('GET', '/nothing', ['Connection: close']));
    t.notMatch(await client.closed(), /HTTP\/1\.1 (2|413)/, 'no second answer for the rest');
    client.cut();
    t.ok(await isFree({ ...body, payload: {} }));
  },
);

t.test('chunks that are none are refused without effect', async (t) => {
  const text = () => JSON.stringify(signal());
  // oxfmt-ignore
  const bad: [name: string, build: (text: string) => string][] = [
    ['a length that is no number', (body) => `zz\r\n${body}\r\n${lastChunk}`],
    ['a negative length', (body) => `-5\r\n${body}\r\n${lastChunk}`],
    ['a length beyond all numbers', (body) => `ffffffffffffffffff\r\n${body}\r\n${lastChunk}`],
    ['a length with 0x', (body) => `0x${body.length.toString(16)}\r\n${body}\r\n${lastChunk}`],
  ];
  for (const [name, build] of bad) {
    const body = text();
    const client = await RawClient.connect(url);
    await client.send(chunkedHead() + build(body));
    const answer = await client.answer();
    t.ok(answer === undefined || answer.status >= 400, `${name}: ${answer?.status}`);
    client.cut();
    t.ok(await isFree(JSON.parse(body)), name);
  }
});

t.test('Expect: 100-continue is answered, then the body is taken', async (t) => {
  const text = JSON.stringify(signal());
  const client = await RawClient.connect(url);
  await client.send(
    request('POST', path, lines('Expect: 100-continue', `Content-Length: ${text.length}`)),
  );
  t.equal((await client.answer())?.status, 100);
  await client.send(text);
  t.equal((await client.answer())?.status, 202);
  client.cut();
});

t.test('an expectation that is not met gets 417 at once, and works without it', async (t) => {
  const text = JSON.stringify(signal());
  const length = `Content-Length: ${text.length}`;
  for (const expect of [
    ['Expect: 100-Continue'],
    ['EXPECT: 100-CONTINUE'],
    ['Expect: 200-ok'],
    ['Expect: 100-continue, 200-ok'],
    ['Expect:', 'Expect: 100-continue'],
  ]) {
    for (const framing of [length, 'Transfer-Encoding: chunked']) {
      const client = await RawClient.connect(url);
      await client.send(request('POST', path, lines(...expect, framing)));
      const answer = await client.answer({ request: { method: 'POST', path } });
      t.equal(answer?.status, 417, expect.join(' + '));
      t.match(JSON.parse(answer?.body ?? '{}'), { error: { code: 'expectation_failed' } });
      t.strictSame(answer?.headers['connection'], ['close']);
      client.cut();
    }
  }
  const eager = await RawClient.connect(url);
  await eager.send(request('POST', path, lines('Expect: 100-Continue', length), text));
  t.equal((await eager.answer())?.status, 417, 'also with the body behind it');
  await eager.send(request('POST', path, lines(), text));
  t.equal((await eager.answer())?.status, 202, 'none of which is read as a request');
  eager.cut();
});

t.test('an expectation without a body holds nothing up', async (t) => {
  const client = await RawClient.connect(url);
  const authorization = `Authorization: Bearer ${key}`;
  await client.send(request('GET', sources, [authorization, 'Expect: 100-Continue']));
  t.equal((await client.answer())?.status, 200);
  client.cut();
});

t.test('Expect: 100-continue with a body that would be too large ends in 413', async (t) => {
  const client = await RawClient.connect(url);
  await client.send(
    request('POST', path, lines('Expect: 100-continue', 'Content-Length: 1000000')),
  );
  let answer = await client.answer();
  if (answer?.status === 100) answer = await client.answer();
  t.equal(answer?.status, 413);
  client.cut();
});

t.test(
  'a body that is cut off leaves nothing behind: signalId, key and quota stay free',
  async (t) => {
    for (const part of [0, 1, 50, -1]) {
      const body = signal();
      const text = JSON.stringify(body);
      const idempotencyKey = `cut-${part}`;
      const head = [
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Idempotency-Key: ${idempotencyKey}`,
      ];
      for (const ending of ['cut', 'end'] as const) {
        const client = await RawClient.connect(url);
        await client.send(
          request('POST', path, [...head, `Content-Length: ${text.length}`]) + text.slice(0, part),
        );
        if (ending === 'cut') client.cut();
        else {
          client.socket.end();
          await client.closed();
        }
        const chunked = await RawClient.connect(url);
        await chunked.send(
          request('POST', path, [...head, 'Transfer-Encoding: chunked']) + chunk(text),
        );
        if (ending === 'cut') chunked.cut();
        else {
          chunked.socket.end();
          await chunked.closed();
        }
      }
      const answer = await submit(url, key, text, idempotencyKey);
      t.equal(answer.status, 202, `after ${part}`);
      t.equal(answer.headers.get('idempotent-replayed'), null);
    }
  },
);

t.test('a body that comes slowly holds up nobody', async (t) => {
  const text = JSON.stringify(signal());
  const slow = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const client = await RawClient.connect(url);
      await client.send(
        request('POST', path, lines(`Content-Length: ${bodyBytesMax}`)) + text.slice(0, 20),
      );
      return client;
    }),
  );
  const single = JSON.stringify(signal());
  const client = await RawClient.connect(url);
  await client.send(
    request('POST', path, lines(`Content-Length: ${single.length}`)) + single.slice(0, 10),
  );
  for (let i = 0; i < 20; i++) t.equal((await get(url, sources, key)).status, 200);
  t.equal((await submit(url, key, signal())).status, 202);
  await client.send(single.slice(10));
  t.equal((await client.answer())?.status, 202);
  for (const each of [...slow, client]) each.cut();
});

t.test('what follows a body belongs to the next request', async (t) => {
  const text = JSON.stringify(signal());
  const client = await RawClient.connect(url);
  await client.send(request('POST', path, lines(`Content-Length: ${text.length}`)) + text);
  t.equal((await client.answer())?.status, 202);
  await client.send('GARBAGE / HTTP/1.0\r\nHost: x\r\n\r\n');
  const answer = await client.answer();
  t.ok(answer === undefined || answer.status >= 400);
  client.cut();
});

t.test('GET and DELETE with a body are answered, and the connection goes on', async (t) => {
  const client = await RawClient.connect(url);
  for (let i = 0; i < 3; i++) {
    await client.send(request('GET', sources, [`Authorization: Bearer ${key}`], '{"a":1}'));
    t.equal((await client.answer())?.status, 200);
    await client.send(request('DELETE', '/api/api-keys/0', [], 'x'.repeat(50_000)));
    t.equal((await client.answer())?.status, 401);
  }
  client.cut();
});

t.test('a client that leaves before its answer does no harm', async (t) => {
  const bodies = Array.from({ length: 50 }, () => signal());
  await Promise.all(
    bodies.map(async (body) => {
      const client = await RawClient.connect(url);
      await client.send(request('POST', path, lines(), JSON.stringify(body)));
      client.cut();
    }),
  );
  // Each body was accepted as a whole or not at all, and the gateway answers its retry either way.
  for (const body of bodies) {
    const answer = await until(
      () => submit(url, key, body),
      () => true,
    );
    t.ok(answer.status === 202 || answer.status === 409);
  }
  t.match(await (await fetch(`${gateway.process.opsUrl}/healthz`)).text(), /\S/);
});

t.test('large bodies are read one at a time, and the users take turns', async (t) => {
  const [many, one] = [await gateway.user(), await gateway.user()];
  const members = Array.from({ length: 4_500 }, (_, i) => `"k${i}":[1]`).join();
  const post = ({ key }: { key: string }, name: string): string =>
    request(
      'POST',
      '/api/v1/signals',
      [
        `Authorization: Bearer ${key}`,
        `Idempotency-Key: ${name}`,
        'Content-Type: application/json',
      ],
      `{${members}}`,
    );
  const requests = Array.from({ length: 20 }, (_, i) => post(many, `many-${i}`));
  const clients = await Promise.all([...requests, ''].map(() => RawClient.connect(gateway.url)));
  const { process } = gateway.process;
  const order: number[] = [];

  // The suspended gateway finds all requests at once when it is resumed.
  process.kill('SIGSTOP');
  for (const [i, sent] of [...requests, post(one, 'one')].entries()) await clients[i]?.send(sent);
  process.kill('SIGCONT');
  await Promise.all(
    clients.map(async (client, i) => {
      t.equal((await client.answer())?.status, 422);
      order.push(i);
      client.cut();
    }),
  );
  t.ok(order.indexOf(requests.length) < 5, `answered in the order ${order.join()}`);
});
