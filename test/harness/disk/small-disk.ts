/**
 * A tmpfs of a few megabytes for one test, which can be filled to the last byte and freed again while
 * the gateway writes to it. Needs the right to mount.
 */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  freeBytes(): number;
  /** Writes until only `leftBytes` are free. */
  fill(leftBytes: number): void;
  /** Removes what `fill` wrote. */
  free(): void;
  /** Unmounts lazily: processes that still have files open can go on writing. */
  unmount(): void;
}

const blockBytes = 4096;

/** @returns the disk, or the reason why it cannot be mounted. */
export function mountSmallDisk(megabytes: number): SmallDisk | string {
  // Not in the directory of the test, which is removed while the disk may still be mounted.
  const path = mkdtempSync(join(tmpdir(), 'signalbox-disk-'));
  const size = `size=${megabytes}m,mode=0700`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', path], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    rmdirSync(path);
    return `a file system cannot be mounted here: ${stderr}`.trim();
  }
  const filler = join(path, 'filler');
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    path,
    freeBytes,
    fill(leftBytes) {
      const file = openSync(filler, 'a');
      const block = Buffer.alloc(blockBytes, 1);
      try {
        while (freeBytes() - blockBytes >= leftBytes) writeSync(file, block);
      } catch (error) {
        // The gateway took the last block.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      spawnSync('umount', ['-l', path]);
      rmdirSync(path);
    },
  };
}
