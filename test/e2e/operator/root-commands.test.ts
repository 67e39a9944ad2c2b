/** Root's commands on the directory of the gateway's user, who must be able to go on with all of it. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import '../../support/alone.js';
import { startCommand } from '../../support/command.js';
import { eventually } from '../../support/eventually.js';
import { signalboxIn } from '../../support/in-process.js';
import { addUser, startGateway } from '../../support/gateway-process.js';
import { stagedIn } from '../../support/staged-copies.js';
import {
  commandOfNobody,
  directoryOfNobody,
  noOtherUser,
  nobody,
} from '../../support/other-user.js';

const ann = 'ann@example.com';
const skip = noOtherUser();

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly message: string;
  readonly remedy?: string;
}

async function findings(dataDir: string, check: string): Promise<Finding[]> {
  const free = ['--port', '0', '--ops-port', '0'];
  const { stdout } = await signalboxIn(dataDir, ['doctor', '--json', ...free]);
  const { findings: found } = JSON.parse(stdout) as { findings: Finding[] };
  return found.filter((finding) => finding.check === check);
}

/** The effective user of a process. */
function ownerOf(pid: number | undefined): number {
  const [, effective] =
    /^Uid:\t\d+\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(effective);
}

function allBelongTo(t: Test, directory: string, uid: number): void {
  t.equal(statSync(directory).uid, uid, directory);
  for (const name of readdirSync(directory, { recursive: true }) as string[]) {
    t.equal(statSync(join(directory, name)).uid, uid, name);
  }
}

async function startsAsNobody(t: Test, dataDir: string): Promise<void> {
  const gateway = await startGateway({ dataDir, uid: nobody });
  t.equal(await gateway.stop(), 0, `a gateway of that user starts with ${dataDir}`);
}

t.test('root’s doctor and backup leave what the gateway’s user can open', { skip }, async (t) => {
  const { folder, dataDir } = directoryOfNobody(t);
  await addUser(dataDir, ann);
  t.match(await findings(dataDir, 'store'), [{ level: 'ok' }]);
  t.match(await findings(dataDir, 'permissions'), [{ level: 'ok' }]);
  allBelongTo(t, dataDir, nobody);
  const stopped = join(folder, 'backups', 'stopped');
  t.match(await signalboxIn(dataDir, ['backup', stopped]), { code: 0 });
  allBelongTo(t, stopped, nobody);
  allBelongTo(t, join(folder, 'backups'), nobody);

  const gateway = await startGateway({ dataDir, uid: nobody });
  t.teardown(() => gateway.kill());
  const running = join(folder, 'backups', 'running');
  t.match(await signalboxIn(dataDir, ['backup', running]), { code: 0 });
  t.match(await findings(dataDir, 'store'), [
    { level: 'ok', message: /a copy made by the running/ },
  ]);
  allBelongTo(t, running, nobody);
  t.equal(await gateway.stop(), 0);
  allBelongTo(t, dataDir, nobody);
  for (const directory of [dataDir, stopped, running]) await startsAsNobody(t, directory);
});

t.test('a backup goes where the gateway itself cannot write', { skip }, async (t) => {
  const { folder, dataDir } = directoryOfNobody(t);
  await addUser(dataDir, ann);
  const gateway = await startGateway({ dataDir, uid: nobody });
  t.teardown(() => gateway.kill());
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const target = join(closed, 'copy');
  const denied = commandOfNobody(['backup', target, '--data-dir', dataDir]);
  t.match(denied, { code: 1, stderr: /could not be written to .*EACCES/ });
  t.match(await signalboxIn(dataDir, ['backup', target]), { code: 0 });
  t.same(readdirSync(target).sort(), ['copy', 'data.mdb', 'jwt-secret', 'log']);
  allBelongTo(t, target, nobody);
  t.equal(statSync(target).mode & 0o777, 0o700);
  t.same(stagedIn(dataDir), []);
  chmodSync(closed, 0o755);
  await startsAsNobody(t, target);
});

t.test('root’s export belongs to root, and root imports it', { skip }, async (t) => {
  const { folder, dataDir } = directoryOfNobody(t);
  const other = directoryOfNobody(t);
  await addUser(dataDir, ann);
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const file = join(closed, 'ann.jsonl');
  t.match(await signalboxIn(dataDir, ['user', 'export', ann, file, '--freeze']), { code: 0 });
  t.equal(statSync(file).uid, 0);
  t.match(readFileSync(file, 'utf8'), /"isMove":true/);
  const imported = await signalboxIn(other.dataDir, ['user', 'import', file]);
  t.match(imported, { code: 0 }, imported.stderr);
  allBelongTo(t, other.dataDir, nobody);
  await startsAsNobody(t, other.dataDir);
});

t.test(
  'root’s export that is interrupted leaves no file where only root can go',
  { skip },
  async (t) => {
    const { folder, dataDir } = directoryOfNobody(t);
    await addUser(dataDir, ann);
    const gateway = await startGateway({ dataDir, uid: nobody });
    t.teardown(() => gateway.kill());
    // The command waits for the suspended gateway.
    gateway.process.kill('SIGSTOP');
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const file = join(closed, 'ann.jsonl');
    const command = startCommand(['user', 'export', ann, file, '--freeze', '--data-dir', dataDir]);
    await eventually(() => readdirSync(closed).length > 0);
    // The command has the rights of the owner from here on.
    await eventually(() => ownerOf(command.process.pid) === nobody);
    command.process.kill('SIGTERM');
    const { code, stderr } = await command.ended;
    t.equal(code, null, 'ended by the signal');
    t.match(stderr, /^Nothing was written\. The user may be frozen; /);
    t.strictSame(readdirSync(closed), []);
  },
);

t.test('a directory that the caller may not read is not called empty', { skip }, async (t) => {
  const { dataDir } = directoryOfNobody(t);
  await addUser(dataDir, ann);
  chownSync(dataDir, 0, 0);
  t.match(commandOfNobody(['user', 'list', '--data-dir', dataDir]), {
    code: 1,
    stderr: /cannot be read: EACCES.*the user that the gateway runs as/,
  });
});

t.test('where permissions are wrong, no restore is advised', { skip }, async (t) => {
  const { dataDir } = directoryOfNobody(t);
  await addUser(dataDir, ann);
  const lock = join(dataDir, 'lock.mdb');
  const data = join(dataDir, 'data.mdb');
  const log = join(dataDir, 'log');
  const faults: readonly (readonly [string, () => void, () => void])[] = [
    ['lock.mdb of root', () => chownSync(lock, 0, 0), () => chownSync(lock, nobody, nobody)],
    ['lock.mdb closed', () => chmodSync(lock, 0), () => chmodSync(lock, 0o600)],
    ['data.mdb of root', () => chownSync(data, 0, 0), () => chownSync(data, nobody, nobody)],
    ['data.mdb read-only', () => chmodSync(data, 0o400), () => chmodSync(data, 0o600)],
    ['the log of root', () => chownSync(log, 0, 0), () => chownSync(log, nobody, nobody)],
    ['the log closed', () => chmodSync(log, 0), () => chmodSync(log, 0o700)],
    ['the directory closed', () => chmodSync(dataDir, 0), () => chmodSync(dataDir, 0o700)],
  ];
  const asItself = (): Finding[] => {
    const free = ['--port', '0', '--ops-port', '0'];
    const { stdout } = commandOfNobody(['doctor', '--json', '--data-dir', dataDir, ...free]);
    return (JSON.parse(stdout) as { findings: Finding[] }).findings;
  };
  for (const [name, spoil, mend] of faults) {
    spoil();
    const ofRoot = await findings(dataDir, 'store');
    const own = asItself();
    for (const found of [ofRoot, own.filter(({ check }) => check === 'store')]) {
      t.match(found, [{ level: 'warning', message: /not examined/, remedy: /permissions/ }], name);
    }
    t.notMatch(JSON.stringify(own), /newest backup/, name);
    t.match(
      own.filter(({ check, level }) => check === 'permissions' && level === 'problem'),
      [{ remedy: /chmod|chown/ }],
      name,
    );
    mend();
  }
  await startsAsNobody(t, dataDir);
});

t.test('who is neither the owner nor root is told to be one', { skip }, async (t) => {
  const { dataDir } = directoryOfNobody(t);
  await addUser(dataDir, ann);
  chownSync(dataDir, 1, 1);
  const { stdout } = commandOfNobody(['doctor', '--json', '--data-dir', dataDir]);
  const { findings: found } = JSON.parse(stdout) as { findings: Finding[] };
  t.match(
    found.filter(({ check }) => check === 'permissions'),
    [{ level: 'problem', message: /belongs to user 1/, remedy: /sudo/ }, {}],
  );
  t.notMatch(stdout, /newest backup/);
});
