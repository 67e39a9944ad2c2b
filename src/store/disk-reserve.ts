/**
 * Free space that the store leaves untouched: below it no write is passed to lmdb, since lmdb 3.5.6 may
 * end the process when a write to its file fails (`native-notes/lmdb.md`). Such a write is refused
 * and does not reach the disk. Writes are accepted again once there is space.
 */
import { statfsSync } from 'node:fs';
import type { Clock } from '../lib/clock.js';
import { WriteRefused } from './store.js';

export interface DiskSpace {
  /** What a program without privileges may still write. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

export interface DiskReserve {
  /**
   * Called before every write.
   * @param bytes by which the write enlarges files, beyond what every write does.
   * @returns why it must not happen now; undefined while there is space.
   */
  refusal(bytes?: number): WriteRefused | undefined;
}

/** More than all the signals that can be written between two checks of the disk. */
const reserveBytesMax = 256 * 2 ** 20;
/** A small file system keeps this part of itself. */
const reservePart = 8;
/** A check costs 1.3 µs; within this time no disk can write as much as the reserve. */
const lookIntervalMs = 10;

/** @throws on a system that does not report it. */
export function diskSpaceOf(directory: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

/** @returns undefined on a system that does not report it. */
export function readDiskSpace(directory: string): DiskSpace | undefined {
  try {
    return diskSpaceOf(directory);
  } catch {
    // A system without this call must not fail every write.
    return undefined;
  }
}

/** Below it the store refuses writes. */
export function reserveBytes({ sizeBytes }: DiskSpace): number {
  return Math.min(reserveBytesMax, Math.floor(sizeBytes / reservePart));
}

export function createDiskReserve(clock: Clock, look: () => DiskSpace | undefined): DiskReserve {
  let lookedAt = -Infinity;
  let space: DiskSpace | undefined;
  let found: WriteRefused | undefined;
  return {
    refusal(bytes = 0) {
      const now = clock.monotonic();
      if (now - lookedAt >= lookIntervalMs) {
        lookedAt = now;
        space = look();
        found = judge(space, 0);
      }
      return bytes === 0 ? found : judge(space, bytes);
    },
  };
}

function judge(space: DiskSpace | undefined, bytes: number): WriteRefused | undefined {
  if (space === undefined || space.freeBytes - bytes >= reserveBytes(space)) return undefined;
  const [free, wanted] = [space.freeBytes, reserveBytes(space)].map(megabytes);
  const file = bytes === 0 ? '' : ` beside a new file of ${megabytes(bytes)} MB`;
  return new WriteRefused(`the disk has ${free} MB free, and ${wanted} MB must stay free${file}`);
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
