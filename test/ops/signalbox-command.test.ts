/** ops/signalbox: the operator's command on a machine with the unit. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { nobody, noOtherOwner } from '../support/other-user.js';
import { signalbox as program } from '../support/signalbox.js';

const ops = fileURLToPath(new URL('../../../ops/', import.meta.url));
const script = join(ops, 'signalbox');
const skip = noOtherOwner();

/** A folder that every user can enter. */
function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-command-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  chmodSync(path, 0o755);
  return path;
}

/** Prints who runs it, its arguments, and the environment that it was given. */
const witness = `echo "user $(id -un)"; echo "args $*"; env | grep -E '^(SIGNALBOX_|NODE_|OTHER)' | sort`;

interface Machine {
  readonly unit: string;
  readonly path: string;
}

function machine(t: Test, user: string, unitLines: readonly string[] = []): Machine {
  const path = folder(t);
  writeFileSync(join(path, 'witness.sh'), witness);
  const unit = join(path, 'signalbox.service');
  const lines = [
    '[Service]',
    `User=${user}`,
    'Environment=NODE_ENV=production',
    'Environment=SIGNALBOX_DATA_DIR=%S/signalbox "SIGNALBOX_PORT=1"',
    `EnvironmentFile=-${path}/environment`,
    `ExecStart=/bin/sh ${path}/witness.sh serve`,
    ...unitLines,
  ];
  writeFileSync(unit, lines.join('\n'));
  return { unit, path };
}

function run(unit: string, args: readonly string[], uid?: number) {
  const { status, stdout, stderr } = spawnSync('/bin/sh', [script, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], SIGNALBOX_UNIT: unit },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
}

t.test(
  'it takes program, user and environment from the unit, its drop-ins and its files',
  async (t) => {
    const { username } = userInfo();
    const { unit, path } = machine(t, username);
    writeFileSync(
      join(path, 'environment'),
      '# settings\nSIGNALBOX_PORT=9000\nSIGNALBOX_JWT_SECRET="a b$c"\nSIGNALBOX_HOST=\'::1\'\nOTHER=no\nPATH=/nowhere\n',
    );
    mkdirSync(`${unit}.d`);
    writeFileSync(
      `${unit}.d/tls.conf`,
      '[Service]\nEnvironment=SIGNALBOX_TLS_CERT=%d/tls.cert SIGNALBOX_OPS_PORT=%%1\n',
    );
    const { status, lines, stderr } = run(unit, ['user', 'show', 'a b', '*']);
    t.equal(status, 0, stderr);
    t.same(lines, [
      `user ${username}`,
      'args user show a b *',
      'NODE_ENV=production',
      'SIGNALBOX_DATA_DIR=/var/lib/signalbox',
      'SIGNALBOX_HOST=::1',
      'SIGNALBOX_JWT_SECRET=a b$c',
      'SIGNALBOX_OPS_PORT=%1',
      'SIGNALBOX_PORT=9000',
    ]);
  },
);

t.test('an assignment may be in quotes, as systemd’s own manual writes it', async (t) => {
  const { unit } = machine(t, userInfo().username, [
    'Environment="SIGNALBOX_DATA_DIR=/srv/a b" SIGNALBOX_OPS_PORT="2"',
    "Environment='SIGNALBOX_HOST=::1'",
  ]);
  const { status, lines, stderr } = run(unit, ['config']);
  t.equal(status, 0, stderr);
  t.same(lines.slice(2), [
    'NODE_ENV=production',
    'SIGNALBOX_DATA_DIR=/srv/a b',
    'SIGNALBOX_HOST=::1',
    'SIGNALBOX_OPS_PORT=2',
    'SIGNALBOX_PORT=1',
  ]);
});

t.test('lines are read as systemd reads them: continued, spaced, and taken back', async (t) => {
  const { unit } = machine(t, userInfo().username, [
    'Environment=',
    'EnvironmentFile=',
    'Environment=SIGNALBOX_DATA_DIR=/srv/old \\',
    '# a comment in between',
    '  SIGNALBOX_PORT=2 \\',
    '  "SIGNALBOX_HOST=::1"',
    '  Environment = SIGNALBOX_DATA_DIR=/srv/new',
    '#Environment=SIGNALBOX_PORT=3',
  ]);
  writeFileSync(join(dirname(unit), 'environment'), 'SIGNALBOX_OPS_PORT=9\n');
  const { status, lines, stderr } = run(unit, ['config']);
  t.equal(status, 0, stderr);
  t.same(lines.slice(2), ['SIGNALBOX_DATA_DIR=/srv/new', 'SIGNALBOX_HOST=::1', 'SIGNALBOX_PORT=2']);
});

t.test('an environment file is read as systemd reads it', async (t) => {
  const { unit, path } = machine(t, userInfo().username, ['Environment=']);
  // What systemd 252 gives a service of this file.
  const lines = [
    'SIGNALBOX_CONFIG="/etc/a \\"b\\" \\c"  ',
    'SIGNALBOX_DATA_DIR = /srv/x\r',
    '  SIGNALBOX_HOST=::1',
    'SIGNALBOX_JWT_SECRET=a\\$b\\\\"c d" \'e\'',
    'SIGNALBOX_LOG_LEVEL=in\\',
    'fo',
    'SIGNALBOX_PORT=9000 ',
    "SIGNALBOX_TLS_CERT='/a\\b\"c' ",
    '; SIGNALBOX_OPS_PORT=1',
    'SIGNALBOX_TRUST_PROXY=',
  ];
  writeFileSync(join(path, 'environment'), lines.join('\n'));
  const { status, lines: printed, stderr } = run(unit, ['config']);
  t.equal(status, 0, stderr);
  t.same(printed.slice(2), [
    'SIGNALBOX_CONFIG=/etc/a "b" \\c',
    'SIGNALBOX_DATA_DIR=/srv/x',
    'SIGNALBOX_HOST=::1',
    'SIGNALBOX_JWT_SECRET=a$b\\"c d" \'e\'',
    'SIGNALBOX_LOG_LEVEL=info',
    'SIGNALBOX_PORT=9000',
    'SIGNALBOX_TLS_CERT=/a\\b"c',
    'SIGNALBOX_TRUST_PROXY=',
  ]);
});

t.test('a setting that the service has as a flag is the command’s, too', async (t) => {
  const { unit, path } = machine(t, userInfo().username);
  const flags = '--data-dir "/srv/a b" --json --ops-port=7 --tls-cert %d/tls.cert --port 8';
  writeFileSync(join(path, 'environment'), 'SIGNALBOX_PORT=9000\n');
  writeFileSync(unit, readFileSync(unit, 'utf8').replace(/ serve$/m, ` serve ${flags}`));
  const { status, lines, stderr } = run(unit, ['config']);
  t.equal(status, 0, stderr);
  t.same(lines.slice(1), [
    'args config',
    'NODE_ENV=production',
    'SIGNALBOX_DATA_DIR=/srv/a b',
    'SIGNALBOX_OPS_PORT=7',
    'SIGNALBOX_PORT=8',
  ]);
});

t.test('flags of Node in a drop-in are for the service alone', async (t) => {
  const { unit } = machine(t, userInfo().username);
  const start = /^ExecStart=(\S+) (.*) serve$/m.exec(readFileSync(unit, 'utf8'));
  mkdirSync(`${unit}.d`);
  writeFileSync(
    `${unit}.d/two-processors.conf`,
    `[Service]\nExecStart=\nExecStart=${start?.[1]} --no-a --no-b ${start?.[2]} serve\n`,
  );
  const { status, lines, stderr } = run(unit, ['doctor']);
  t.equal(status, 0, stderr);
  t.equal(lines[1], 'args doctor');
});

t.test('root’s command runs as the user of the service', { skip }, async (t) => {
  const { unit, path } = machine(t, 'nobody', ['Group=']);
  writeFileSync(join(path, 'environment'), 'SIGNALBOX_PORT=9000\n', { mode: 0o600 });
  writeFileSync(unit, `${readFileSync(unit, 'utf8')}\nGroup=${groupOfNobody()}\n`);
  const { status, lines, stderr } = run(unit, ['doctor']);
  t.equal(status, 0, stderr);
  t.equal(lines[0], 'user nobody');
  t.ok(lines.includes('SIGNALBOX_PORT=9000'), 'root reads what the user may not');
});

t.test('anybody else is told what to do', { skip }, async (t) => {
  const { unit } = machine(t, 'root');
  const { status, stderr } = run(unit, ['user', 'list'], nobody);
  t.equal(status, 1);
  t.match(stderr, 'Run: sudo signalbox user list');
});

t.test(
  'the user of the service is told of an environment file that root has kept',
  { skip },
  async (t) => {
    const { unit, path } = machine(t, 'nobody');
    writeFileSync(join(path, 'environment'), '', { mode: 0o600 });
    const { status, stderr } = run(unit, ['user', 'list'], nobody);
    t.equal(status, 1);
    t.match(stderr, /cannot read .*environment.*chgrp nobody .*chmod 640/);
  },
);

t.test('a command without all settings of the service is not run', async (t) => {
  const { unit } = machine(t, userInfo().username, ['Environment="SIGNALBOX_HOST=a \\"b"']);
  const { status, lines, stderr } = run(unit, ['halt']);
  t.match({ status, lines, stderr }, { status: 1, lines: [''], stderr: /quotes within quotes/ });
});

t.test('what is missing is named', async (t) => {
  t.match(run('/nowhere/unit', []), { status: 1, stderr: /no unit \/nowhere\/unit/ });
  const { unit } = machine(t, userInfo().username, [
    'ExecStart=/nowhere/node /nowhere/signalbox.js',
  ]);
  t.match(run(unit, []), { status: 1, stderr: /no Node at \/nowhere\/node/ });
});

t.test('with the shipped unit a command does what the runbook says', async (t) => {
  const path = folder(t);
  const { uid, gid, username } = userInfo();
  mkdirSync(join(path, 'signalbox'), { mode: 0o700 });
  chownSync(join(path, 'signalbox'), uid, gid);
  const unit = join(path, 'signalbox.service');
  const shipped = readFileSync(join(ops, 'systemd/signalbox.service'), 'utf8')
    .replace(/^(User|Group)=.*/gm, `$1=${username}`)
    .replaceAll('%S', path)
    .replaceAll('%E', path)
    .replace('/usr/bin/node', process.execPath)
    .replace('/opt/signalbox/current/build/bin/signalbox.js', program);
  writeFileSync(unit, shipped);
  t.match(run(unit, ['user', 'list', '--json']), {
    status: 1,
    stderr: /holds no Signalbox store/,
  });
  const { status, lines } = run(unit, ['config', '--json']);
  t.equal(status, 0);
  t.match(JSON.parse(lines.join('\n')), { dataDir: join(path, 'signalbox') });
});

function groupOfNobody(): string {
  const { stdout } = spawnSync('id', ['-gn', 'nobody'], { encoding: 'utf8' });
  return stdout.trim();
}
