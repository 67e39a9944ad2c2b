import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { withStoreCopy } from '../../src/admin/store-copy.js';
import {
  type BackupTarget,
  completeBackup,
  dropBackup,
  prepareBackup,
} from '../../src/store/backup.js';
import { openStore } from '../../src/store/lmdb-store.js';
import { withStagedCopy } from '../../src/store/staged-copy.js';
import type { Store } from '../../src/store/store.js';
import { createKey, login, signal, status, submit } from '../support/api.js';
import { shippedSettings } from '../support/shipped-settings.js';
import { eventually } from '../support/eventually.js';
import { dataDirOf } from '../support/gateway.js';
import { addUser, startGateway } from '../support/gateway-process.js';
import { signalboxIn } from '../support/in-process.js';
import { commandOfNobody, directoryOfNobody, nobody, noOtherUser } from '../support/other-user.js';
import { openPlugin } from '../support/plugin.js';
import { endAfter, poseAsGateway } from '../support/posing-gateway.js';
import { stagedIn } from '../support/staged-copies.js';

const ann = 'ann@example.com';
/** The log file of a copy, whose index has all of it. */
const segment = 'log/00000000.log';

async function aDirectory(t: Test): Promise<{ readonly dataDir: string; readonly target: string }> {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, ann);
  return { dataDir, target: `${dataDir}-backup` };
}

t.test('a backup is a data directory that can be started with', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const live = await startGateway({ dataDir });
  await live.stop();
  const { code, stdout } = await signalboxIn(dataDir, ['backup', target]);
  t.equal(code, 0);
  t.match(stdout, /The backup is complete: .* in .*-backup, .*signalbox doctor --data-dir/);
  t.same(readdirSync(target).sort(), ['copy', 'data.mdb', 'jwt-secret', 'log']);
  t.match(await signalboxIn(target, ['user', 'show', ann]), { code: 0 });
  const copy = await startGateway({ dataDir: target });
  t.equal(await copy.stop(), 0);
});

t.test('without a secret of its own the copy has none', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const report = JSON.parse((await signalboxIn(dataDir, ['backup', target, '--json'])).stdout);
  t.strictSame(report.files, ['copy', segment, 'data.mdb']);
  const sizes = ['copy', segment, 'data.mdb'].map((name) => statSync(join(target, name)).size);
  t.match(report, { directory: target, bytes: sizes.reduce((sum, size) => sum + size, 0) });
});

t.test('an empty directory is taken, and closed to others', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  mkdirSync(target);
  chmodSync(target, 0o755);
  t.equal((await signalboxIn(dataDir, ['backup', target])).code, 0);
  t.equal(statSync(target).mode & 0o777, 0o700);
  for (const name of ['data.mdb', segment]) {
    t.equal(statSync(join(target, name)).mode & 0o777, 0o600);
  }
  t.equal(statSync(join(target, 'log')).mode & 0o777, 0o700);
});

t.test('a directory that holds anything is refused, and stays as it is', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  mkdirSync(target);
  writeFileSync(join(target, 'note'), 'mine');
  const { code, stderr, stdout } = await signalboxIn(dataDir, ['backup', target, '--json']);
  t.equal(code, 1);
  t.match(stderr, /is not empty: it holds "note"\. Nothing is ever overwritten/);
  t.match(JSON.parse(stdout), { error: { code: 'directory_not_empty' } });
  t.same(readdirSync(target), ['note']);
  rmSync(join(target, 'note'));
  mkdirSync(join(target, 'unfinished'));
  t.match((await signalboxIn(dataDir, ['backup', target])).stderr, /under way or was cut off/);
  t.match((await signalboxIn(dataDir, ['backup', dataDir])).stderr, /is not empty/, 'itself');
});

t.test('a backup does not lie in the data directory, with which it would be lost', async (t) => {
  const { dataDir } = await aDirectory(t);
  const link = `${dataDir}-link`;
  symlinkSync(dataDir, link);
  for (const [owned, way] of [
    [dataDir, dataDir],
    [dataDir, link],
    [link, dataDir],
  ] as const) {
    const inside = join(way, 'backups', 'today');
    const { code, stderr } = await signalboxIn(owned, ['backup', inside]);
    t.equal(code, 1);
    t.match(stderr, /lies in the data directory/);
    t.notOk(existsSync(join(dataDir, 'backups')));
  }
});

t.test('a directory is of the backup that came first', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const first = (await prepareBackup(dataDir, target)) as BackupTarget;
  const { code, stderr } = await signalboxIn(dataDir, ['backup', target]);
  t.equal(code, 1);
  t.match(stderr, /holds a backup that is under way or was cut off/);
  const settings = { dataDir, ...shippedSettings };
  t.match(await withStoreCopy(settings, (staged) => completeBackup(first, staged)), {
    used: { directory: target },
  });
  t.same(readdirSync(target).sort(), ['copy', 'data.mdb', 'log']);
});

t.test(
  'a backup that is given up leaves the directory of another one that came meanwhile',
  async (t) => {
    const { dataDir, target } = await aDirectory(t);
    const given = (await prepareBackup(dataDir, join(target, 'first'))) as BackupTarget;
    const other = (await prepareBackup(dataDir, join(target, 'second'))) as BackupTarget;
    await dropBackup(given);
    t.same(readdirSync(target), ['second']);
    await dropBackup(other);
  },
);

t.test('a place that cannot be written to is refused in words', async (t) => {
  const { dataDir } = await aDirectory(t);
  const file = `${dataDir}-file`;
  writeFileSync(file, '');
  for (const target of [file, join(file, 'below')]) {
    const { code, stderr } = await signalboxIn(dataDir, ['backup', target]);
    t.equal(code, 1);
    t.match(stderr, /The backup could not be written to .*Give a directory on a disk/);
    t.notMatch(stderr, /\n {4}at /);
  }
});

t.test(
  'below a directory that cannot be read nothing is left',
  { skip: noOtherUser() },
  async (t) => {
    const { folder, dataDir } = directoryOfNobody(t);
    await addUser(dataDir, ann);
    const unreadable = join(folder, 'unreadable');
    mkdirSync(unreadable);
    chownSync(unreadable, nobody, nobody);
    chmodSync(unreadable, 0o300);
    const target = join(unreadable, 'copies', 'first');
    const { code, stderr } = commandOfNobody(['backup', target, '--data-dir', dataDir]);
    t.equal(code, 1);
    t.match(stderr, /could not be written to .*EACCES.*Nothing of it is left/);
    t.same(readdirSync(unreadable), []);
  },
);

t.test('a store that is written to meanwhile is copied as one moment of it', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const store = openStore(dataDir);
  for (let i = 0; i < 50; i++) {
    await store.write((batch) => {
      batch.put('emails', 'a', `${i}`);
      batch.put('emails', 'b', `${i}`);
    });
  }
  const prepared = (await prepareBackup(dataDir, target)) as BackupTarget;
  await withStagedCopy(store, dataDir, async (name) => {
    t.equal(statSync(join(dataDir, name)).mode & 0o777, 0o700);
    t.match(await completeBackup(prepared, join(dataDir, name)), {
      files: ['copy', segment, 'data.mdb'],
    });
  });
  t.same(stagedIn(dataDir), []);
  await store.close();
  const copy = openStore(target);
  t.equal(copy.get('emails', 'a'), '49');
  t.equal(copy.get('emails', 'b'), '49');
  await copy.close();
  t.notOk(existsSync(join(target, 'unfinished')));
});

t.test('a copy that is left over is removed by the next open of the store', async (t) => {
  const { dataDir } = await aDirectory(t);
  const name = `staging-${'0'.repeat(16)}`;
  mkdirSync(join(dataDir, name));
  writeFileSync(join(dataDir, name, 'data.mdb'), 'half');
  mkdirSync(join(dataDir, 'staging-mine'));
  await openStore(dataDir).close();
  t.same(stagedIn(dataDir), ['staging-mine'], 'and nothing else is');
});

t.test('a copy that its command does not take, or that fails there, is removed', async (t) => {
  const { dataDir } = await aDirectory(t);
  const settings = { dataDir, ...shippedSettings };
  const failing = withStoreCopy(settings, () => Promise.reject(new Error('no')));
  await t.rejects(failing, { message: 'no' });
  t.same(stagedIn(dataDir), []);
  const gateway = await startGateway({ dataDir });
  t.teardown(() => gateway.kill());
  await t.rejects(
    withStoreCopy(settings, (directory) => {
      t.same(stagedIn(dataDir), [basename(directory)]);
      return Promise.reject(new Error('no'));
    }),
    { message: 'no' },
  );
  await eventually(() => stagedIn(dataDir).length === 0);
});

/** A gateway that has made a copy and is gone when its command takes the copy. */
async function endingGateway(t: Test, files: readonly string[]) {
  const { dataDir, target } = await aDirectory(t);
  const store = openStore(dataDir);
  const staging = `staging-${'0'.repeat(16)}`;
  mkdirSync(join(dataDir, staging));
  await store.backup(join(dataDir, staging));
  await store.close();
  writeFileSync(join(dataDir, staging, 'copy'), '');
  for (const name of ['copy', segment, 'data.mdb'].filter((each) => !files.includes(each))) {
    rmSync(join(dataDir, staging, name));
  }
  await poseAsGateway(t, dataDir, endAfter({ accepted: true }, { row: { staging } }));
  return { dataDir, target };
}

for (const [moment, left] of [
  ['before its copy is taken', []],
  ['in the middle of its copy', ['copy', segment]],
] as const) {
  t.test(`a gateway that ends ${moment} is named, and no half is left`, async (t) => {
    const { dataDir, target } = await endingGateway(t, left);
    const { code, stdout, stderr } = await signalboxIn(dataDir, ['backup', target, '--json']);
    t.equal(code, 1);
    t.match(stderr, /it has ended, or has cut the command off\. Nothing of it is left.* again/);
    t.match(JSON.parse(stdout), { error: { code: 'copy_lost' } });
    t.notOk(existsSync(target));
  });
}

t.test('a backup that is whole is told as such by a gateway that ended then', async (t) => {
  const { dataDir, target } = await endingGateway(t, ['copy', segment, 'data.mdb']);
  t.match(await signalboxIn(dataDir, ['backup', target]), { code: 0, stdout: /is complete/ });
  t.match(await signalboxIn(target, ['user', 'show', ann]), { code: 0 });
});

t.test('on another file system the copy is copied', { skip: noOtherDisk() }, async (t) => {
  const { dataDir } = await aDirectory(t);
  const folder = mkdtempSync('/dev/shm/signalbox-backup-');
  t.teardown(() => rmSync(folder, { recursive: true }));
  const target = join(folder, 'of', 'today');
  t.match(await signalboxIn(dataDir, ['backup', target]), { code: 0 });
  t.same(readdirSync(target), ['copy', 'data.mdb', 'log']);
  t.match(await signalboxIn(target, ['user', 'show', ann]), { code: 0 });
  t.same(stagedIn(dataDir), []);
});

t.test('a relative path is relative to the command’s own directory', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const here = relative(process.cwd(), target);
  t.match(await signalboxIn(dataDir, ['backup', here]), { code: 0 });
  t.match(readdirSync(target), ['copy', 'data.mdb', 'log']);
});

t.test('without space for the copy nothing is begun, and the refusal says so', (t) => {
  const store = { sizeBytes: () => Number.MAX_SAFE_INTEGER } as Store;
  const directory = t.testdir();
  return withStagedCopy(store, directory, () => Promise.reject(new Error('not called'))).then(
    (refusal) => {
      t.match(refusal, { code: 'no_space', reason: /free, and the copy needs .*Free some space/ });
      t.same(readdirSync(directory), []);
    },
  );
});

t.test(
  'copies are made one after another, each with a look at the space that is left',
  async (t) => {
    const directory = t.testdir();
    const told: string[] = [];
    const store = {
      sizeBytes() {
        told.push('space');
        return 1;
      },
      async backup() {
        told.push('begun');
        await eventually(() => true);
        told.push('ended');
      },
    } as unknown as Store;
    const use = async (): Promise<void> => void told.push('used');
    await Promise.all([1, 2].map(() => withStagedCopy(store, directory, use)));
    t.same(
      told.filter((each) => each !== 'used'),
      ['space', 'begun', 'ended', 'space', 'begun', 'ended'],
    );
    t.same(readdirSync(directory), []);
  },
);

function noOtherDisk(): string | false {
  const isOther = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync('.').dev;
  return isOther ? false : 'there is no other file system at /dev/shm';
}

t.test('an order that waited in a backup may have been sent after it', async (t) => {
  const { dataDir, target } = await aDirectory(t);
  const live = await startGateway({ dataDir });
  const { token, sessionToken } = await login(live.url, ann);
  const { key } = await createKey(live.url, token);
  const first = await openPlugin(live.url, sessionToken);
  first.close();
  await first.waitClosed();
  const accepted = await submit(live.url, key, signal());
  const { requestId } = accepted.body;
  const executionAt = async (url: string) => (await status(url, key, requestId)).body.executions[0];
  t.match(await executionAt(live.url), { status: 'queued', delivery: 'not_sent' });
  t.equal((await signalboxIn(dataDir, ['backup', target])).code, 0);
  const plugin = await openPlugin(live.url, sessionToken);
  const { executionId } = await plugin.next('submit');
  await live.kill();

  let restored = await startGateway({ dataDir: target });
  await eventually(async () => (await executionAt(restored.url)).status === 'dispatched');
  await eventually(() => !readdirSync(target).includes('copy'));
  const executions = [{ executionId, status: 'filled', filledQuantity: 1 }];
  const again = await openPlugin(restored.url, sessionToken, { executions });
  await eventually(async () => (await executionAt(restored.url)).status === 'filled');
  again.close();
  await again.waitClosed();
  const waiting = await submit(restored.url, key, signal());
  await restored.kill();
  restored = await startGateway({ dataDir: target });
  const read = await status(restored.url, key, waiting.body.requestId);
  t.match(
    read.body.executions[0],
    { delivery: 'not_sent' },
    'the next start is one like any other',
  );
  t.equal(await restored.stop(), 0);
});
