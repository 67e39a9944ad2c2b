/**
 * Makes the store's file unwritable for one running process, and writable again, by a limit on the size
 * of files (RLIMIT_FSIZE). Needs `prlimit`, but no mount and no privileges.
 */
import { spawnSync, type ChildProcess } from 'node:child_process';

/**
 * lmdb's two meta pages lie below this offset: a failed write there would be final (store-panic.test.ts). The
 * first frames of a new log lie there too and can still be written.
 */
export const firstDataByte = 8192;

export const canBreakDisk = spawnSync('prlimit', ['--version']).status === 0;

type LimitedProcess = Pick<ChildProcess, 'pid' | 'exitCode' | 'signalCode'>;

/** The process that calls; it has to ignore SIGXFSZ. */
export const thisProcess: LimitedProcess = { pid: process.pid, exitCode: null, signalCode: null };

export function breakDisk(process: LimitedProcess): void {
  limitFiles(process, `${firstDataByte}`);
}

export function mendDisk(process: LimitedProcess): void {
  limitFiles(process, 'unlimited');
}

export function isAlive({ exitCode, signalCode }: LimitedProcess): boolean {
  return exitCode === null && signalCode === null;
}

/**
 * lmdb 3.5.6 formats its message about a failed page write into a buffer that is too short
 * (`mdb_page_flush`: 100 bytes), and malloc sometimes aborts the process for it. Nothing acknowledged
 * may be lost then either.
 */
export function isNativeAbort({ signalCode }: ChildProcess): boolean {
  return signalCode === 'SIGABRT' || signalCode === 'SIGSEGV';
}

function limitFiles(process: LimitedProcess, bytes: string): void {
  if (!isAlive(process)) return;
  const { status, stderr } = spawnSync('prlimit', [
    '--pid',
    `${process.pid as number}`,
    `--fsize=${bytes}:`,
  ]);
  if (status !== 0 && isAlive(process)) throw new Error(`prlimit: ${String(stderr)}`);
}
