/**
 * ops/backup.md: every command on it runs, in its order, against a real gateway. What belongs to the
 * machine (sudo, systemd) is a stand-in that stops and starts that gateway.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { createKey, login, signal, status, submit, verdict } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { dataDirOf } from '../support/gateway.js';
import { missing } from '../support/installed.js';
import { blocksOf } from '../support/page.js';
import { openShell, pathWith, signalboxCommand, signalboxScript } from '../support/shell.js';
import { addUsers } from '../support/users.js';

const ops = fileURLToPath(new URL('../../../ops/', import.meta.url));
const page = readFileSync(`${ops}backup.md`, 'utf8');
const blocks = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);
/** Commands on the machine's own directories. */
const installation = /\/etc\/systemd/;
/** Commands that need a container engine; the test runs only what others run inside the container. */
const container = /^docker compose .* stop$/m;
/** The command itself, where an installation has it, and stand-ins for the programs of the machine. */
const standIns: Readonly<Record<string, string>> = {
  signalbox: signalboxScript,
  // Drops the path of the program, which backup.sh derives from its own place.
  node: `shift; ${signalboxScript}`,
  sudo: 'exec "$@"',
  docker: 'shift 5; exec "$@"',
  systemctl: `case "$1" in
    start)
      : > "$READY_FILE"
      ${signalboxCommand} serve --port 0 --ops-port 0 > "$READY_FILE" 2> /dev/null &
      echo $! > "$PID_FILE"
      while [ ! -s "$READY_FILE" ]; do sleep 0.05; done ;;
    stop)
      pid=$(cat "$PID_FILE")
      kill "$pid"
      while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done ;;
  esac`,
};

t.test('every command on the page runs, and a restore brings back what was accepted', async (t) => {
  const dataDir = dataDirOf(t);
  const directory = dirname(dataDir);
  const backups = join(directory, 'backups');
  mkdirSync(backups, { mode: 0o700 });
  symlinkSync(ops, join(directory, 'ops'));
  await addUsers(dataDir, [{ email: 'ann@example.com', plan: 'business' }]);
  const readyFile = join(directory, 'ready');
  const environment = {
    PATH: pathWith(directory, standIns),
    SIGNALBOX_DATA_DIR: dataDir,
    BACKUPS: backups,
    PID_FILE: join(directory, 'pid'),
    READY_FILE: readyFile,
  };
  const shell = openShell(t, { directory, environment });
  const run = async (commands: string): Promise<void> => {
    const { ok, output } = await shell.run(commands);
    t.ok(ok, `${commands}${output}`);
  };
  const url = (): Promise<string> =>
    eventually(() => {
      const [line = ''] = readFileSync(readyFile, 'utf8').split('\n');
      return line === '' ? undefined : (JSON.parse(line) as { url: string }).url;
    });

  await run('sudo systemctl start signalbox');
  const { token } = await login(await url(), 'ann@example.com');
  const { key } = await createKey(await url(), token);
  // Longer than all commands take on a busy machine.
  const body = JSON.stringify(signal({ ttlMs: 300_000 }));
  const kept = await submit(await url(), key, body, 'kept');
  const ran: string[] = [];
  for (const block of blocks) {
    if (installation.test(block) || container.test(block)) continue;
    if (block.includes('stop signalbox')) {
      const lost = await submit(await url(), key, signal(), 'lost');
      t.equal(lost.status, 202, 'accepted after the backup');
    }
    // Below the shell's own directory, whose path may have spaces.
    const local = block.replaceAll('/backups/', './backups/');
    await run(local.replaceAll('/opt/signalbox/current', '.'));
    ran.push(block);
    if (block.includes('start signalbox')) {
      const refused = await submit(await url(), key, body, 'kept');
      t.equal(verdict(refused), '503 public_api_disabled');
    }
  }
  t.equal(ran.length, blocks.length - 2);
  t.equal((await submit(await url(), key, body, 'kept')).text, kept.text);
  t.equal((await status(await url(), key, kept.body.requestId)).status, 200);
  await login(await url(), 'ann@example.com');
  t.equal(
    verdict(await submit(await url(), key, body)),
    '409 duplicate_signal_id',
    'with the same API key, by the same secret',
  );
});

t.test(
  'backup.sh keeps the newest whole ones, touches nothing else, and fails loudly',
  async (t) => {
    const dataDir = dataDirOf(t);
    const directory = dirname(dataDir);
    const backups = join(directory, 'backups');
    await addUsers(dataDir, [{ email: 'ann@example.com', plan: 'business' }]);
    const whole = ['2026-01-01T00-00-00Z', '2026-01-02T00-00-00Z'];
    const cutOff = '2026-01-03T00-00-00Z';
    for (const name of [...whole, cutOff, 'by-hand']) {
      mkdirSync(join(backups, name), { recursive: true });
    }
    for (const name of whole) writeFileSync(join(backups, name, 'data.mdb'), '');
    symlinkSync(ops, join(directory, 'ops'));
    const run = (environment: object) =>
      spawnSync('/bin/sh', [join(directory, 'ops/backup.sh'), backups, '2'], {
        encoding: 'utf8',
        env: {
          ...process.env,
          PATH: pathWith(directory, standIns),
          SIGNALBOX_DATA_DIR: dataDir,
          ...environment,
        },
      });
    const failed = run({ SIGNALBOX_DATA_DIR: join(directory, 'nowhere') });
    t.equal(failed.status, 1);
    t.match(failed.stderr, /no data directory/);
    t.equal(readdirSync(backups).length, 4, 'nothing old is removed then');
    const done = run({});
    t.equal(done.status, 0, done.stderr);
    const left = readdirSync(backups).sort();
    t.match(left, ['2026-01-02T00-00-00Z', cutOff, /^20.*Z$/, 'by-hand']);
    t.equal(left.length, 4);
  },
);

t.test('backup.sh refuses a KEEP that is no whole number from 1, and touches nothing', (t) => {
  const backups = t.testdir({ '2026-01-01T00-00-00Z': {} });
  for (const keep of ['0', '00', '048', 'abc', '-1', '1.5', '2 ']) {
    const { status, stderr } = spawnSync('/bin/sh', [`${ops}backup.sh`, backups, keep], {
      encoding: 'utf8',
      env: { ...process.env, SIGNALBOX_DATA_DIR: join(backups, 'nowhere') },
    });
    t.equal(status, 2, keep);
    t.match(stderr, `KEEP is '${keep}'`);
    t.same(readdirSync(backups), ['2026-01-01T00-00-00Z']);
  }
  t.end();
});

t.test('backup.sh says on standard error what the doctor finds wrong, and removes nothing', (t) => {
  const backups = t.testdir({ '2026-01-01T00-00-00Z': { 'data.mdb': '' } });
  const node = 'if [ "$2" = doctor ]; then echo damaged; exit 1; fi';
  const { status, stderr } = spawnSync('/bin/sh', [`${ops}backup.sh`, backups, '1'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: pathWith(t.testdirName, { node }) },
  });
  t.match({ status, stderr }, { status: 1, stderr: 'damaged\n' });
  t.ok(readdirSync(backups).includes('2026-01-01T00-00-00Z'));
  t.end();
});

t.test('backup.sh finds the program when it is called through a link', (t) => {
  const directory = t.testdir({ link: t.fixture('symlink', `${ops}backup.sh`) });
  const node = 'cd "$(dirname "$1")/../../ops" && pwd -P';
  const { status, stdout, stderr } = spawnSync('/bin/sh', [join(directory, 'link'), directory], {
    encoding: 'utf8',
    env: { ...process.env, PATH: pathWith(directory, { node }) },
  });
  t.equal(status, 0, stderr);
  t.equal(stdout, `${ops.slice(0, -1)}\n`.repeat(2), 'for the backup and for the doctor');
  t.end();
});

t.test('a backup that is due at boot waits for the gateway', async (t) => {
  t.match(readFileSync(`${ops}systemd/signalbox-backup.timer`, 'utf8'), /^Persistent=true$/m);
  t.match(
    readFileSync(`${ops}systemd/signalbox-backup.service`, 'utf8'),
    /^After=signalbox\.service$/m,
  );
});

t.test(
  'systemd finds nothing wrong with the timer and its service',
  { skip: missing('systemd-analyze', ['--version']) },
  (t) => {
    const directory = t.testdir();
    for (const name of ['signalbox-backup.service', 'signalbox-backup.timer']) {
      const text = readFileSync(`${ops}systemd/${name}`, 'utf8')
        .replace('/opt/signalbox/current/ops/backup.sh', `${ops}backup.sh`)
        .replace(/^Documentation=.*\n/m, '');
      writeFileSync(join(directory, name), text);
    }
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', join(directory, 'signalbox-backup.timer')],
      { encoding: 'utf8', env: { ...process.env, SYSTEMD_UNIT_PATH: `${directory}:` } },
    );
    const said = (stdout + stderr).split('\n').filter((line) => line.includes('signalbox'));
    t.same({ status, said }, { status: 0, said: [] });
    t.end();
  },
);
