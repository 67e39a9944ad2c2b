/** The live figures of a gateway that works, and what is said when there is none. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { signal, submit } from '../../support/api.js';
import { runCommand, startCommand } from '../../support/command.js';
import { openDesk } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';

t.setTimeout(240_000);
const desk = await openDesk(t, { traders: 2 });
const from = ['--url', desk.gateway.opsUrl];

t.test('one second of load is shown as it was', async (t) => {
  const trader = await desk.trader();
  let sent = 0;
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      await submit(desk.url, trader.key, signal());
      sent++;
    }
  })();
  await eventually(() => sent > 5);
  const before = sent;
  const { code, stdout } = await runCommand(['stats', '--once', '--json', ...from]);
  isOver = true;
  await work;
  t.equal(code, 0);
  const figures = JSON.parse(stdout);
  t.match(figures, { ready: true, version: String, commitsFailed: 0, connectedPlugins: 0 });
  t.ok(figures.signalsPerSecond > 0);
  t.equal(figures.signalsPerSecond, figures.answers['2xx']);
  t.ok(figures.signalsPerSecond * figures.intervalSeconds <= sent - before + 1);
  t.ok(figures.latencySeconds.accept.p99 >= figures.latencySeconds.accept.p50);
  t.equal(figures.executionsPerSecond.denied, figures.signalsPerSecond);
  t.ok(figures.storeBytes > 0 && figures.diskFreeBytes > 0 && figures.residentBytes > 0);
});

t.test('the table is for people', async (t) => {
  const { code, stdout } = await runCommand(['stats', '--once', ...from]);
  t.equal(code, 0);
  t.match(stdout, /^signalbox [\d.]+ {2}http.* ready {2}up .*Z\n/);
  t.match(stdout, /PER SECOND +ALL +2XX +4XX +429 +5XX +ABORTED/);
  t.match(stdout, /^signals +0\.0 a second, \d+ since the start$/m);
});

t.test('it goes on every second until Ctrl-C, which is no failure', async (t) => {
  const stats = startCommand(['stats', '--json', ...from]);
  await eventually(() => stats.stdout().split('\n').length > 2, 30_000);
  stats.process.kill('SIGINT');
  const { code, stdout } = await stats.ended;
  t.equal(code, 0);
  const [first, second] = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)));
  t.ok(Date.parse(second.at) > Date.parse(first.at));
});

t.test('where nothing answers, or no gateway, it says so', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  for (const flags of [
    ['--ops-port', `${port}`],
    ['--url', 'http://127.0.0.1:1'],
  ]) {
    const { code, stdout, stderr } = await runCommand(['stats', '--json', ...flags]);
    t.equal(code, 1);
    t.match(JSON.parse(stdout), { error: { code: 'gateway_silent' } });
    t.match(stderr, /No gateway answers at http.*--ops-port/);
  }
  server.close();
  t.equal((await runCommand(['stats', '--url', 'nonsense'])).code, 2);
});

t.test('when the gateway goes away, it says so and ends', async (t) => {
  const stats = startCommand(['stats', ...from]);
  await eventually(() => stats.stdout() !== '', 30_000);
  await desk.gateway.stop();
  const { code, stderr } = await stats.ended;
  t.equal(code, 1);
  t.match(stderr, /no longer answers: it was stopped, or is stuck/);
});
