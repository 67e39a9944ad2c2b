/**
 * The files of a log in its directory. A file is filled with zeros before it is used: a later write changes no
 * size and needs no space, and so causes no second write for the file system's own data.
 */
import { close, closeSync, constants, existsSync, fstatSync, open, openSync } from 'node:fs';
import { readdirSync, readFileSync, readSync, statSync, write } from 'node:fs';
import { open as openFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { syncFile, syncWithoutBlocking } from '../../lib/durable-file.js';
import { privateFileMode } from '../../lib/private-modes.js';
import {
  type FoundSegment,
  readSegmentHeader,
  segmentHeaderBytes,
  type SegmentFile,
} from './segment.js';

/** In the data directory. */
export const logDirectory = 'log';
const extension = '.log';
const segmentName = /^[0-9a-f]{8}[.]log$/;
const zeros = Buffer.alloc(2 ** 20);

export interface SegmentFiles {
  /** All files of the log, in no order. */
  find(): FoundSegment[];
  /** Resolves when the file, full of zeros, and its name are on disk. */
  make(number: number, bytes: number): Promise<SegmentFile>;
  remove(path: string): Promise<void>;
  /** @returns a descriptor whose writes return when they are on disk. */
  open(path: string): Promise<number>;
  /** @param done called when all of the bytes are on disk, or with the reason why some may not be. */
  readonly write: (descriptor: number, bytes: Buffer, position: number, done: Written) => void;
  close(descriptor: number): Promise<void>;
}

export type Written = (error: Error | null) => void;

export function createSegmentFiles(directory: string): SegmentFiles {
  return {
    find: () => segmentNames(directory).map((each) => found(join(directory, each))),

    async make(number, bytes) {
      const path = segmentPath(directory, number);
      const file = await openFile(path, 'wx', privateFileMode);
      try {
        for (let left = bytes; left > 0;) {
          left -= (await file.write(zeros, 0, Math.min(left, zeros.length))).bytesWritten;
        }
        await file.sync();
        await syncWithoutBlocking(directory);
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await file.close();
      }
      return { path, bytes };
    },

    remove: (path) => rm(path),
    open: (path) => promisify(open)(path, constants.O_WRONLY | constants.O_DSYNC),
    write: writeAll,
    close: (descriptor) => promisify(close)(descriptor),
  };
}

/** Whether files of a log are in the directory: `lost+found`, on a disk of its own, is none. */
export function holdsLog(directory: string): boolean {
  return existsSync(directory) && segmentNames(directory).length > 0;
}

/** Whether the log is that of a copy (`copy.ts`) to which nothing was written yet: its only file has no room for a frame. */
export function isUnusedCopy(directory: string): boolean {
  const [first, ...others] = existsSync(directory) ? segmentNames(directory) : [];
  if (first === undefined || others.length > 0) return false;
  return statSync(join(directory, first)).size === segmentHeaderBytes;
}

function segmentNames(directory: string): string[] {
  return readdirSync(directory).filter((each) => segmentName.test(each));
}

export function segmentPath(directory: string, number: number): string {
  return join(directory, `${number.toString(16).padStart(8, '0')}${extension}`);
}

export function numberOfSegment(path: string): number {
  return Number.parseInt(path.slice(-8 - extension.length), 16);
}

function found(path: string): FoundSegment {
  const block = Buffer.alloc(segmentHeaderBytes);
  const file = openSync(path, 'r');
  try {
    const length = readSync(file, block, 0, segmentHeaderBytes, 0);
    return {
      path,
      bytes: fstatSync(file).size,
      header: readSegmentHeader(block.subarray(0, length)),
      read: () => readFileSync(path),
      sync: () => syncFile(path),
    };
  } finally {
    closeSync(file);
  }
}

/** One call may write only a part of the bytes. */
function writeAll(descriptor: number, bytes: Buffer, position: number, done: Written): void {
  write(descriptor, bytes, 0, bytes.length, position, (error, written) => {
    if (error !== null || written === bytes.length) done(error);
    else writeAll(descriptor, bytes.subarray(written), position + written, done);
  });
}
