import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import t from 'tap';
import { dataDirOf } from '../support/gateway.js';
import { addUser } from '../support/gateway-process.js';
import { signalbox } from '../support/signalbox.js';

const skip = existsSync('/dev/full') ? false : 'needs /dev/full';
const full = (): number => openSync('/dev/full', 'w');

function run(args: readonly string[], stdout: 'pipe' | number, stderr: 'pipe' | number) {
  return spawnSync(process.execPath, [signalbox, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', stdout, stderr],
  });
}

t.test('an outcome that cannot be written is told in words', { skip }, async (t) => {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, 'ann@example.com');
  const { status, stderr } = run(['user', 'list', '--data-dir', dataDir], full(), 'pipe');
  t.equal(status, 1);
  t.match(stderr, /^The output cannot be written: ENOSPC.*\. Make room.*\.\n$/);
});

t.test('a reader that is gone has read enough, unless it is the secret of a key', async (t) => {
  const dataDir = dataDirOf(t);
  await addUser(dataDir, 'ann@example.com');
  const add = ['key', 'add', 'ann@example.com', '--name', 'bot', '--scopes', 'signals:read'];
  const told = await withoutReader([...add, '--data-dir', dataDir]);
  t.equal(told.code, 1);
  t.match(told.stderr, /EPIPE.* Nobody has read the secret of API key 1\. Revoke .*key revoke 1"/);
  const listed = await withoutReader(['user', 'list', '--data-dir', dataDir]);
  t.strictSame(listed, { code: 0, stderr: '' });
});

async function withoutReader(args: readonly string[]) {
  const child = spawn(process.execPath, [signalbox, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

t.test('a full disk for standard error does not change how a command ends', { skip }, async (t) => {
  t.equal(run(['nonsense'], 'pipe', full()).status, 2);
  t.equal(run(['config', '--port', 'x'], 'pipe', full()).status, 2);
});
