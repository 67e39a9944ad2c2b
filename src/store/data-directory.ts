/** The directory that holds the store, the JWT secret and the lock: making it, and recognizing one. */
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../lib/error-text.js';
import { privateDirectoryMode } from '../lib/private-modes.js';
import { StoreRefused } from './refusal.js';

const othersMask = 0o077;

/** The store's records. */
export const dataFile = 'data.mdb';
/** lmdb's table of readers and its mutex; made anew wherever it is missing. */
export const storeLockFile = 'lock.mdb';
/** In a backup's directory: the files that are not complete yet. */
export const unfinishedBackup = 'unfinished';

/** @returns a warning for the operator when the directory was open to others, and now is not. */
export function prepareDataDirectory(directory: string): string | undefined {
  try {
    const isNew =
      mkdirSync(directory, { recursive: true, mode: privateDirectoryMode }) !== undefined;
    const mode = statSync(directory).mode & 0o777;
    // Also for a new one, since the umask may have taken away the owner's own rights.
    if (mode !== privateDirectoryMode) chmodSync(directory, privateDirectoryMode);
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

/** Whether a store has been made in the directory, so that `openStore` would not make a new one. */
export function isStoreDirectory(directory: string): boolean {
  return existsSync(join(directory, dataFile));
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
