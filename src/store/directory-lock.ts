/**
 * The lock by which one process at a time owns a data directory and the store in it: a running gateway,
 * or a command that works without one. The kernel frees it when the process ends, however it ends.
 */
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { tryLock } from 'fs-native-extensions';
import { systemClock } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { syncDirectory } from '../lib/durable-file.js';
import { privateFileMode } from '../lib/private-modes.js';
import { isStoreDirectory, markCopy } from './data-directory.js';
import { isUnusedCopy, logDirectory } from './log/segment-files.js';
import { StoreRefused } from './refusal.js';

export const directoryLockFile = 'gateway.lock';

/** The longest wait for a command to end. */
export const lockWaitMs = 10_000;
export const lockLookMs = 20;

export type Role = 'gateway' | 'command';

export interface Holder {
  readonly pid: number;
  readonly role: Role;
}

export interface DirectoryLock {
  /** A child that inherits this descriptor holds the lock as well, until it ends. */
  readonly file: number;
  /** Names such a child as the holder: it may outlive this process. */
  nameHolder(pid: number): void;
  release(): void;
}

/**
 * Takes the lock, or returns its holder. A holder writes its process id into the file a moment after it has
 * the lock, so a single look may return the previous holder. Throws `StoreRefused` when the directory cannot
 * hold a lock.
 */
export function tryLockDirectory(directory: string, role: Role): DirectoryLock | Holder {
  const path = join(directory, directoryLockFile);
  let file: number | undefined;
  let isHeld = false;
  try {
    // A store that was ever opened has a lock file: one without is a backup, which earlier versions did not mark.
    if (isStoreDirectory(directory) && !existsSync(path)) markCopy(directory);
    file = openSync(path, constants.O_RDWR | constants.O_CREAT, privateFileMode);
    fchmodSync(file, privateFileMode);
    if (!tryLock(file)) return holderOf(path);
    // Before any flush, for which a slow disk takes long: others meanwhile take the last holder for this one.
    writeHolder(file, { pid: process.pid, role });
    // A doctor of an earlier version has left a lock file in each backup that it has read.
    if (isUnusedCopy(join(directory, logDirectory))) markCopy(directory);
    syncDirectory(directory);
    isHeld = true;
  } catch (error) {
    throw new StoreRefused(
      `The data directory ${directory} cannot be locked: ${errorText(error)}. It must lie on a file ` +
        'system with locks, and belong to the user that runs Signalbox.',
      { cause: error },
    );
  } finally {
    if (!isHeld && file !== undefined) closeSync(file);
  }
  const held = file;
  return {
    file: held,
    nameHolder: (pid) => writeHolder(held, { pid, role }),
    release: () => closeSync(held),
  };
}

/** Waits for a command that holds the lock. Throws `StoreRefused` at once when a gateway has it. */
export async function lockDirectory(directory: string, role: Role): Promise<DirectoryLock> {
  const end = systemClock.monotonic() + lockWaitMs;
  let gateway: number | undefined;
  for (;;) {
    const lock = tryLockDirectory(directory, role);
    if ('release' in lock) return lock;
    const { pid } = lock;
    if (lock.role === 'gateway' && gateway === pid) {
      throw new StoreRefused(takenMessage(directory, pid));
    }
    gateway = lock.role === 'gateway' ? pid : undefined;
    if (systemClock.monotonic() >= end) throw new StoreRefused(busyMessage(directory, pid));
    await rest(lockLookMs);
  }
}

/**
 * The process of the gateway that holds the lock; undefined when none does. Tests by taking the lock
 * and releasing it at once, so it is for an operator's command and not for anything frequent.
 */
export function gatewayOn(directory: string): number | undefined {
  const path = join(directory, directoryLockFile);
  let file: number;
  try {
    file = openSync(path, constants.O_RDWR);
  } catch {
    // Never locked, or not readable by this user: the work on the directory then reports why.
    return undefined;
  }
  try {
    if (tryLock(file)) return undefined;
    const { pid, role } = holderOf(path);
    return role === 'gateway' ? pid : undefined;
  } finally {
    closeSync(file);
  }
}

export function busyMessage(directory: string, pid: number): string {
  return (
    `The data directory ${directory} is in use by another command (process ${pid}), which has not ` +
    `ended within ${lockWaitMs / 1000} seconds. Wait until it has, or end it, and try again.`
  );
}

function writeHolder(file: number, { pid, role }: Holder): void {
  // In place: a full disk may have no block for a file that was emptied.
  ftruncateSync(file, writeSync(file, `${pid} ${role}\n`, 0));
}

/** A gateway of an earlier version wrote its process id without a role. */
function holderOf(path: string): Holder {
  // The end of a longer name may still be there.
  const [pid, role] = readFileSync(path, 'utf8').split(/\s/);
  return { pid: Number(pid), role: role === 'command' ? 'command' : 'gateway' };
}

function takenMessage(directory: string, pid: number): string {
  return (
    `The data directory ${directory} is in use by another gateway (process ${pid}). Stop that ` +
    'gateway first, or give this one a data directory of its own with --data-dir.'
  );
}
