/**
 * Whether the owner of a data directory can open the store in it. lmdb ends a process that cannot open
 * its lock file, and a store that cannot be opened is not a damaged one.
 */
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../lib/error-text.js';
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { dataFile, storeLockFile } from '../store/data-directory.js';
import { directoryLockFile } from '../store/directory-lock.js';

/** The files that every opener must be able to read and write. */
export const openedFiles: readonly string[] = [dataFile, storeLockFile, directoryLockFile];

/** @returns the first reason, to be read after "the records were not examined: ". */
export function accessFault(directory: string): string | undefined {
  const stats = statSync(directory);
  const caller = process.geteuid?.() ?? stats.uid;
  // Root works on the directory as its owner.
  const user = caller === 0 ? stats.uid : caller;
  if (stats.uid !== user) return `${directory} belongs to user ${stats.uid}, not to user ${user}`;
  const denied = deniedAccess(directory);
  if (denied !== undefined) return `${directory}: ${denied}`;
  for (const name of openedFiles) {
    const path = join(directory, name);
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined) continue;
    if (file.uid !== user) return `${path} belongs to user ${file.uid}, not to user ${user}`;
    if (user !== 0 && lacksOwnerRights(file)) return `${path} is closed to its owner`;
  }
  return undefined;
}

/** @returns why this process cannot work in the directory. */
export function deniedAccess(directory: string): string | undefined {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    // Root has access in any case.
    const { uid, mode } = statSync(directory);
    const isClosed = uid !== 0 && (mode & privateDirectoryMode) !== privateDirectoryMode;
    return isClosed ? 'its owner lacks rights on it' : undefined;
  } catch (error) {
    return errorText(error);
  }
}

export function lacksOwnerRights({ mode }: Stats): boolean {
  return (mode & privateFileMode) !== privateFileMode;
}
