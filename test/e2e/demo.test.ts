import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import t, { type Test } from 'tap';
import '../support/alone.js';
import { addUser, startGateway } from '../support/gateway-process.js';
import { signalboxIn } from '../support/in-process.js';
import { signalbox } from '../support/signalbox.js';

t.test('demo --once verifies every step and ends with 0', async (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [signalbox, 'demo', '--once'], {
    encoding: 'utf8',
  });
  t.equal(status, 0, stdout + stderr);
  t.match(stdout, /All 13 steps were verified\./);
  // The disk of a busy machine may stand still for seconds, which the gateway logs.
  const warnings = stderr
    .split('\n')
    .filter((line) => !/"a commit hangs|the commit that hung/.test(line));
  t.equal(warnings.join('\n'), '', 'nothing else to warn of');
});

t.test('demo leaves lines that work when they are pasted', async (t) => {
  const child = spawn(process.execPath, [signalbox, 'demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  while (!screen.includes('/metrics')) await once(child.stdout, 'data');

  const [, url, key] = /URL=(\S+) KEY=(\S+)/.exec(screen) ?? [];
  const headers = { authorization: `Bearer ${key}` };
  const [, requestId] = /curl \$URL\/api\/v1\/signals\/(\S+)/.exec(screen) ?? [];
  const order = await fetch(`${url}/api/v1/signals/${requestId}`, { headers });
  t.match(await order.json(), { status: 'completed', executions: [{ status: 'cancelled' }] });

  const [, json] = /-d '(\{.*\})'/.exec(screen) ?? [];
  const body = json
    ?.replace("'$(date +%s%N)'", 'x')
    .replace("'$(date +%s%3N)'", String(Date.now()));
  const signal = await fetch(`${url}/api/v1/signals`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'pasted' },
    body: body ?? '',
  });
  t.equal(signal.status, 202);

  const exited = once(child, 'exit');
  child.kill('SIGINT');
  t.same(await exited, [0, null]);
});

const aDemo = (t: Test, directory: string) => {
  const child = spawn(process.execPath, [signalbox, 'demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: directory },
  });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, exited: once(child, 'exit') };
};

t.test('demo ends when nobody reads it any more', async (t) => {
  const directory = t.testdir();
  const { child, exited } = aDemo(t, directory);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [code] = await exited;
  t.type(code, 'number', 'by itself, and not by a signal');
  t.same(readdirSync(directory), []);
});

t.test('demo that is stopped between its steps leaves nothing', async (t) => {
  const directory = t.testdir();
  const { child, exited } = aDemo(t, directory);
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  while (!screen.includes('lists the terminals')) await once(child.stdout, 'data');
  child.kill('SIGINT');
  const [code] = await exited;
  // On a busy machine this process may read of that step only after the last one.
  t.match(screen, code === 1 ? /was stopped before its last step\.\n$/ : /The demo is over\.\n$/);
  t.same(readdirSync(directory), []);
});

t.test('demo keeps a data directory that was given', async (t) => {
  const dataDir = `${t.testdir()}/kept`;
  for (let round = 1; round <= 2; round++) {
    const args = [signalbox, 'demo', '--once', '--data-dir', dataDir];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    t.equal(status, 0, `round ${round}\n${stdout}`);
  }
  t.ok(existsSync(`${dataDir}/data.mdb`));
});

t.test('demo leaves the directory of a running gateway as it is', async (t) => {
  const dataDir = `${t.testdir()}/served`;
  let gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  const args = [signalbox, 'demo', '--once', '--data-dir', dataDir];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  t.equal(status, 1);
  t.match(stderr, /in use by another gateway/);
  await addUser(dataDir, 'ann@example.com');
  t.equal(await gateway.stop(), 0);
  gateway = await startGateway({ dataDir });
  t.match(await signalboxIn(dataDir, ['user', 'list']), {
    code: 0,
    stdout: /^(?![^]*demo@)[^]*ann@/,
  });
});
