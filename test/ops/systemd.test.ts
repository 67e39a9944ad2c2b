/** ops/systemd: held against systemd's own tools, and the notices against a real socket. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { gatewayFlags } from '../../bench/sides/gateway.js';
import { exitCodes } from '../../src/cli/command.js';
import { knownEnvironment } from '../../src/settings/table.js';
import { isQuiet } from '../harness/quiet-log.js';
import { post } from '../support/api.js';
import { dataDirOf } from '../support/gateway.js';
import { addUser, password, signalboxCli, startGateway } from '../support/gateway-process.js';
import { missing } from '../support/installed.js';
import { openNotifySocket } from '../support/notify-socket.js';

const ops = fileURLToPath(new URL('../../../ops/', import.meta.url));
const unitFile = `${ops}systemd/signalbox.service`;
const unit = readFileSync(unitFile, 'utf8');
const dropIn = readFileSync(`${ops}systemd/tls.conf`, 'utf8');
const twoProcessors = readFileSync(`${ops}systemd/two-processors.conf`, 'utf8');
const installGuide = readFileSync(`${ops}install.md`, 'utf8');
const noAnalyze = missing('systemd-analyze', ['--version']);

/** Every value of a key, in order. */
function valuesOf(text: string, key: string): string[] {
  return [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map((match) => match[1] as string);
}

const onThisMachine = (text: string): string =>
  text
    .replace('/usr/bin/node', process.execPath)
    .replace(
      '/opt/signalbox/current/build/bin',
      fileURLToPath(new URL('../../bin', import.meta.url)),
    );

/** The unit with its drop-ins, as installed, but with the Node and the files that this machine has. */
function installedUnits(t: Test): string {
  const directory = t.testdir({ 'signalbox.service.d': {} });
  const here = onThisMachine(unit).replace(/^Documentation=.*\n/m, '');
  writeFileSync(`${directory}/signalbox.service`, here);
  for (const name of ['tls.conf', 'two-processors.conf']) {
    writeFileSync(
      `${directory}/signalbox.service.d/${name}`,
      onThisMachine(readFileSync(`${ops}systemd/${name}`, 'utf8')),
    );
  }
  return directory;
}

t.test('systemd finds nothing wrong with the unit and its drop-ins', { skip: noAnalyze }, (t) => {
  const directory = installedUnits(t);
  const verify = (): { status: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', `${directory}/signalbox.service`],
      { encoding: 'utf8', env: { ...process.env, SYSTEMD_UNIT_PATH: `${directory}:` } },
    );
    // systemd also complains of the machine's other units.
    const lines = (stdout + stderr).split('\n').filter((line) => line.includes('signalbox'));
    return { status, output: lines.join('\n') };
  };
  t.same(verify(), { status: 0, output: '' });

  writeFileSync(`${directory}/signalbox.service.d/tls.conf`, '[Service]\nLoadCredentials=a:b\n');
  t.match(verify().output, /LoadCredentials/, 'what is wrong in it would be found');
  t.end();
});

t.test("the unit's exposure is the one that the guide names", { skip: noAnalyze }, (t) => {
  const { status, stdout } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', '--threshold=20', unitFile],
    { encoding: 'utf8' },
  );
  t.equal(status, 0, 'at most 2.0 of 10');
  const exposure = /Overall exposure level for signalbox\.service: ([0-9.]+)/.exec(stdout)?.[1];
  const named = /exposure level of ([0-9.]+)/.exec(installGuide)?.[1];
  // Later versions of systemd rate more settings, with another sum.
  const version = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' }).stdout;
  if (version.startsWith('systemd 252 ')) t.equal(named, exposure);
  else t.ok(Number(exposure) <= 2, `${exposure}`);
  t.end();
});

t.test(
  'a user without a shell is made',
  { skip: missing('systemd-sysusers', ['--version']) },
  (t) => {
    const root = t.testdir({ etc: {} });
    const file = `${ops}systemd/signalbox.sysusers.conf`;
    const { status, stderr } = spawnSync('systemd-sysusers', [`--root=${root}`, file], {
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    t.match(
      readFileSync(`${root}/etc/passwd`, 'utf8'),
      /^signalbox:x:\d+:\d+:[^:]*:\/var\/lib\/signalbox:\/\S*nologin$/m,
    );
    t.end();
  },
);

t.test('the unit says what the gateway does: its variables, its time, its exit codes', (t) => {
  const variables = [...valuesOf(unit, 'Environment'), ...valuesOf(dropIn, 'Environment')]
    .map((assignment) => assignment.split('=')[0] as string)
    .filter((name) => name.startsWith('SIGNALBOX_'));
  t.same(variables, ['SIGNALBOX_DATA_DIR', 'SIGNALBOX_TLS_CERT', 'SIGNALBOX_TLS_KEY']);
  for (const name of variables) t.ok(knownEnvironment.has(name), name);
  t.ok(Number(valuesOf(unit, 'TimeoutStopSec')[0]) > 10, 'longer than a drain may take');
  t.same(valuesOf(unit, 'RestartPreventExitStatus'), [`${exitCodes.usage}`], 'a wrong setting');
  t.same(valuesOf(unit, 'User'), ['signalbox']);
  t.end();
});

t.test('on two processors Node gets flags that it knows, and the pages name them', (t) => {
  const [program] = valuesOf(unit, 'ExecStart');
  const [emptied, start = ''] = valuesOf(twoProcessors, 'ExecStart');
  const flags = start.match(/ --\S+/g) ?? [];
  t.equal(emptied, '', 'systemd would run both');
  t.equal(
    flags.reduce((text, flag) => text.replace(flag, ''), start),
    program,
  );
  t.same(
    gatewayFlags(2),
    flags.map((flag) => flag.trim()),
    'the benchmarks use them, too',
  );
  t.same(gatewayFlags(4), []);
  t.match(installGuide, flags.map((flag) => flag.trim()).join(', '));
  const { status, stderr } = spawnSync(process.execPath, [...gatewayFlags(2), '--eval', '0']);
  t.equal(status, 0, String(stderr));
  t.end();
});

for (const allowed of [valuesOf(unit, 'SystemCallFilter'), ['@system-service', '~@resources']]) {
  const filter = allowed.join(', ');
  t.test(
    `the gateway works under ${allowed.length > 2 ? "the unit's" : 'a stricter'} filter of system calls`,
    { skip: noAnalyze || missing('strace', ['--version']) },
    async (t) => {
      const dataDir = dataDirOf(t);
      await addUser(dataDir, 'bot@example.com');
      const denied = deniedSystemCalls(allowed).map((name) => `?${name}`);
      t.ok(denied.includes('?sched_setaffinity'), filter);
      const gateway = await startGateway({
        dataDir,
        under: [
          ...['strace', '-D', '-f', '--seccomp-bpf', '-o', '/dev/null'],
          ...['-e', `trace=${denied.join()}`, '-e', `inject=${denied.join()}:error=EPERM`],
        ],
      });
      t.teardown(() => gateway.kill());
      const body = { email: 'bot@example.com', password };
      const login = await post(gateway.url, '/api/auth/login', body);
      t.equal(login.status, 200, login.text);
      const { code, stderr } = signalboxCli(dataDir, ['backup', `${dataDir}-backup`]);
      t.equal(code, 0, stderr);
      t.equal(await gateway.stop(), 0, gateway.log());
    },
  );
}

/** @returns the system calls that `SystemCallFilter=` with these values and systemd's defaults denies. */
function deniedSystemCalls(values: readonly string[]): string[] {
  const groups = new Map<string, string[]>();
  const { stdout } = spawnSync('systemd-analyze', ['syscall-filter'], { encoding: 'utf8' });
  let names: string[] = [];
  for (const line of stdout.split('\n')) {
    if (line.startsWith('@')) groups.set(line, (names = []));
    else if (/^ +[@a-z]/.test(line)) names.push(line.trim());
  }
  const namesOf = (name: string): string[] =>
    name.startsWith('@') ? (groups.get(name) ?? []).flatMap(namesOf) : [name];
  const allowed = new Set(namesOf('@default'));
  for (const value of values) {
    const isTaken = value.startsWith('~');
    for (const name of value.replace('~', '').split(' ').flatMap(namesOf)) {
      if (isTaken) allowed.delete(name);
      else allowed.add(name);
    }
  }
  return [...new Set([...groups.keys()].flatMap(namesOf))].filter((name) => !allowed.has(name));
}

t.test(
  'a real gateway tells a service manager that it serves, lives and drains',
  { skip: process.platform === 'linux' ? missingLibrary() : 'systemd is of Linux alone' },
  async (t) => {
    const socket = openNotifySocket(t);
    const dataDir = dataDirOf(t);
    const gateway = await startGateway({
      dataDir,
      environment: { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '100000' },
    });
    t.teardown(() => gateway.kill());
    t.same(await socket.next(), ['READY=1', `STATUS=Serving at ${gateway.url}`]);
    t.same(await socket.next(), ['WATCHDOG=1']);
    t.same(await socket.next(), ['WATCHDOG=1']);
    const stopped = gateway.stop();
    let notice = await socket.next();
    while (notice[0] === 'WATCHDOG=1') notice = await socket.next();
    t.same(notice, ['STOPPING=1', 'STATUS=Draining']);
    let hasEnded = false;
    void stopped.finally(() => (hasEnded = true));
    // Reads, as systemd does, also what the gateway sends while it drains.
    while (!hasEnded) await socket.next(100).catch(() => undefined);
    t.equal(await stopped, 0);
    const lines = gateway.log().trimEnd().split('\n');
    t.strictSame(
      lines.filter((line) => !isQuiet(line)),
      [],
    );
  },
);

function missingLibrary(): string | false {
  return spawnSync('ldconfig', ['-p'], { encoding: 'utf8' }).stdout.includes('libsystemd.so.0')
    ? false
    : 'the library libsystemd is not installed';
}
