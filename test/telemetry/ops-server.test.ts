import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { systemClock } from '../../src/lib/clock.js';
import { StartRefused } from '../../src/store/refusal.js';
import type { Metrics } from '../../src/telemetry/metrics.js';
import {
  answersPerSecondMax,
  connectionsMax,
  createOpsServer,
  type OpsServer,
} from '../../src/telemetry/ops-server.js';
import { SimulatedClock } from '../support/simulated-clock.js';

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
    clock: systemClock,
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
  // The system may reset the connection.
  socket.on('error', () => undefined);
  socket.write('GET /healthz HTTP/1.1\r\n');
  const closed = new Promise((resolve) => socket.resume().once('close', resolve));
  await server.close();
  await closed;
  await t.rejects(fetch(url));
});

async function open(t: Test, { port }: URL, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress });
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends `count` requests in one write. @returns all that comes until the connection is closed. */
async function answersTo(socket: Socket, count: number): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  if (count > 0) {
    socket.write(`${request.repeat(count - 1)}${request.slice(0, -2)}Connection: close\r\n\r\n`);
  }
  await closeOf(socket);
  return text;
}

/** Resolves after any close: the system resets a connection with unread bytes. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

const isLinux = process.platform === 'linux';
t.test(
  'an address that asks faster than any monitor is cut off for a second, no other is',
  { skip: isLinux ? false : 'needs a second address of loopback' },
  async (t) => {
    const clock = new SimulatedClock();
    const url = new URL(await serverFor(t, { clock }).listen());
    const beside = await open(t, url);
    const isCut = closeOf(beside.resume());
    const all = await answersTo(await open(t, url), answersPerSecondMax);
    t.equal(all.split('200 OK').length - 1, answersPerSecondMax);
    t.equal(await answersTo(await open(t, url), 1), '', 'beyond it there is no answer');
    t.equal(await answersTo(await open(t, url), 0), '', 'a further connection is closed unasked');
    await answersTo(await open(t, url, '127.0.0.2'), 10 * answersPerSecondMax);
    t.equal(
      await answersTo(await open(t, url, '127.0.0.3'), 1).then((text) => text.slice(9, 12)),
      '200',
    );
    clock.advance(1_000);
    t.match(await answersTo(await open(t, url), 1), /200 OK/);
    await answersTo(await open(t, url), 2 * answersPerSecondMax);
    await isCut;
  },
);

t.test('connections that say nothing make room for others within seconds', async (t) => {
  const url = new URL(await serverFor(t).listen());
  const silent = await Promise.all(Array.from({ length: connectionsMax }, () => open(t, url)));
  // Counts only time in which this process, also the server's, runs: a pause of the machine counts once.
  let tenths = 0;
  const timer = setInterval(() => tenths++, 100);
  await Promise.all(silent.map((socket) => once(socket.resume(), 'close')));
  clearInterval(timer);
  t.ok(tenths < 80, `${tenths / 10} s`);
  t.match(await answersTo(await open(t, url), 1), /200 OK/);
});
