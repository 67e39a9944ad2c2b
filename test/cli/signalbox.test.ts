import { spawnSync } from 'node:child_process';
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

t.test('a full disk for standard error does not change how a command ends', { skip }, async (t) => {
  t.equal(run(['nonsense'], 'pipe', full()).status, 2);
  t.equal(run(['config', '--port', 'x'], 'pipe', full()).status, 2);
});
