/**
 * A copy of the store in a directory of its own inside the data directory, the only place where a
 * hardened gateway may write. The command that asked for it moves or examines it; it is removed when
 * that is done, when the command is gone, and otherwise when the store is opened next.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../lib/error-text.js';
import { randomHex } from '../lib/ids.js';
import { privateDirectoryMode } from '../lib/private-modes.js';
import { bytesText } from '../lib/units.js';
import { markCopy } from './data-directory.js';
import { readDiskSpace, reserveBytes } from './disk-reserve.js';
import type { Store } from './store.js';

/** `reason`: complete sentences, the last of which is the remedy. */
export interface CopyRefusal {
  readonly code: 'directory_not_empty' | 'directory_unusable' | 'no_space' | 'copy_lost';
  readonly reason: string;
}

const stagingPrefix = 'staging-';
const stagingName = /^staging-[0-9a-f]{16}$/;

/** A name that came over a connection: anything else could lead out of the data directory. */
export function isStagingName(name: unknown): name is string {
  return typeof name === 'string' && stagingName.test(name);
}

/**
 * Makes a copy and gives the name of its directory to `use`, after which it is removed.
 * @returns why it could not be made.
 */
export async function withStagedCopy(
  store: Store,
  dataDirectory: string,
  use: (name: string) => Promise<void>,
): Promise<CopyRefusal | undefined> {
  const name = `${stagingPrefix}${randomHex(8)}`;
  const staging = join(dataDirectory, name);
  try {
    const refusal = await inTurn(store, () => copyTo(staging, store, dataDirectory));
    if (refusal === undefined) await use(name);
    return refusal;
  } finally {
    // By a thread: the removal of some gigabytes takes a while.
    await rm(staging, { recursive: true, force: true });
  }
}

async function copyTo(
  staging: string,
  store: Store,
  dataDirectory: string,
): Promise<CopyRefusal | undefined> {
  const refusal = spaceRefusal(dataDirectory, store.sizeBytes(), 'the copy');
  if (refusal !== undefined) return refusal;
  try {
    mkdirSync(staging, { mode: privateDirectoryMode });
    await store.backup(staging);
    markCopy(staging);
    return undefined;
  } catch (error) {
    return {
      code: 'directory_unusable',
      reason:
        `The copy of the store could not be written in ${dataDirectory}: ${errorText(error)}. ` +
        'Check the permissions and the free space of the data directory.',
    };
  }
}

/** The newest copy of each store. */
const newest = new WeakMap<Store, Promise<unknown>>();

/** One copy after another: two would count on the same free space, and hold the threads that commits need. */
async function inTurn<T>(store: Store, copy: () => Promise<T>): Promise<T> {
  const copied = (newest.get(store) ?? Promise.resolve()).then(copy, copy);
  newest.set(store, copied);
  return copied;
}

/** Removes what killed processes left. Only for the process that holds the directory's lock. */
export function removeStagedCopies(dataDirectory: string): void {
  try {
    for (const name of readdirSync(dataDirectory)) {
      if (isStagingName(name)) rmSync(join(dataDirectory, name), { recursive: true, force: true });
    }
  } catch {
    // A leftover costs space and nothing else; a directory that cannot be read fails at the open.
  }
}

/** @returns why the bytes do not fit beside the disk's reserve, without which the store would stop. */
export function spaceRefusal(
  directory: string,
  bytes: number,
  what: string,
): CopyRefusal | undefined {
  const space = readDiskSpace(directory);
  if (space === undefined || space.freeBytes - reserveBytes(space) >= bytes) return undefined;
  const needed = bytesText(bytes + reserveBytes(space));
  return {
    code: 'no_space',
    reason:
      `The disk of ${directory} has ${bytesText(space.freeBytes)} free, and ${what} needs ${needed}, ` +
      'including the reserve that stays free. Free some space on that disk.',
  };
}
