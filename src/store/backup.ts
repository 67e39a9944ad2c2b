/**
 * A copy of a data directory that can be started with, made while the gateway serves. All of it is
 * written beside its place and moved there when it is whole and on disk, the store last: a directory
 * that holds `data.mdb` holds a complete copy, also when this process was ended half-way.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { dataFile, secretFile, unfinishedBackup } from './data-directory.js';
import { readDiskSpace, reserveBytes } from './disk-reserve.js';
import type { Store } from './store.js';

const directoryMode = 0o700;
const fileMode = 0o600;

export interface Backup {
  readonly directory: string;
  /** The files in it, in the order in which they came there. */
  readonly files: readonly string[];
  readonly bytes: number;
}

/** `reason`: complete sentences, the last of which is the remedy. */
export interface BackupRefusal {
  readonly code: 'directory_not_empty' | 'directory_unusable' | 'no_space';
  readonly reason: string;
}

/** @param target a new or empty directory. */
export async function backUp(
  store: Store,
  dataDirectory: string,
  target: string,
): Promise<Backup | BackupRefusal> {
  const directory = resolve(target);
  const staging = join(directory, unfinishedBackup);
  let isBegun = false;
  try {
    const refusal = prepare(directory) ?? spaceRefusal(directory, store.sizeBytes());
    if (refusal !== undefined) return refusal;
    mkdirSync(staging, { mode: directoryMode });
    isBegun = true;
    await store.backup(staging);
    const secret = join(dataDirectory, secretFile);
    if (existsSync(secret)) copyFileSync(secret, join(staging, secretFile));
    return finish(directory, staging);
  } catch (error) {
    if (isBegun) rmSync(staging, { recursive: true, force: true });
    const reason = error instanceof Error ? error.message : String(error);
    return {
      code: 'directory_unusable',
      reason:
        `The backup could not be written to ${directory}: ${reason}. Nothing of it is left there. ` +
        'Give a directory on a disk that takes writes and has room for the store.',
    };
  }
}

function prepare(directory: string): BackupRefusal | undefined {
  mkdirSync(directory, { recursive: true, mode: directoryMode });
  const [first] = readdirSync(directory);
  if (first === undefined) {
    chmodSync(directory, directoryMode);
    return undefined;
  }
  const finding =
    first === unfinishedBackup
      ? `The directory ${directory} holds a backup that is under way or was cut off.`
      : `The directory ${directory} is not empty: it holds "${first}".`;
  return {
    code: 'directory_not_empty',
    reason: `${finding} Nothing is ever overwritten. Give a new directory, or empty this one.`,
  };
}

/** A copy on the gateway's own disk must leave it what the store needs to go on. */
function spaceRefusal(directory: string, bytes: number): BackupRefusal | undefined {
  const space = readDiskSpace(directory);
  if (space === undefined || space.freeBytes - reserveBytes(space) >= bytes) return undefined;
  const [free, needed] = [space.freeBytes, bytes + reserveBytes(space)].map(
    (value) => `${Math.ceil(value / 2 ** 20)} MB`,
  );
  return {
    code: 'no_space',
    reason:
      `The disk of ${directory} has ${free} free, and the backup needs ${needed}, some of which ` +
      'stays free. Make room there, or give a directory on another disk.',
  };
}

function finish(directory: string, staging: string): Backup {
  const files = [secretFile, dataFile].filter((name) => existsSync(join(staging, name)));
  let bytes = 0;
  for (const name of files) {
    chmodSync(join(staging, name), fileMode);
    bytes += statSync(join(staging, name)).size;
    toDisk(join(staging, name));
  }
  for (const name of files) {
    renameSync(join(staging, name), join(directory, name));
    toDisk(directory);
  }
  rmdirSync(staging);
  toDisk(directory);
  toDisk(dirname(directory));
  return { directory, files, bytes };
}

/** Also the entries of a directory must be flushed, or a power cut takes the names away. */
function toDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
