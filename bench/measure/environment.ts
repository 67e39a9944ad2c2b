/** What a figure needs to mean anything: the commit, the machine and how it was measured. */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import type { Product } from './product.js';
import { disk, type Disk } from './workspace.js';

export interface Environment {
  readonly startedAt: string;
  readonly commit: string;
  /** Whether the tree holds changes that the commit does not. */
  readonly isDirty: boolean;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  /** Node's own flags, and those given to every process by the environment. */
  readonly flags: readonly string[];
  readonly disk: Disk;
}

export function readEnvironment({ root }: Product): Environment {
  const commit = git(root, 'rev-parse', 'HEAD') ?? 'unknown';
  return {
    startedAt: new Date().toISOString(),
    commit,
    isDirty: (git(root, 'status', '--porcelain') ?? '') !== '',
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: release(),
    flags: process.execArgv,
    disk: disk(),
  };
}

/** @returns undefined outside of a repository. */
function git(root: string, ...args: string[]): string | undefined {
  try {
    const text = execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    return text.toString().trim();
  } catch {
    return undefined;
  }
}
