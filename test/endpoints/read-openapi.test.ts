/** The document as a running gateway serves it, and as the command prints it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { answersPerTurnMax } from '../../src/http/answers-per-turn.js';
import { createOpenApiDocument } from '../../src/openapi/document.js';
import { toOpenApi30 } from '../../src/openapi/three-zero.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { readVersion } from '../../src/version.js';
import { call } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { runInProcess } from '../support/in-process.js';
import { RawClient, request } from '../support/raw-client.js';
import { shippedLimits } from '../support/shipped-limits.js';

const limits = { signalIdLengthMax: 77, unauthenticatedAttemptsPerMinute: 50 };
const gateway = await startTestGateway(t, { limits, users: 1 });
const expected = createOpenApiDocument({
  limits: shippedLimits({ ...limits, loginAttemptsPerMinute: 1_000_000 }),
  platforms: shippedPlatforms,
  version: readVersion(),
});
const path = '/openapi.json';
const expected30 = toOpenApi30(expected);

t.test('the document has the limits in force, and needs no credential', async (t) => {
  const answer = await call(gateway.url, 'GET', path);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  t.strictSame(answer.body, expected);
  t.equal(answer.body.components.schemas.SignalEnvelope.properties.signalId.maxLength, 77);
});

t.test('the document is served as OpenAPI 3.0, too', async (t) => {
  const answer = await call(gateway.url, 'GET', '/openapi-3.0.json');
  t.equal(answer.status, 200);
  t.strictSame(answer.body, expected30);
  t.match(answer.body.openapi, /^3[.]0[.]/);
});

t.test('the command prints the same for the same config file', async (t) => {
  const file = `${gateway.dataDir}.config.json`;
  const kinds: [string[], object][] = [
    [[], expected],
    [['--json'], expected],
    [['--openapi-version', '3.0'], expected30],
  ];
  for (const [flags, document] of kinds) {
    const { code, stdout, stderr } = await runInProcess([
      ...['openapi', '--data-dir', gateway.dataDir, '--config', file],
      ...flags,
    ]);
    t.equal(code, 0);
    t.equal(stderr, '');
    t.strictSame(JSON.parse(stdout), document);
  }
});

t.test('HEAD tells its length; other methods are 405', async (t) => {
  const head = await call(gateway.url, 'HEAD', path);
  t.equal(head.status, 200);
  t.equal(Number(head.headers.get('content-length')), Buffer.byteLength(JSON.stringify(expected)));
  const post = await call(gateway.url, 'POST', path);
  t.equal(post.status, 405);
  t.equal(post.headers.get('allow'), 'GET, HEAD');
});

t.test('it comes whole to a reader that is slow to read, request after request', async (t) => {
  const client = await RawClient.connect(gateway.url);
  client.socket.pause();
  const requests = 10;
  await client.send(request('GET', path).repeat(requests));
  client.socket.resume();
  const text = JSON.stringify(expected);
  for (let index = 0; index < requests; index++) {
    t.equal((await client.answer())?.body, text, `answer ${index}`);
  }
  client.cut();
});

t.test(
  'beyond the limit of requests without a credential it is 429, also in one packet',
  async (t) => {
    // HEAD, because documents that wait for a slow reader would end the connection.
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    const ended = new AbortController();
    socket.once('close', () => ended.abort());
    await once(socket, 'connect');
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    const asked = answersPerTurnMax;
    socket.write(request('HEAD', path).repeat(asked));
    while ((text.match(/HTTP\/1\.1 /g) ?? []).length < asked) {
      await once(socket, 'data', { signal: ended.signal });
    }
    socket.destroy();
    const served = text.match(/HTTP\/1\.1 200 /g)?.length ?? 0;
    t.ok(served < limits.unauthenticatedAttemptsPerMinute, `${served} documents`);
    const answer = await call(gateway.url, 'GET', path);
    t.equal(answer.status, 429);
    t.equal(answer.body.code, 'rate_limit_exceeded');
    t.ok(Number(answer.headers.get('retry-after')) >= 1);
    const other = await call(gateway.url, 'GET', '/openapi-3.0.json');
    t.equal(other.status, 429, 'both versions share the limit');
  },
);
