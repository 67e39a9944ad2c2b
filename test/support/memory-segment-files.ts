/**
 * The files of a log in memory, with what a disk may do to them: a write that fails or is cut off by a
 * kill has put any of its sectors on the disk, and a kill may leave a header that is neither the old nor the
 * new one; a file whose making is cut off is short; a file that was removed may be back after the kill.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { readSegmentHeader, segmentHeaderBytes } from '../../src/store/log/segment.js';
import { segmentPath, type SegmentFiles } from '../../src/store/log/segment-files.js';

export const sectorBytes = 512;

/** `sectors`: bits of those that reach the disk, repeated as often as needed. */
export type Fate =
  | { readonly kind: 'done' }
  | { readonly kind: 'fails' | 'killed'; readonly sectors: number };

export interface MemoryDisk extends SegmentFiles {
  readonly contents: Map<string, Buffer>;
  /** Fates of the next writes, in order; later writes are done. */
  fates: Fate[];
  /** How many of the next files cannot be made; a negative number kills the process in the middle instead. */
  failingMakes: number;
  isKilled: boolean;
  /** Puts the disk in the state that a process finds which starts after a kill. */
  restart(): void;
  /** Brings back what was removed in the life before. */
  revive(): void;
}

export function createMemoryDisk(): MemoryDisk {
  const contents = new Map<string, Buffer>();
  let removed = new Map<string, Buffer>();
  const paths: string[] = [];
  const never = (): Promise<never> => new Promise(() => undefined);

  const disk: MemoryDisk = {
    contents,
    fates: [],
    failingMakes: 0,
    isKilled: false,

    restart() {
      disk.isKilled = false;
      disk.fates = [];
      disk.failingMakes = 0;
      removed = new Map();
    },
    revive() {
      for (const [path, bytes] of removed) if (!contents.has(path)) contents.set(path, bytes);
    },

    find: () =>
      [...contents].map(([path, bytes]) => ({
        path,
        bytes: bytes.length,
        header: readSegmentHeader(bytes.subarray(0, segmentHeaderBytes)),
        read: () => Buffer.from(bytes),
        sync: () => undefined,
      })),

    async make(number, bytes) {
      if (disk.isKilled) return never();
      const path = segmentPath('log', number);
      if (contents.has(path)) throw new Error(`${path} is there`);
      if (disk.failingMakes > 0) {
        disk.failingMakes--;
        throw new Error('no space');
      }
      if (disk.failingMakes < 0) {
        disk.isKilled = true;
        contents.set(path, Buffer.alloc(bytes >> 1));
        return never();
      }
      contents.set(path, Buffer.alloc(bytes));
      await turn();
      return { path, bytes };
    },

    async remove(path) {
      if (disk.isKilled) return;
      removed.set(path, contents.get(path) as Buffer);
      contents.delete(path);
    },

    open(path) {
      if (disk.isKilled) return never();
      if (!contents.has(path)) throw new Error(`${path} is not there`);
      paths.push(path);
      return Promise.resolve(paths.length - 1);
    },

    write(descriptor, bytes, position, done) {
      if (disk.isKilled) return;
      const target = contents.get(paths[descriptor] as string) as Buffer;
      if (position + bytes.length > target.length) throw new Error('a write behind the end');
      const fate = disk.fates.shift() ?? { kind: 'done' };
      copySectors(bytes, target, position, fate.kind === 'done' ? -1 : fate.sectors);
      if (fate.kind === 'killed') {
        disk.isKilled = true;
        if (position === 0 && fate.sectors % 2 !== 0) target.fill(0xee, 0, sectorBytes);
      } else {
        queueMicrotask(() => done(fate.kind === 'done' ? null : new Error('EIO')));
      }
    },

    close: () => Promise.resolve(),
  };
  return disk;
}

function copySectors(bytes: Buffer, target: Buffer, position: number, sectors: number): void {
  let sector = 0;
  for (let at = 0; at < bytes.length; sector++) {
    const end = Math.min(bytes.length, at + sectorBytes - ((position + at) % sectorBytes));
    if ((sectors >> (sector % 32)) & 1) bytes.copy(target, position + at, at, end);
    at = end;
  }
}
