/**
 * Where a bench keeps its data directories: in one directory that is removed at the end, below
 * BENCH_DIR or the system's temporary directory. A file system in memory would flatter every figure
 * that waits for a disk, so the report says what kind it is.
 */
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** tmpfs and ramfs. */
const memoryFileSystems: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

const base = process.env['BENCH_DIR'] ?? tmpdir();
let root: string | undefined;
let directories = 0;

/** A new, empty directory. */
export function newDirectory(name: string): string {
  if (root === undefined) {
    const made = mkdtempSync(join(base, 'signalbox-bench-'));
    root = made;
    process.on('exit', () => rmSync(made, { recursive: true, force: true, maxRetries: 3 }));
  }
  const directory = join(root, `${++directories}-${name}`);
  mkdirSync(directory);
  return directory;
}

/** Frees the disk as soon as a round is over. */
export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

export interface Disk {
  readonly directory: string;
  /** Commits cost nothing there. */
  readonly isMemory: boolean;
}

export function disk(): Disk {
  return { directory: base, isMemory: memoryFileSystems.has(statfsSync(base).type) };
}
