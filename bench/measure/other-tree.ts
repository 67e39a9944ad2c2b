/**
 * Another commit's tree, built beside this one and removed again, also when the process is
 * interrupted. Its packages are this tree's when the lock files are the same, and its own otherwise.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Product } from './product.js';
import { newDirectory } from './workspace.js';

export interface OtherTree {
  readonly product: Product;
  remove(): void;
}

/** Throws when there is no such commit, or when it does not build. */
export function openOtherTree({ root }: Product, ref: string): OtherTree {
  const run = (cwd: string, command: string, ...args: string[]): string =>
    execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
      .toString()
      .trim();

  const commit = run(root, 'git', 'rev-parse', '--verify', `${ref}^{commit}`);
  const tree = join(newDirectory('other'), 'tree');
  let isThere = false;
  const remove = (): void => {
    if (isThere) run(root, 'git', 'worktree', 'remove', '--force', tree);
    isThere = false;
  };
  process.on('exit', remove);
  try {
    run(root, 'git', 'worktree', 'add', '--detach', tree, commit);
    isThere = true;
    const lock = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8');
    if (lock(root) === lock(tree)) {
      symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    } else {
      run(tree, 'npm', 'ci', '--ignore-scripts');
    }
    run(tree, 'npm', 'run', '--silent', 'build');
    return { product: { root: tree, label: `${ref} (${commit.slice(0, 7)})` }, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
