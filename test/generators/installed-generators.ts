/**
 * The generators of clients. They are too large for a dependency of the product or its tests: they are
 * installed once for each lock file, outside of the repository, and stay there.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../../test/generators');
const lockFile = join(folder, 'package-lock.json');
const installMsMax = 180_000;

/** @returns the path of their `node_modules`, or why they cannot be installed. */
export function installGenerators(): { readonly path: string } | { readonly missing: string } {
  const version = createHash('sha256').update(readFileSync(lockFile)).digest('hex').slice(0, 16);
  const home = join(homedir(), '.cache/signalbox-generators', version);
  const installed = { path: join(home, 'node_modules') };
  if (existsSync(installed.path)) return installed;
  const place = `${home}.${process.pid}`;
  mkdirSync(place, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) {
    cpSync(join(folder, name), join(place, name));
  }
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0'];
  const { status, stderr, error } = spawnSync('npm', options, {
    cwd: place,
    encoding: 'utf8',
    timeout: installMsMax,
  });
  if (status === 0) {
    // Another test run may have been faster.
    if (!existsSync(home)) renameSync(place, home);
    return installed;
  }
  rmSync(place, { recursive: true, force: true });
  const why = error?.message ?? /npm error code (.*)/.exec(stderr)?.[1] ?? `status ${status ?? ''}`;
  return { missing: `the generators cannot be installed: ${why}` };
}
