import { createServer } from 'node:net';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  openSync,
  closeSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import type { Finding } from '../../src/doctor/finding.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { readKey, writeKey } from '../../src/store/key-encoding.js';
import { collections } from '../../src/store/key-layout.js';
import { lockDirectory, tryLockDirectory } from '../../src/store/directory-lock.js';
import { runCommand, type RunningCommand, startCommand } from '../support/command.js';
import { eventually } from '../support/eventually.js';
import { dataDirOf } from '../support/gateway.js';
import { addUser } from '../support/gateway-process.js';
import { commandOfNobody, directoryOfNobody, nobody, noOtherUser } from '../support/other-user.js';
import { runInProcess } from '../support/in-process.js';

interface Diagnosis {
  readonly code: number | null;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly of: (check: string) => readonly Finding[];
}

async function diagnose(dataDir: string, flags: readonly string[] = []): Promise<Diagnosis> {
  const free = ['--port', '0', '--ops-port', '0'];
  const args = ['doctor', '--json', '--data-dir', dataDir, ...free, ...flags];
  const { code, stdout } = await runInProcess(args);
  const { ok, findings } = JSON.parse(stdout) as Pick<Diagnosis, 'ok' | 'findings'>;
  return { code, ok, findings, of: (check) => findings.filter((each) => each.check === check) };
}

async function aDataDir(t: Test): Promise<string> {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, 'ann@example.com');
  return dataDir;
}

t.test('where all is well, every check says so and the exit code is 0', async (t) => {
  const dataDir = await aDataDir(t);
  const { code, ok, findings } = await diagnose(dataDir);
  t.equal(code, 0);
  t.equal(ok, true);
  const checks = new Set(findings.map(({ check }) => check));
  t.same(
    [...checks],
    ['settings', 'permissions', 'disk', 'store', 'secret', 'clock', 'files', 'ports', 'native'],
  );
  t.same(
    findings.filter(({ level }) => level === 'problem'),
    [],
  );
  const { stdout } = await runCommand(['doctor', '--data-dir', dataDir, '--port', '0']);
  t.match(stdout, /^ok +store +The store has format 2; all \d+ records \(users: 1\)/m);
});

t.test('every finding that is not ok has a remedy in a sentence', async (t) => {
  const dataDir = await aDataDir(t);
  chmodSync(join(dataDir, 'data.mdb'), 0o644);
  const { code, of } = await diagnose(dataDir);
  t.equal(code, 1);
  const [finding] = of('permissions');
  t.match(finding, {
    level: 'problem',
    message: /Other users may be able to read .*data\.mdb \(mode 644\)/,
    remedy: /chmod 600 .*data\.mdb/,
  });
  const { stdout } = await runInProcess(['doctor', '--data-dir', dataDir]);
  t.ok(stdout, 'the store is opened by the look at it, which closes its files');
  t.equal(statSync(join(dataDir, 'data.mdb')).mode & 0o777, 0o600);
});

t.test(
  'the target of a link is not to be closed, unless it is a file of the gateway',
  async (t) => {
    const dataDir = await aDataDir(t);
    const shared = join(dataDir, '..', 'hosts');
    const secret = join(dataDir, 'jwt-secret');
    writeFileSync(shared, '');
    chmodSync(shared, 0o644);
    symlinkSync(shared, join(dataDir, 'link'));
    const { of } = await diagnose(dataDir);
    t.match(of('permissions'), [{ level: 'ok' }]);
    rmSync(secret, { force: true });
    symlinkSync(shared, secret);
    const { of: told } = await diagnose(dataDir);
    t.match(told('permissions'), [{ level: 'problem', message: /jwt-secret \(mode 644\)/ }]);
  },
);

/** A doctor and its examiner, which is stopped. Linux tells the children of a process. */
async function aStoppedExaminer(dataDir: string): Promise<{ doctor: RunningCommand; pid: number }> {
  const doctor = startCommand(['doctor', '--data-dir', dataDir, '--port', '0', '--ops-port', '0']);
  let hasEnded = false as boolean;
  void doctor.ended.then(() => (hasEnded = true));
  const doctorPid = `${doctor.process.pid}`;
  const found = await eventually(() => {
    if (hasEnded) return 'ended';
    const children = procFile(doctorPid, `task/${doctorPid}/children`);
    const pids = children.trim().split(' ').filter(Boolean);
    const isExaminer = (pid: string): boolean =>
      procFile(pid, 'cmdline').includes('store-examiner');
    return pids.find((pid) => isExaminer(pid) && process.kill(Number(pid), 'SIGSTOP'));
  });
  const isStopped = (): boolean => / \(.*\) T /.test(procFile(found, 'stat'));
  await eventually(() => hasEnded || isStopped());
  // A doctor that was faster is followed by another one.
  return hasEnded ? aStoppedExaminer(dataDir) : { doctor, pid: Number(found) };
}

function procFile(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

t.test(
  'the examiner of a killed doctor keeps the directory from a gateway until it ends',
  { skip: existsSync('/proc/self/task') ? false : 'only Linux tells the children of a process' },
  async (t) => {
    const dataDir = await aDataDir(t);
    const { doctor, pid } = await aStoppedExaminer(dataDir);
    doctor.process.kill('SIGKILL');
    await doctor.ended;
    const lock = tryLockDirectory(dataDir, 'gateway');
    t.same(lock, { pid, role: 'command' }, 'who can be ended is named');
    if ('release' in lock) lock.release();
    process.kill(pid, 'SIGCONT');
    (await lockDirectory(dataDir, 'gateway')).release();
  },
);

t.test(
  'a store whose reader somebody ended is not called damaged',
  { skip: existsSync('/proc/self/task') ? false : 'only Linux tells the children of a process' },
  async (t) => {
    const { doctor, pid } = await aStoppedExaminer(await aDataDir(t));
    process.kill(pid, 'SIGKILL');
    const { code, stdout } = await doctor.ended;
    t.equal(code, 1, 'nor whole, for ops/backup.sh');
    t.match(stdout, /^problem +store +The records were not examined: .* ended by SIGKILL\.$/m);
    t.notMatch(stdout, /backup/);
  },
);

t.test('the name of a record cannot write to the operator’s screen', async (t) => {
  const dataDir = await aDataDir(t);
  const store = openStore(dataDir);
  await store.write((batch) => batch.put('emails', 'no\u009b2Jok', 'usr_nobody'));
  await store.close();
  const { stdout } = await runInProcess(['doctor', '--data-dir', dataDir, '--port', '0']);
  t.match(stdout, /^problem +store .*"no\?2Jok"/m);
});

t.test('a directory that others can read is told of', async (t) => {
  const dataDir = await aDataDir(t);
  chmodSync(dataDir, 0o755);
  const { of } = await diagnose(dataDir);
  t.match(of('permissions'), [{ level: 'problem', remedy: /chmod 700/ }]);
});

t.test(
  'a directory above the data that is closed to the gateway’s user is the one finding, by name',
  { skip: noOtherUser() },
  async (t) => {
    const { folder, dataDir } = directoryOfNobody(t);
    await addUser(dataDir, 'ann@example.com');
    chownSync(folder, 0, 0);
    chmodSync(folder, 0o700);
    const { code, findings } = await diagnose(dataDir);
    t.equal(code, 1);
    t.match(findings.slice(1), [
      {
        check: 'permissions',
        level: 'problem',
        message: `The owner of ${dataDir} (user ${nobody}) cannot reach it: ${folder} is closed to that user.`,
        remedy: `chmod o+x ${folder}`,
      },
    ]);
    t.equal(findings.length, 2);
    const other = commandOfNobody(['doctor', '--data-dir', dataDir]);
    t.equal(other.code, 1);
    t.match(other.stdout, `${folder} is closed to user ${nobody}, which runs this command.`);
    t.equal(other.stderr, '');
  },
);

t.test('no directory, and a directory without a store, are problems', async (t) => {
  const directory = t.testdir({
    empty: {},
    file: '',
    cut: { unfinished: { 'data.mdb': '' } },
    bare: { log: { '00000001.log': '' } },
  });
  for (const name of ['missing', 'file', 'file/below']) {
    const { code, of } = await diagnose(join(directory, name));
    t.equal(code, 1);
    t.match(of('permissions'), [{ level: 'problem', message: /no data directory/ }]);
    t.same(of('store'), []);
  }
  const empty = await diagnose(join(directory, 'empty'));
  t.equal(empty.code, 1);
  t.match(empty.of('store'), [{ level: 'problem', message: /holds no store/ }]);
  const cut = await diagnose(join(directory, 'cut'));
  t.equal(cut.code, 1);
  t.match(cut.of('store'), [{ level: 'problem', message: /backup that was cut off/ }]);
  const bare = await diagnose(join(directory, 'bare'));
  t.equal(bare.code, 1);
  t.match(bare.of('store'), [
    {
      level: 'problem',
      message: /data\.mdb is missing.*Put the file back/,
      remedy: /newest backup/,
    },
  ]);
});

t.test('settings that are wrong are findings, all of them, and the only ones', async (t) => {
  const directory = t.testdir({ 'config.json': '{"prot": 1, "limits": {"ttlMsMax": -1}}' });
  const { code, findings } = await diagnose(directory, ['--config', `${directory}/config.json`]);
  t.equal(code, 1);
  t.match(findings, [
    { check: 'settings', level: 'problem', message: /"prot"/ },
    { check: 'settings', level: 'problem', message: /ttlMsMax/ },
  ]);
  t.equal(findings.length, 2);
});

t.test('a record that is no JSON is named, and the others are read all the same', async (t) => {
  const dataDir = await aDataDir(t);
  const root = open(dataDir, {
    noSubdir: false,
    overlappingSync: false,
    maxDbs: collections.length + 1,
  });
  const keyEncoder = { writeKey, readKey };
  const database = { encoding: 'string', keyEncoder } as object;
  await root.openDB<string, string>('emails', database).put('eve@example.com', 'not JSON');
  await root.close();
  const { code, of } = await diagnose(dataDir);
  t.equal(code, 1);
  const [finding] = of('store');
  t.match(finding, {
    level: 'problem',
    message: /^1 of \d+ records are damaged: emails "eve@example.com" cannot be read/,
    remedy: /newest backup/,
  });
});

t.test('a store whose end is missing, or whose pages are overwritten, is told of', async (t) => {
  const dataDir = await aDataDir(t);
  const store = openStore(dataDir);
  await store.write((batch) => {
    for (let i = 0; i < 5_000; i++) batch.put('signalIds', ['usr_none', `${i}`], 'x'.repeat(100));
  });
  await store.close();
  const file = join(dataDir, 'data.mdb');
  const whole = readFileSync(file);

  truncateSync(file, Math.floor(whole.length / 2));
  const cut = await diagnose(dataDir);
  t.equal(cut.code, 1);
  t.match(cut.of('store'), [{ level: 'problem', remedy: /backup/ }]);

  writeFileSync(file, whole);
  const handle = openSync(file, 'r+');
  const garbage = Buffer.alloc(4096, 0xff);
  for (let at = 4 * 4096; at < whole.length; at += 2 * 4096)
    writeSync(handle, garbage, 0, 4096, at);
  closeSync(handle);
  const overwritten = await diagnose(dataDir);
  t.equal(overwritten.code, 1);
  t.match(overwritten.of('store'), [{ level: 'problem', remedy: /backup/ }]);
});

t.test('a secret that a start would refuse is a problem', async (t) => {
  const dataDir = await aDataDir(t);
  const secret = join(dataDir, 'jwt-secret');
  t.match((await diagnose(dataDir)).of('secret'), [
    { level: 'ok', message: /the next start makes/ },
  ]);
  t.notOk(existsSync(secret), 'the doctor makes none');
  writeFileSync(secret, 'short', { mode: 0o600 });
  const { code, of } = await diagnose(dataDir);
  t.equal(code, 1);
  t.match(of('secret'), [{ level: 'problem', message: /is damaged/, remedy: /backup, or delete/ }]);
  rmSync(secret);
  mkdirSync(secret);
  t.match((await diagnose(dataDir)).of('secret'), [{ level: 'problem', message: /EISDIR/ }]);
});

t.test('a store of a later format is no damage', async (t) => {
  const dataDir = await aDataDir(t);
  const store = openStore(dataDir);
  await store.write((batch) => batch.put('meta', 'format', 99));
  await store.close();
  t.match((await diagnose(dataDir)).of('store'), [
    { level: 'warning', message: /not examined: .*format 99/, remedy: /version that wrote it/ },
  ]);
});

t.test('a store of an earlier format is told of, and stays one', async (t) => {
  const dataDir = dataDirOf(t);
  mkdirSync(dataDir, { mode: 0o700 });
  const options = { encoding: 'string' as const, keyEncoder: { writeKey, readKey } };
  const old = open(dataDir, { noSubdir: false, overlappingSync: false, maxDbs: 20 });
  await old.openDB<string>('meta', options).put('format', '1');
  await old.close();
  for (let i = 0; i < 2; i++) {
    t.match((await diagnose(dataDir)).of('store'), [
      {
        level: 'warning',
        message: /not examined: .*format 1; .*, or another command/,
        remedy: /version that wrote it, and make a backup/,
      },
    ]);
  }
  t.notOk(existsSync(join(dataDir, 'log')));
});

t.test('one port for both is a problem', async (t) => {
  const dataDir = await aDataDir(t);
  const same = ['--port', '9999', '--ops-port', '9999'];
  const { of } = await diagnose(dataDir, same);
  const message = 'The API port and the ops port are both 127.0.0.1:9999.';
  t.match(of('ports'), [{ level: 'problem', message, remedy: /--port or --ops-port/ }]);
  t.equal(of('ports').length, 1);
  const apart = await diagnose(dataDir, [...same, '--ops-host', '127.0.0.2']);
  t.notMatch(JSON.stringify(apart.of('ports')), /are both|at once/, 'on two addresses it is none');
  for (const host of ['0.0.0.0', 'localhost']) {
    const overlapping = await diagnose(dataDir, [...same, '--host', host]);
    t.match(overlapping.of('ports'), [
      { level: 'problem', message: /cannot be open at once/, remedy: /--port or --ops-port/ },
    ]);
    t.equal(overlapping.of('ports').length, 1, `${host} has 127.0.0.1`);
  }
});

t.test('a port that another program holds is a problem', async (t) => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const { code, of } = await diagnose(await aDataDir(t), ['--port', `${port}`]);
  t.equal(code, 1);
  t.match(of('ports'), [
    { level: 'problem', message: /in use by a program that is not a gateway/, remedy: /ss -ltnp/ },
    { level: 'ok' },
  ]);
});

t.test('an address of another machine is a problem', async (t) => {
  const { of } = await diagnose(await aDataDir(t), ['--host', '192.0.2.1', '--port', '8080']);
  t.match(of('ports'), [{ level: 'problem', message: /EADDRNOTAVAIL/, remedy: /--host/ }, {}]);
});

t.test('files of another owner are told of', { skip: process.getuid?.() !== 0 }, async (t) => {
  const dataDir = await aDataDir(t);
  const { chownSync } = await import('node:fs');
  chownSync(join(dataDir, 'data.mdb'), 65_534, 65_534);
  t.match((await diagnose(dataDir)).of('permissions'), [
    { level: 'problem', message: /does not belong to the owner/, remedy: /chown 0/ },
  ]);
  t.match((await diagnose(dataDir)).of('store'), [
    { level: 'warning', message: /not examined: .*belongs to user 65534/, remedy: /permissions/ },
  ]);
  mkdirSync(`${dataDir}-2`, { mode: 0o700 });
  chownSync(`${dataDir}-2`, 65_534, 65_534);
  t.match((await diagnose(`${dataDir}-2`)).of('permissions'), [{ level: 'ok' }], 'as its owner');
});
