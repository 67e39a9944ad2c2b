/**
 * Free space that the store leaves untouched: below it nothing is handed to lmdb, since lmdb 3.5.6 may
 * end the process when a write to its file fails (`native-notes/lmdb.md`). A write is then refused
 * here, as a failed commit; nothing of it reaches the disk, and it is taken again once there is space.
 */
import { statfsSync } from 'node:fs';
import type { Clock } from '../lib/clock.js';
import { StoreFailure } from './store.js';

export interface DiskSpace {
  /** What a program without privileges may still write. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

export interface DiskReserve {
  /** Asked before every write. @returns why it must not happen now; undefined while there is space. */
  refusal(): StoreFailure | undefined;
}

/** More than all the signals that can be on their way to the disk between two looks at it. */
const reserveBytesMax = 256 * 2 ** 20;
/** A small file system keeps this part of itself. */
const reservePart = 8;
/** A look costs 1.3 µs; within this time no disk takes as much as the reserve. */
const lookIntervalMs = 10;

/** @returns undefined where the system does not tell: the disk then speaks for itself. */
export function readDiskSpace(directory: string): DiskSpace | undefined {
  try {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  } catch {
    // Which systems have no such call is nothing that a write should fail for.
    return undefined;
  }
}

/** Below it the store takes nothing. */
export function reserveBytes({ sizeBytes }: DiskSpace): number {
  return Math.min(reserveBytesMax, Math.floor(sizeBytes / reservePart));
}

export function createDiskReserve(clock: Clock, look: () => DiskSpace | undefined): DiskReserve {
  let lookedAt = -Infinity;
  let found: StoreFailure | undefined;
  return {
    refusal() {
      const now = clock.monotonic();
      if (now - lookedAt >= lookIntervalMs) {
        lookedAt = now;
        found = judge(look());
      }
      return found;
    },
  };
}

function judge(space: DiskSpace | undefined): StoreFailure | undefined {
  if (space === undefined || space.freeBytes >= reserveBytes(space)) return undefined;
  const [free, wanted] = [space.freeBytes, reserveBytes(space)].map(megabytes);
  return new StoreFailure(
    `the disk has ${free} MB free, and the last ${wanted} MB are never written to`,
  );
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
