/**
 * A real file system of a few megabytes, mounted in memory for one test: it can be filled to the last
 * byte and freed again while the gateway writes to it. Needs the right to mount.
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
  /** Writes until only so much is left. */
  fill(leftBytes: number): void;
  /** Takes away all that `fill` wrote. */
  free(): void;
  /** Gives the mount back; whoever still writes to it goes on writing to nothing that stays. */
  unmount(): void;
}

const blockBytes = 4096;

/** @returns why there is none, where the system does not allow it. */
export function mountSmallDisk(megabytes: number): SmallDisk | string {
  // Apart from the directories of tests, which are cleared while something may still be mounted.
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
        // Somebody else was faster with the last block.
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
