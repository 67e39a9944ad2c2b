import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { knownEnvironment } from '../../src/settings/table.js';
import { lockDirectory } from '../../src/store/directory-lock.js';
import { startCommand } from '../support/command.js';
import { dataDirOf } from '../support/gateway.js';
import {
  addUser,
  type GatewayOptions,
  type GatewayProcess,
  signalboxCli,
  startGateway,
} from '../support/gateway-process.js';

async function started(
  t: Test,
  { dataDir = dataDirOf(t), ...options }: Partial<GatewayOptions> = {},
): Promise<GatewayProcess> {
  const gateway = await startGateway({ dataDir, ...options });
  t.teardown(() => gateway.kill());
  return gateway;
}

t.test('the ready line names the real ports, and nothing else is on standard output', async (t) => {
  const gateway = await started(t);
  let more = '';
  gateway.process.stdout?.on('data', (text) => (more += String(text)));
  t.match(gateway.url, /^http:\/\/127\.0\.0\.1:[1-9][0-9]+$/);
  t.match(gateway.opsUrl, /^http:\/\/127\.0\.0\.1:[1-9][0-9]+$/);
  t.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 200);
  t.equal((await fetch(gateway.url)).status, 404);
  t.equal(await gateway.stop(), 0);
  t.equal(more, '');
  for (const line of gateway.log().trim().split('\n')) t.ok(JSON.parse(line), 'the log is JSON');
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} ends an idle gateway with exit code 0, its last words logged`, async (t) => {
    const gateway = await started(t);
    const ended = once(gateway.process, 'close');
    gateway.process.kill(signal);
    t.same(await ended, [0, null]);
    t.match(gateway.log(), /"signal":"SIG(TERM|INT)".*asked to stop/);
    t.match(gateway.log(), /"msg":"stopped"/);
  });
}

/** Begins a request whose body never comes, so that draining has to wait for it. */
async function stallingClient(t: Test, url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
      'Content-Length: 50\r\nExpect: 100-continue\r\n\r\n{',
  );
  await once(socket, 'data');
}

t.test('a signal ends a gateway that waits for a command at once, with exit code 0', async (t) => {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, 'ann@example.com');
  const lock = await lockDirectory(dataDir, 'command');
  t.teardown(() => lock.release());
  const { process: waiting, ended } = startCommand([
    ...['serve', '--host', '0.0.0.0', '--port', '0', '--ops-port', '0'],
    ...['--data-dir', dataDir],
  ]);
  // The warning of a public address is the last that it says before it waits.
  await once(waiting.stderr as Readable, 'data');
  waiting.kill('SIGTERM');
  t.match(await ended, { code: 0, stdout: '', stderr: /asked to stop/ });
});

t.test('a second signal ends a gateway that drains at once', async (t) => {
  const gateway = await started(t);
  await stallingClient(t, gateway.url);
  const ended = once(gateway.process, 'exit');
  gateway.process.kill('SIGTERM');
  while (!gateway.log().includes('draining')) await once(gateway.process.stderr!, 'data');
  gateway.process.kill('SIGTERM');
  t.same(await ended, [143, null]);
});

t.test('a client that stalls does not hold up the end beyond 10 seconds', async (t) => {
  const gateway = await started(t);
  await stallingClient(t, gateway.url);
  t.equal(await gateway.stop(), 0);
});

t.test('readyz says why, as long as the gateway drains', async (t) => {
  const gateway = await started(t);
  await stallingClient(t, gateway.url);
  gateway.process.kill('SIGTERM');
  while (!gateway.log().includes('draining')) await once(gateway.process.stderr!, 'data');
  const answer = await fetch(`${gateway.opsUrl}/readyz`);
  t.equal(answer.status, 503);
  t.equal(await answer.text(), 'draining');
});

t.test(
  'an error that nobody catches is logged, and ends the gateway with exit code 1',
  async (t) => {
    const bugs = {
      exception: `throw new Error('found a bug')`,
      rejection: `void Promise.reject(new Error('found a bug'))`,
    };
    const dataDir = dataDirOf(t);
    for (const [kind, bug] of Object.entries(bugs)) {
      const module = encodeURIComponent(`process.on('SIGUSR2', () => { ${bug} })`);
      const environment = { NODE_OPTIONS: `--import=data:text/javascript,${module}` };
      const gateway = await started(t, { dataDir, environment });
      const ended = once(gateway.process, 'close');
      gateway.process.kill('SIGUSR2');
      t.same(await ended, [1, null], kind);
      const lines = gateway.log().trim().split('\n');
      const fatal = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'fatal');
      t.match(fatal, { err: { message: 'found a bug', stack: /found a bug/ } });
    }
  },
);

function serve(dataDir: string, ...flags: string[]): ReturnType<typeof signalboxCli> {
  return signalboxCli(dataDir, ['serve', '--port', '0', '--ops-port', '0', ...flags]);
}

t.test(
  'a second gateway on the same data directory is refused, and the first goes on',
  async (t) => {
    const dataDir = dataDirOf(t);
    const gateway = await started(t, { dataDir });
    const { code, stdout, stderr } = serve(dataDir);
    t.equal(code, 1);
    t.equal(stdout, '');
    t.match(stderr, new RegExp(`in use by another gateway \\(process ${gateway.process.pid}\\)`));
    t.notMatch(stderr, /\n {4}at /);
    t.equal((await fetch(`${gateway.opsUrl}/readyz`)).status, 200);
  },
);

t.test('a port that is taken is refused in words, for both ports', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const dataDir = dataDirOf(t);
  for (const flag of ['--port', '--ops-port']) {
    const { code, stdout, stderr } = serve(dataDir, flag, `${port}`);
    t.equal(code, 1, flag);
    t.equal(stdout, '');
    t.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}.*${flag}`));
    t.notMatch(stderr, /\n {4}at /);
  }
});

t.test('a refused start is JSON with --json, also on standard output', async (t) => {
  const dataDir = dataDirOf(t);
  await started(t, { dataDir });
  const refusals = [
    { code: 'start_refused', given: ['--host', '192.0.2.1'], dataDir: `${dataDir}-of-none` },
    { code: 'data_directory_refused', given: [], dataDir },
  ];
  for (const { code, given, dataDir } of refusals) {
    const { stdout, stderr, ...refused } = serve(dataDir, '--json', ...given);
    t.equal(refused.code, 1, code);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    t.equal(error.code, code);
    t.ok(stderr.endsWith(`${error.message}\n`), stderr);
  }
});

t.test('an address that is not of this machine is refused in words, for both ports', async (t) => {
  const dataDir = dataDirOf(t);
  for (const port of ['0', '8080']) {
    const { code, stderr } = serve(dataDir, '--host', '192.0.2.1', '--port', port);
    t.equal(code, 1, port);
    t.match(stderr, /^Cannot listen on 192\.0\.2\.1: .*EADDRNOTAVAIL.*--host\.$/m);
    t.notMatch(stderr, /\n {4}at /);
  }
  t.match(serve(dataDir, '--ops-host', '192.0.2.1').stderr, /192\.0\.2\.1.*--ops-host/);
});

t.test('the credentials of a terminal in the environment are none of its settings', (t) => {
  const names = ['SIGNALBOX_PASSWORD', 'SIGNALBOX_SESSION_TOKEN', 'SIGNALBOX_FIX_PASSWORD'];
  for (const name of names) t.ok(knownEnvironment.has(name), name);
  t.end();
});

t.test('wrong settings are exit code 2, and nothing is made', (t) => {
  const dataDir = dataDirOf(t);
  const directory = dirname(dataDir);
  const { code, stdout, stderr } = serve(dataDir, '--port', '70000', '--log-level', 'loud');
  t.equal(code, 2);
  t.equal(stdout, '');
  t.match(stderr, /"port" is "70000".*\n.*"logLevel" is "loud"/);
  writeFileSync(`${directory}/c.json`, '{"limits":{"ttlMaxMs":1}}');
  t.match(serve(dataDir, '--config', `${directory}/c.json`), {
    code: 2,
    stderr: /limits\.ttlMaxMs/,
  });
  t.notOk(existsSync(dataDir));
  t.end();
});

t.test('the commands for users do without the native server', async (t) => {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, 'ann@example.com');
  const program = new URL('../../src/cli/program.js', import.meta.url).href;
  const script = `
    const { runProgram } = await import(${JSON.stringify(program)});
    const silent = () => undefined;
    const io = { stdout: silent, stderr: silent, isTTY: false, env: {} };
    process.exitCode = await runProgram(['user', 'list', '--data-dir', process.argv[1]], io);
    process.stdout.write(String(
    process.report.getReport().sharedObjects.filter((path) => path.includes('uws'))))`;
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, dataDir],
    {
      encoding: 'utf8',
    },
  );
  t.equal(status, 0);
  t.equal(stdout, '');
});
