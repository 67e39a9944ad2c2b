/** The directory that holds the store, the JWT secret and the lock: making it, and recognizing one. */
import {
  chmodSync,
  type Dirent,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { syncDirectory } from '../lib/durable-file.js';
import { errorText } from '../lib/error-text.js';
import { makeDirectories } from '../lib/make-directories.js';
import { othersMask, privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { holdsLog, logDirectory } from './log/segment-files.js';
import { StoreRefused } from './refusal.js';

/** The store's records. */
export const dataFile = 'data.mdb';
/** lmdb's table of readers and its mutex; made anew wherever it is missing. */
export const storeLockFile = 'lock.mdb';
/** Exists while the store is made: from before lmdb makes its file until the first commit is on disk. */
const unfinishedStore = 'unfinished-store';
/** Marks a copy until a gateway has started with it: signals queued in it may have been sent since. */
export const copyMark = 'copy';
/** In a backup's directory: the files that are not complete yet. */
export const unfinishedBackup = 'unfinished';

/** Directories that a start or a restore may have left, and the file system's own. */
const ownDirectories = /^(?:log|staging-.*|unfinished|lost\+found)$/;

/** @returns a warning for the operator when the directory was open to others, and now is not. */
export function prepareDataDirectory(directory: string): string | undefined {
  try {
    const made = makeDirectories(directory, privateDirectoryMode);
    const isNew = made !== undefined;
    if (isNew) syncMade(made, directory);
    const mode = statSync(directory).mode & 0o777;
    // Also for a new one, since the umask may have taken away the owner's own rights.
    if (mode !== privateDirectoryMode) {
      if (!isNew && isOfOthers(directory)) throw new StoreRefused(foreignMessage(directory));
      chmodSync(directory, privateDirectoryMode);
    }
    if (isUnfinishedBackup(directory)) throw new StoreRefused(unfinishedMessage(directory));
    if (isNew || (mode & othersMask) === 0) return undefined;
    return (
      `The data directory ${directory} could be read by other users (mode ${mode.toString(8)}); ` +
      'it is now closed to them. If they read it before, replace its jwt-secret and the API keys.'
    );
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The data directory ${directory} cannot be used: ${errorText(error)}. It must be a directory ` +
        'that belongs to the user that runs Signalbox.',
      { cause: error },
    );
  }
}

/** Whether others use the directory, as they do /tmp or /var/lib, and would be locked out. */
function isOfOthers(directory: string): boolean {
  if (isStoreDirectory(directory)) return false;
  const isDirectoryOfOthers = (entry: Dirent): boolean =>
    entry.isDirectory() && !ownDirectories.test(entry.name);
  return readdirSync(directory, { withFileTypes: true }).some(isDirectoryOfOthers);
}

function foreignMessage(directory: string): string {
  return (
    `The directory ${directory} has other directories in it, and no store. The data directory is closed to all other ` +
    'users: give the gateway one of its own with --data-dir.'
  );
}

/** Syncs the parent of each directory that was made, since the parent holds its name. */
function syncMade(first: string, directory: string): void {
  const top = dirname(resolve(first));
  for (let each = dirname(resolve(directory)); each.length >= top.length; each = dirname(each)) {
    syncDirectory(each);
    if (each === top) return;
  }
}

/** Whether a store has been made in the directory, so that `openStore` would not make a new one. */
export function isStoreDirectory(directory: string): boolean {
  return existsSync(join(directory, dataFile)) && !isUnfinishedStore(directory);
}

/** A mark beside the files of a log is left over from an earlier store, over which a backup was put. */
function isUnfinishedStore(directory: string): boolean {
  return existsSync(join(directory, unfinishedStore)) && !holdsLog(join(directory, logDirectory));
}

/** Whether the directory has a log but no `data.mdb`. A new store would refuse that log as another store's. */
export function lacksData(directory: string): boolean {
  return !existsSync(join(directory, dataFile)) && holdsLog(join(directory, logDirectory));
}

export function withoutData(directory: string): string {
  return (
    `The file ${join(directory, dataFile)} is missing, but the log of its store is there. Put the file back; if it is ` +
    'lost, start from the newest backup (ops/backup.md tells how).'
  );
}

/**
 * To be called before lmdb makes the file. lmdb does not flush the first pages, and a power cut may leave any
 * part of them; the mark tells this from a damaged store. Nothing is acknowledged while the mark exists.
 */
export function beginStore(directory: string): void {
  if (isStoreDirectory(directory)) return;
  if (lacksData(directory)) throw new StoreRefused(withoutData(directory));
  for (const file of [dataFile, storeLockFile]) rmSync(join(directory, file), { force: true });
  putMark(directory, unfinishedStore);
}

/** To be called when the first commit is on disk. */
export function endStore(directory: string): void {
  removeMark(directory, unfinishedStore);
}

export function markCopy(directory: string): void {
  putMark(directory, copyMark);
}

export function isCopy(directory: string): boolean {
  return existsSync(join(directory, copyMark));
}

/** To be called when the writes that follow from the mark are on disk. */
export function unmarkCopy(directory: string): void {
  removeMark(directory, copyMark);
}

function putMark(directory: string, name: string): void {
  writeFileSync(join(directory, name), '', { mode: privateFileMode });
  syncDirectory(directory);
}

function removeMark(directory: string, name: string): void {
  const mark = join(directory, name);
  if (!existsSync(mark)) return;
  rmSync(mark);
  syncDirectory(directory);
}

/** Whether a backup into this directory was cut off or is under way: there is no store in it yet. */
export function isUnfinishedBackup(directory: string): boolean {
  return existsSync(join(directory, unfinishedBackup)) && !isStoreDirectory(directory);
}

/** A new store beside it would look like the restored one, and be empty. */
function unfinishedMessage(directory: string): string {
  return (
    `The directory ${directory} holds a backup that was cut off or is under way, and no store. ` +
    'Start with a backup that is complete, or give a directory of its own with --data-dir.'
  );
}
