import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isCopy, unmarkCopy } from '../../src/store/data-directory.js';
import { gatewayOn, lockDirectory, tryLockDirectory } from '../../src/store/directory-lock.js';
import { writeLogCopy } from '../../src/store/log/copy.js';
import { segmentHeaderBytes } from '../../src/store/log/segment.js';
import { StoreRefused } from '../../src/store/refusal.js';
import { startProgram } from '../support/program.js';

const copiedLog = { logId: '0123456789abcdef', sequence: 1, first: 0 };

t.test(
  'a second gateway on a directory is told which, by which process, and what to do',
  async (t) => {
    const directory = t.testdir();
    const first = startProgram(t, 'store/lock-holder', [directory, 'gateway']);
    const pid = await first.next();
    await t.rejects(lockDirectory(directory, 'gateway'), {
      name: 'StoreRefused',
      message: new RegExp(`${directory} is in use by another gateway .*process ${pid}.*--data-dir`),
    });
    t.equal(gatewayOn(directory), Number(pid));
    t.equal(statSync(join(directory, 'gateway.lock')).mode & 0o777, 0o600);
  },
);

t.test('a gateway that starts while a command has the directory waits for its end', async (t) => {
  const directory = t.testdir();
  const command = startProgram(t, 'store/lock-holder', [directory, 'command']);
  const pid = Number(await command.next());
  t.same(tryLockDirectory(directory, 'gateway'), { pid, role: 'command' });
  t.equal(gatewayOn(directory), undefined);
  let isLocked = false;
  const locking = lockDirectory(directory, 'gateway').then((lock) => {
    isLocked = true;
    return lock;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(isLocked, false);
  await command.kill();
  (await locking).release();
});

t.test('the lock is free as soon as its holder was killed', async (t) => {
  const directory = t.testdir();
  const first = startProgram(t, 'store/lock-holder', [directory, 'gateway']);
  await first.next();
  await first.kill();
  t.equal(gatewayOn(directory), undefined);
  const lock = await lockDirectory(directory, 'command');
  t.equal(readFileSync(join(directory, 'gateway.lock'), 'utf8'), `${process.pid} command\n`);
  lock.release();
});

t.test(
  'a store that never had a lock is a copy: those of earlier versions have no mark',
  async (t) => {
    const directory = t.testdir({ 'data.mdb': '' });
    (await lockDirectory(directory, 'command')).release();
    t.equal(isCopy(directory), true);
    unmarkCopy(directory);
    (await lockDirectory(directory, 'gateway')).release();
    t.equal(isCopy(directory), false);
  },
);

t.test('a backup without a mark stays a copy after a doctor has locked it', async (t) => {
  const directory = t.testdir({ 'data.mdb': '', 'gateway.lock': '4711 command\n' });
  writeLogCopy(directory, copiedLog);
  (await lockDirectory(directory, 'command')).release();
  t.equal(isCopy(directory), true);
});

for (const [state, name, bytes] of [
  ['has a file of the usual size', '00000000.log', 2 * segmentHeaderBytes],
  ['has a second file', '00000001.log', segmentHeaderBytes],
] as const) {
  t.test(`a store whose log ${state} is no copy`, async (t) => {
    const directory = t.testdir({ 'data.mdb': '', 'gateway.lock': '4711 gateway\n' });
    writeLogCopy(directory, copiedLog);
    writeFileSync(join(directory, 'log', name), Buffer.alloc(bytes));
    (await lockDirectory(directory, 'gateway')).release();
    t.equal(isCopy(directory), false);
  });
}

t.test('a released lock can be taken again, a held one not even by its own process', async (t) => {
  const directory = t.testdir();
  const lock = await lockDirectory(directory, 'gateway');
  await t.rejects(lockDirectory(directory, 'gateway'), StoreRefused);
  lock.release();
  (await lockDirectory(directory, 'gateway')).release();
});

t.test('a longer entry of an earlier holder leaves nothing behind', async (t) => {
  const directory = t.testdir({ 'gateway.lock': '99999999999 gateway\n' });
  const lock = await lockDirectory(directory, 'gateway');
  t.equal(readFileSync(join(directory, 'gateway.lock'), 'utf8'), `${process.pid} gateway\n`);
  lock.release();
});

t.test('a look while a longer entry is overwritten sees the new holder', async (t) => {
  const directory = t.testdir();
  const lock = await lockDirectory(directory, 'command');
  writeFileSync(join(directory, 'gateway.lock'), '7 command\nand\n');
  t.same(tryLockDirectory(directory, 'gateway'), { pid: 7, role: 'command' });
  t.equal(gatewayOn(directory), undefined);
  lock.release();
});

t.test('what a killed gateway has written of itself refuses nobody', async (t) => {
  const directory = t.testdir();
  const lock = await lockDirectory(directory, 'command');
  writeFileSync(join(directory, 'gateway.lock'), '4194304 gateway\n');
  const locking = lockDirectory(directory, 'gateway');
  writeFileSync(join(directory, 'gateway.lock'), `${process.pid} command\n`);
  await new Promise((resolve) => setTimeout(resolve, 60));
  lock.release();
  (await locking).release();
});

t.test('a holder names itself before it writes anything else', async (t) => {
  // The mark of the copy cannot be written where a directory has its name.
  const directory = t.testdir({ 'data.mdb': '', 'gateway.lock': '4711 gateway\n', copy: {} });
  writeLogCopy(directory, copiedLog);
  await t.rejects(lockDirectory(directory, 'command'), StoreRefused);
  t.equal(readFileSync(join(directory, 'gateway.lock'), 'utf8'), `${process.pid} command\n`);
});

t.test('a gateway of a version that wrote no role counts as one', async (t) => {
  const directory = t.testdir();
  const lock = await lockDirectory(directory, 'gateway');
  writeFileSync(join(directory, 'gateway.lock'), '4711\n');
  t.equal(gatewayOn(directory), 4711);
  lock.release();
});

t.test('a directory that cannot hold the lock is refused', async (t) => {
  const directory = t.testdir({ file: '' });
  await t.rejects(lockDirectory(join(directory, 'file'), 'gateway'), {
    name: 'StoreRefused',
    message: /cannot be locked/,
  });
});
