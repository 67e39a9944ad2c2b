/** Brings what a log holds and the index lacks into the index, durably, before the store is used. */
import { errorText } from '../../lib/error-text.js';
import { bytesText } from '../../lib/units.js';
import type { DiskSpace } from '../disk-reserve.js';
import { NoSpace, StoreRefused } from '../refusal.js';
import { eachFrame } from './frame.js';
import type { Recovery } from './recovery.js';

/** The index takes a multiple of this while a transaction is under way. */
const bytesPerTransaction = 2 ** 20;
/** What the index may grow by for each byte of the log, and for a transaction as such. */
const growthMax = 4;

/**
 * @param prepare runs before the first transaction, if there is one.
 * @throws StoreRefused when the index cannot be written.
 */
export function replay(
  { stretches, end, bytes }: Recovery,
  apply: (frames: readonly Uint8Array[], position: number) => void,
  space: DiskSpace | undefined,
  prepare: () => void,
): void {
  const needed = growthMax * (bytes + bytesPerTransaction);
  if (bytes > 0 && space !== undefined && space.freeBytes < needed) {
    throw new NoSpace(
      `The store needs ${bytesText(needed)} to bring its log into data.mdb, and the disk has ` +
        `${bytesText(space.freeBytes)} free. Free some space on that disk.`,
    );
  }
  let position = end - bytes;
  let frames: Buffer[] = [];
  let length = 0;
  const flush = (): void => {
    position += length;
    apply(frames, position);
    frames = [];
    length = 0;
  };
  try {
    // The log must keep what the index gets: a power cut could take frames that are not on disk yet.
    for (const { segment } of stretches) segment.sync();
    if (bytes > 0) prepare();
    for (const { segment, from, to } of stretches) {
      for (const frame of eachFrame(segment.read().subarray(from, to))) {
        frames.push(frame);
        length += frame.length;
        if (length >= bytesPerTransaction) flush();
      }
    }
    if (length > 0) flush();
  } catch (error) {
    throw new StoreRefused(
      `The log could not be brought into data.mdb: ${errorText(error)}. Check the disk and the ` +
        'permissions of the data directory.',
      { cause: error },
    );
  }
}
