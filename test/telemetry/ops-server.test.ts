import { connect } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { StartRefused } from '../../src/store/refusal.js';
import type { Metrics } from '../../src/telemetry/metrics.js';
import { createOpsServer, type OpsServer } from '../../src/telemetry/ops-server.js';

const page: Metrics = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  scrape: async () => 'signalbox_up 1\n',
};

function serverFor(t: Test, deps: Partial<Parameters<typeof createOpsServer>[0]> = {}): OpsServer {
  const server = createOpsServer({
    host: '127.0.0.1',
    port: 0,
    readiness: () => ({ ready: true, reason: 'ready' }),
    metrics: page,
    ...deps,
  });
  t.teardown(() => server.close());
  return server;
}

t.test('healthz answers while the process lives', async (t) => {
  const url = await serverFor(t, { readiness: () => ({ ready: false, reason: 'x' }) }).listen();
  const answer = await fetch(`${url}/healthz`);
  t.equal(answer.status, 200);
  t.equal(await answer.text(), 'ok');
});

t.test('readyz is 503 with the reason in words until the gateway is ready', async (t) => {
  let state = { ready: false, reason: 'starting' };
  const url = await serverFor(t, { readiness: () => state }).listen();
  const before = await fetch(`${url}/readyz`);
  t.equal(before.status, 503);
  t.equal(await before.text(), 'starting');
  state = { ready: true, reason: 'ready' };
  const after = await fetch(`${url}/readyz`);
  t.equal(after.status, 200);
  t.equal(await after.text(), 'ready');
});

t.test('metrics come in the text format, whatever the query', async (t) => {
  const url = await serverFor(t).listen();
  for (const path of ['/metrics', '/metrics?name=x']) {
    const answer = await fetch(url + path);
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), page.contentType);
    t.equal(await answer.text(), 'signalbox_up 1\n');
  }
});

t.test('HEAD has the headers of GET and no body', async (t) => {
  const url = await serverFor(t).listen();
  const answer = await fetch(`${url}/metrics`, { method: 'HEAD' });
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('content-length'), '15');
  t.equal(await answer.text(), '');
});

t.test('anything else is 404, another method 405 with Allow', async (t) => {
  const url = await serverFor(t).listen();
  for (const path of ['/', '/metric', '/metrics/', '/constructor', '/%2Fhealthz']) {
    t.equal((await fetch(url + path)).status, 404, path);
  }
  for (const method of ['POST', 'DELETE', 'OPTIONS']) {
    const answer = await fetch(`${url}/metrics`, { method });
    t.equal(answer.status, 405, method);
    t.equal(answer.headers.get('allow'), 'GET, HEAD');
  }
});

t.test('metrics that cannot be read are a 500, and the server goes on', async (t) => {
  const scrape = async (): Promise<string> => Promise.reject(new Error('the store is closed'));
  const url = await serverFor(t, { metrics: { ...page, scrape } }).listen();
  const answer = await fetch(`${url}/metrics`);
  t.equal(answer.status, 500);
  t.match(await answer.text(), /the store is closed/);
  t.equal((await fetch(`${url}/healthz`)).status, 200);
});

t.test('a port in use is a refusal that says what to do', async (t) => {
  const url = await serverFor(t).listen();
  const port = Number(new URL(url).port);
  const error: unknown = await serverFor(t, { port })
    .listen()
    .then(
      () => undefined,
      (e: unknown) => e,
    );
  t.ok(error instanceof StartRefused);
  t.match(String(error), new RegExp(`127\\.0\\.0\\.1:${port} .*another program.*--ops-port`));
});

t.test('the url of an IPv6 address has brackets', async (t) => {
  const url = await serverFor(t, { host: '::1' }).listen();
  t.match(url, /^http:\/\/\[::1\]:[0-9]+$/);
  t.equal((await fetch(`${url}/healthz`)).status, 200);
});

t.test('closing cuts what is open and can be done before listening', async (t) => {
  await serverFor(t).close();
  const server = serverFor(t);
  const url = new URL(await server.listen());
  const socket = connect(Number(url.port), url.hostname);
  await once(socket, 'connect');
  // How it is cut is the system's choice.
  socket.on('error', () => undefined);
  socket.write('GET /healthz HTTP/1.1\r\n');
  const closed = new Promise((resolve) => socket.resume().once('close', resolve));
  await server.close();
  await closed;
  await t.rejects(fetch(url));
});
