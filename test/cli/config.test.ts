import { spawnSync } from 'node:child_process';
import t from 'tap';
import { limitNames, limits } from '../../src/limits.js';
import { signalbox } from '../support/signalbox.js';

function config(
  args: readonly string[],
  environment: Record<string, string> = {},
): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [signalbox, 'config', ...args], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

t.test('the settings in force are printed as JSON under the names of the config file', (t) => {
  const file = t.testdir({ 'c.json': '{"port":1,"limits":{"ttlMsMax":5},"logLevel":"warn"}' });
  const { code, stdout } = config(['--config', `${file}/c.json`, '--host', '::1', '--json']);
  t.equal(code, 0);
  t.same(JSON.parse(stdout), {
    dataDir: './data',
    host: '::1',
    port: 1,
    opsHost: '127.0.0.1',
    opsPort: 9464,
    tlsCert: null,
    tlsKey: null,
    trustProxy: [],
    logLevel: 'warn',
    jwtSecret: null,
    limits: {
      ...Object.fromEntries(limitNames.map((name) => [name, limits[name].value])),
      ttlMsMax: 5,
    },
    plans: {
      basic: { publicApi: false, signalsPerMinute: 60, signalsPerDay: 1000 },
      business: { publicApi: true, signalsPerMinute: 6000, signalsPerDay: 1_000_000 },
    },
    platforms: [
      { token: 'terminal_a', account: 'named' },
      { token: 'terminal_b', account: 'login-at-server' },
    ],
  });
  t.end();
});

t.test('the text tells each value with where it comes from', (t) => {
  const file = t.testdir({ 'c.json': '{"limits":{"ttlMsMax":5},"trustProxy":["10.0.0.1"]}' });
  const { stdout } = config(['--config', `${file}/c.json`, '--port', '0'], {
    SIGNALBOX_HOST: '::1',
  });
  t.match(stdout, /^port +0 +flag --port$/m);
  t.match(stdout, /^host +::1 +environment variable SIGNALBOX_HOST$/m);
  t.match(stdout, /^trustProxy +10\.0\.0\.1 +config file .*c\.json$/m);
  t.match(stdout, /^opsPort +9464 +default$/m);
  t.match(stdout, /^jwtSecret +\(in the data directory\) +default$/m, 'there always is one');
  t.match(stdout, /^ttlMsMax +5 +milliseconds \(default 300000\)$/m);
  t.match(stdout, /^business +yes +6000 +1000000$/m);
  t.match(stdout, /^terminal_b +login-at-server$/m);
  t.end();
});

t.test('a secret is told to be there, and not told', (t) => {
  const environment = { SIGNALBOX_JWT_SECRET: 'correct-horse-battery-staple' };
  for (const args of [[], ['--json']]) {
    const { code, stdout, stderr } = config(args, environment);
    t.equal(code, 0);
    t.match(stdout, /jwtSecret.*\(hidden\)/);
    t.notMatch(stdout + stderr, /horse/);
  }
  t.end();
});

t.test('wrong settings are exit code 2, one sentence each', (t) => {
  const { code, stdout, stderr } = config(['--port', 'x', '--host', ''], { SIGNALBOX_PROT: '1' });
  t.equal(code, 2);
  t.equal(stdout, '');
  const lines = stderr.trim().split('\n');
  t.equal(lines.length, 3);
  for (const name of ['"port"', '"host"', '"SIGNALBOX_PROT"']) {
    t.ok(
      lines.some((line) => line.includes(name) && line.endsWith('.')),
      name,
    );
  }
  t.end();
});
