/** Opens the log and the index of a data directory, with everything of the log in the index. */
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { errorText } from '../lib/error-text.js';
import { syncDirectory, syncFile } from '../lib/durable-file.js';
import { dataFile, endStore } from './data-directory.js';
import type { DiskSpace } from './disk-reserve.js';
import { stirFreePages } from './free-pages.js';
import { type ApplyFrames, createApplyFrames, openIndex } from './lmdb-index.js';
import { recover, type Recovery } from './log/recovery.js';
import { replay } from './log/replay.js';
import type { FoundSegment } from './log/segment.js';
import { createSegmentFiles, logDirectory, type SegmentFiles } from './log/segment-files.js';
import { StoreRefused } from './refusal.js';
import { claimFormat, listUnknown } from './store-format.js';

export interface RecoveredStore {
  readonly root: RootDatabase;
  readonly apply: ApplyFrames;
  readonly files: SegmentFiles;
  readonly logId: string;
  readonly found: readonly FoundSegment[];
  readonly recovery: Recovery;
}

/** Throws `StoreRefused`. */
export function openRecovered(
  directory: string,
  space: DiskSpace | undefined,
  takesOver: boolean,
): RecoveredStore {
  const root = openIndex(directory);
  try {
    // Its position says which files of the log may be reused; a process may have been killed before it flushed that.
    syncFile(join(directory, dataFile));
    const index = claimFormat(root, directory, takesOver);
    endStore(directory);
    const files = createSegmentFiles(join(directory, logDirectory));
    const found = files.find();
    // A process may have been killed before it flushed a file that it made ahead, or the file's name.
    for (const segment of found) if (segment.header === undefined) segment.sync();
    syncDirectory(join(directory, logDirectory));
    const recovery = recover(found, index);
    const apply = createApplyFrames(root);
    replay(recovery, apply, space, () => stirFreePages(root));
    if (takesOver) listUnknown(root);
    return { root, apply, files, found, logId: index.logId, recovery };
  } catch (error) {
    void root.close();
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The store in ${directory} cannot be opened: ${errorText(error)}. Check that its disk has space, and that all ` +
        'files of the directory belong to the user that runs Signalbox.',
      { cause: error },
    );
  }
}
