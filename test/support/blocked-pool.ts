/**
 * Loaded into a gateway by NODE_OPTIONS: at SIGUSR2 every thread that lmdb may commit on waits until a pipe is
 * written to, so that commits hang until `unblockPool`, as they do on a disk that does not answer.
 */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { close, closeSync, existsSync, open, openSync, rmSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { eventually } from './eventually.js';

const pipeVariable = 'COMMITS_HANG_ON_PIPE';
const blockedMark = (pipe: string): string => `${pipe}.blocked`;
/** libuv's default. */
const threads = 4;

const pipe = process.env[pipeVariable];
if (pipe !== undefined && isMainThread) {
  process.on('SIGUSR2', () => {
    for (let thread = 0; thread < threads; thread++) {
      open(pipe, 'r', (_, file) => close(file));
    }
    writeFileSync(blockedMark(pipe), '');
  });
}

/** The environment of a gateway whose commits can be made to hang. */
export function blockablePool(pipe: string): Record<string, string> {
  spawnSync('mkfifo', [pipe]);
  return { NODE_OPTIONS: `--import ${import.meta.url}`, [pipeVariable]: pipe };
}

/** Returns when all commits from now on hang. */
export async function blockPool(gateway: ChildProcess, pipe: string): Promise<void> {
  gateway.kill('SIGUSR2');
  await eventually(() => existsSync(blockedMark(pipe)));
}

export function unblockPool(pipe: string): void {
  rmSync(blockedMark(pipe));
  closeSync(openSync(pipe, 'w'));
}
