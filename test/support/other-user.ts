/** A user other than root, for tests of what root does on the directory of the gateway's user. */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { CliResult } from './in-process.js';
import { signalbox } from './signalbox.js';

export const nobody = 65_534;

/** @returns why there can be no directory of that user here: to be given as `skip`. */
export function noOtherOwner(): string | false {
  if (process.geteuid?.() !== 0) return 'only root can run as another user';
  const reach = spawnSync('test', ['-x', tmpdir()], { uid: nobody, gid: nobody });
  return reach.status === 0 ? false : `another user cannot reach ${tmpdir()}`;
}

/** @returns why that user can run no command here: to be given as `skip`. */
export function noOtherUser(): string | false {
  const reason = noOtherOwner();
  if (reason !== false) return reason;
  const { status } = asNobody(['--version']);
  return status === 0 ? false : 'another user cannot read the program';
}

/** An existing data directory of that user, below the temporary directory, where the user can reach it. */
export function directoryOfNobody(t: Test): { readonly folder: string; readonly dataDir: string } {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-user-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  chownSync(folder, nobody, nobody);
  chownSync(dataDir, nobody, nobody);
  return { folder, dataDir };
}

/** Runs a command of signalbox as that user. */
export function commandOfNobody(args: readonly string[], input = ''): CliResult {
  const { status, stdout, stderr } = asNobody(args, input);
  return { code: status, stdout, stderr };
}

function asNobody(args: readonly string[], input = '') {
  return spawnSync(process.execPath, [signalbox, ...args], {
    input,
    encoding: 'utf8',
    uid: nobody,
    gid: nobody,
    cwd: '/',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
}
