/** What a bench may need beside Node; `bench/setup.sh` installs all of it. */
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { thisProduct } from './product.js';

const packages = join(thisProduct.root, 'bench', 'node_modules');

/** Where Debian puts it. */
export const nchanModule = '/usr/lib/nginx/modules/ngx_nchan_module.so';

const requirements = {
  /** The packages of bench/package.json; the one that has to be compiled stands for all. */
  peers: () =>
    existsSync(join(packages, 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node')),
  wrk: () => isInPath('wrk'),
  /** With the nchan module. */
  nginx: () => isInPath('nginx') && existsSync(nchanModule),
} as const satisfies Record<string, () => boolean>;

export type Requirement = keyof typeof requirements;

/** Those of the requirements that this machine lacks. */
export function missing(needs: readonly Requirement[]): Requirement[] {
  return needs.filter((need) => !requirements[need]());
}

function isInPath(program: string): boolean {
  // Debian's nginx is in /usr/sbin, which an ordinary user's PATH leaves out.
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
