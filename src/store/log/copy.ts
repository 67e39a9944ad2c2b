/** The log of a copy of the index: no frame, and a header that proves that none is missing. */
import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from '../../lib/durable-file.js';
import { privateDirectoryMode, privateFileMode } from '../../lib/private-modes.js';
import { segmentHeader, type SegmentHeader } from './segment.js';
import { logDirectory, segmentPath } from './segment-files.js';

/** @param header its `first` is a position that the copied index has reached. */
export function writeLogCopy(target: string, header: SegmentHeader): void {
  const directory = join(target, logDirectory);
  mkdirSync(directory, { mode: privateDirectoryMode });
  const file = openSync(segmentPath(directory, 0), 'wx', privateFileMode);
  try {
    writeSync(file, segmentHeader(header));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncDirectory(directory);
}
