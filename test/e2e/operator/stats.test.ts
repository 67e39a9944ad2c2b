/** The live figures of a gateway that works, and what is said when there is none. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { signal, submit } from '../../support/api.js';
import { runCommand, startCommand } from '../../support/command.js';
import { startTestGateway } from '../../support/gateway.js';
import { eventually } from '../../support/eventually.js';

const gateway = await startTestGateway(t, { users: 2 });
const from = ['--url', gateway.process.opsUrl];

t.test('one second of load is shown as it was', async (t) => {
  const user = await gateway.user();
  let asked = 0;
  let answered = 0;
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      asked++;
      await submit(gateway.url, user.key, signal());
      answered++;
    }
  })();
  await eventually(() => answered > 5);
  // On a busy machine a second may pass without an answer.
  const figures = await eventually(async () => {
    const { code, stdout } = await runCommand(['stats', '--once', '--json', ...from]);
    t.equal(code, 0);
    const shown = JSON.parse(stdout);
    return shown.signalsPerSecond > 0 && shown;
  });
  isOver = true;
  await work;
  t.match(figures, { ready: true, version: String, commitsFailed: 0, connectedPlugins: 0 });
  t.ok(figures.signalsAccepted > 5 && figures.signalsAccepted <= asked);
  const shown = figures.signalsPerSecond * figures.intervalSeconds;
  t.ok(shown < figures.signalsAccepted, `${shown} in the interval`);
  // Either end of the interval may fall between the acceptance of the signal under way and its answer.
  const isAlike = (perSecond: number): boolean =>
    Math.abs(perSecond * figures.intervalSeconds - shown) < 1.5;
  t.ok(isAlike(figures.answers['2xx']), `${figures.answers['2xx']} answers a second`);
  t.ok(isAlike(figures.executionsPerSecond.denied));
  t.ok(figures.latencySeconds.accept.p99 >= figures.latencySeconds.accept.p50);
  t.ok(figures.storeBytes > 0 && figures.diskFreeBytes > 0 && figures.residentBytes > 0);
});

t.test('the table is for people', async (t) => {
  const { code, stdout } = await runCommand(['stats', '--once', ...from]);
  t.equal(code, 0);
  t.match(stdout, /^signalbox [\d.]+ {2}http.* ready {2}up .*Z\n/);
  t.match(stdout, /PER SECOND +ALL +2XX +4XX +429 +5XX +ABORTED/);
  // The rate may be above 0: the first of the two scrapes may be from before the last test's end.
  t.match(stdout, /^signals +\d+(?:\.\d)? a second, \d+ since the start$/m);
});

t.test('it goes on every second until Ctrl-C, which is no failure', async (t) => {
  const stats = startCommand(['stats', '--json', ...from]);
  await eventually(() => stats.stdout().split('\n').length > 2);
  stats.process.kill('SIGINT');
  const { code, stdout } = await stats.ended;
  t.equal(code, 0);
  const [first, second] = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)));
  t.ok(Date.parse(second.at) > Date.parse(first.at));
});

t.test('stopped before its one second is over, it has failed', async (t) => {
  let scrapes = 0;
  const ops = createHttpServer((_request, response) => {
    scrapes++;
    // The first scrape has no second after it.
    if (scrapes === 1) response.end('signalbox_wall_clock_seconds 1\n');
  });
  t.teardown(() => ops.close().closeAllConnections());
  await once(ops.listen(0, '127.0.0.1'), 'listening');
  const { port } = ops.address() as AddressInfo;
  const stats = startCommand(['stats', '--once', '--json', '--ops-port', `${port}`]);
  await eventually(() => scrapes > 0);
  stats.process.kill('SIGTERM');
  const { code, stdout } = await stats.ended;
  t.equal(code, 1);
  t.match(JSON.parse(stdout), { error: { code: 'stopped' } });
});

t.test('where nothing answers, or no gateway, it says so', async (t) => {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .resume()
      .end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
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
  const [stats, lines] = [
    startCommand(['stats', ...from]),
    startCommand(['stats', '--json', ...from]),
  ];
  await eventually(() => stats.stdout() !== '' && lines.stdout() !== '');
  await gateway.process.stop();
  const { code, stderr } = await stats.ended;
  t.equal(code, 1);
  t.match(stderr, /no longer answers: it was stopped, or is stuck/);
  const { stdout } = await lines.ended;
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  t.match(JSON.parse(last), { error: { code: 'gateway_gone' } }, 'a line of JSON as the others');
});
