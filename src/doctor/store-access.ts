/**
 * Whether the owner of a data directory can open the store in it. lmdb ends a process that cannot open
 * its lock file, and a store that cannot be opened is not a damaged one.
 */
import { accessSync, constants, existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../lib/error-text.js';
import { privateDirectoryMode, privateFileMode } from '../lib/private-modes.js';
import { dataFile, storeLockFile } from '../store/data-directory.js';
import { directoryLockFile } from '../store/directory-lock.js';
import { logDirectory } from '../store/log/segment-files.js';

const openedFiles = [dataFile, storeLockFile, directoryLockFile];

/** The data directory, and that of the log where there is one. */
export function storeDirectories(directory: string): string[] {
  const log = join(directory, logDirectory);
  return existsSync(log) ? [directory, log] : [directory];
}

/** The files, and the log's directory, that every opener must be able to read and write. */
export function openedPaths(directory: string): string[] {
  const log = join(directory, logDirectory);
  const segments = existsSync(log) && deniedAccess(log) === undefined ? readdirSync(log) : [];
  return [
    ...openedFiles.map((name) => join(directory, name)),
    log,
    ...segments.map((name) => join(log, name)),
  ];
}

/** @returns the first reason, to be read after "the records were not examined: ". */
export function accessFault(directory: string): string | undefined {
  const stats = statSync(directory);
  const caller = process.geteuid?.() ?? stats.uid;
  // Root works on the directory as its owner.
  const user = caller === 0 ? stats.uid : caller;
  if (stats.uid !== user) return `${directory} belongs to user ${stats.uid}, not to user ${user}`;
  for (const each of storeDirectories(directory)) {
    const denied = deniedAccess(each);
    if (denied !== undefined) return `${each}: ${denied}`;
  }
  for (const path of openedPaths(directory)) {
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
