/**
 * A disk that takes no page of the store from one running process any more, and takes them again: a
 * limit on the size of files, changed from outside. Needs no mount and no rights, but `prlimit`.
 */
import { spawnSync, type ChildProcess } from 'node:child_process';

/** Below it lie the two pages between which lmdb changes over; a failure there is final for lmdb. */
const firstDataByte = 8192;

export const canBreakDisk = spawnSync('prlimit', ['--version']).status === 0;

export function breakDisk(process: ChildProcess): void {
  limitFiles(process, `${firstDataByte}`);
}

export function mendDisk(process: ChildProcess): void {
  limitFiles(process, 'unlimited');
}

export function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/**
 * lmdb 3.5.6 writes its message about a page that could not be written into a buffer that is too
 * short for it (`mdb_page_flush`: 100 bytes), and malloc now and then ends the process for it. What
 * counts then is that nothing acknowledged is lost.
 */
export function isNativeAbort({ signalCode }: ChildProcess): boolean {
  return signalCode === 'SIGABRT' || signalCode === 'SIGSEGV';
}

function limitFiles(process: ChildProcess, bytes: string): void {
  if (!isAlive(process)) return;
  const { status, stderr } = spawnSync('prlimit', [
    '--pid',
    `${process.pid as number}`,
    `--fsize=${bytes}:`,
  ]);
  if (status !== 0 && isAlive(process)) throw new Error(`prlimit: ${String(stderr)}`);
}
