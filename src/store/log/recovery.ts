/**
 * What a log holds behind the position that the index has reached. The rules, in the words of which
 * `native-notes/log.md` proves that nothing acknowledged is lost:
 *
 * 1. The uses of segments, in the order of their sequences, follow each other without a gap: each ends
 *    where the next one begins, whatever lies behind that in its file.
 * 2. The last use ends before its first frame that is not whole, or not the one of that place.
 * 3. A frame was acknowledged only if all before it are on disk. So a whole frame behind that end, or
 *    a use that begins behind the end of the one before, proves that something before it is damaged.
 *
 * Reads, and changes nothing.
 */
import { StoreRefused } from '../refusal.js';
import { type Claim, findFrames, isBegun, lastBeginBefore, readFrame } from './frame.js';
import { type FoundSegment, segmentHeaderBytes, type SegmentHeader } from './segment.js';

export interface IndexPlace {
  readonly logId: string;
  /** Everything in the log before it is in the index. */
  readonly position: number;
}

/** A stretch of frames that the index lacks. */
export interface Stretch {
  readonly segment: FoundSegment;
  readonly from: number;
  readonly to: number;
}

export type UsedSegment = FoundSegment & { readonly header: SegmentHeader };

export interface Recovery {
  readonly stretches: readonly Stretch[];
  readonly frames: number;
  readonly bytes: number;
  /** The position behind the last frame. */
  readonly end: number;
  /** The last use; undefined when the log is new. */
  readonly newest: UsedSegment | undefined;
  /** Whether a frame was begun behind the end: never acknowledged, and never to be seen again. */
  readonly isTorn: boolean;
}

/** @throws StoreRefused when frames are missing before others, or the log is not that of the index. */
export function recover(found: readonly FoundSegment[], index: IndexPlace): Recovery {
  const uses = found.filter(isUsed).sort((a, b) => a.header.sequence - b.header.sequence);
  if (uses.some(({ header }) => header.logId !== index.logId)) throw new StoreRefused(foreign);
  const begin = uses.findLastIndex(({ header }) => header.first <= index.position);
  if (begin < 0 && (uses.length > 0 || index.position > 0)) throw new StoreRefused(incomplete);

  const stretches: Stretch[] = [];
  let end = index.position;
  let frames = 0;
  let isTorn = false;
  for (let i = Math.max(0, begin); i < uses.length; i++) {
    const segment = uses[i] as UsedSegment;
    const { sequence, first } = segment.header;
    const next = uses[i + 1]?.header;
    const follows = i === begin || end === first;
    if (!follows || next?.sequence === sequence) throw new StoreRefused(damaged(segment));
    const bytes = segment.read();
    if (i === begin && endsBefore(index.position, bytes, segment.header)) {
      throw new StoreRefused(older);
    }
    const from = segmentHeaderBytes + end - first;
    let at = from;
    while (end < (next?.first ?? Infinity)) {
      const read = readFrame(bytes, at);
      if (read?.position !== end || read.sequence !== sequence) break;
      at += read.frame.length;
      end += read.frame.length;
      frames++;
    }
    if (at > from) stretches.push({ segment, from, to: at });
    if (next !== undefined) continue;
    isTorn = isBegun(bytes, at, { position: end, sequence });
    if (hasFrame(bytes, at, segment.header)) throw new StoreRefused(damaged(segment));
  }
  const newest = uses.at(-1);
  for (const segment of found) {
    if (segment.header !== undefined) continue;
    // Frames of an earlier use are old content of a file whose new header was not written in full.
    const isLater = ({ position, sequence }: Claim): boolean =>
      sequence > (newest?.header.sequence ?? 0) && position >= end;
    const isDamaged = findFrames(segment.read(), 0, isLater).next().done !== true;
    if (isDamaged) throw new StoreRefused(damaged(segment));
  }
  return {
    stretches,
    frames,
    bytes: end - index.position,
    end,
    newest,
    isTorn,
  };
}

/**
 * Whether the frames of this use end before the position: then the log is of an earlier time than the index,
 * which has frames that it lacks. A log without a frame is that of a copy (`copy.ts`).
 */
function endsBefore(position: number, bytes: Buffer, header: SegmentHeader): boolean {
  if (header.first === position) return false;
  const reaches = (claim: Claim): boolean => claim.position + claim.length >= position;
  // Nearly always the last frame before the position is the one that reaches it.
  const last = lastBeginBefore(bytes, segmentHeaderBytes + position - header.first);
  return (
    !hasFrame(bytes, last, header, reaches) &&
    !hasFrame(bytes, segmentHeaderBytes, header, reaches) &&
    hasFrame(bytes, segmentHeaderBytes, header)
  );
}

/** Whether a whole frame of this use lies at the offset or behind it. */
function hasFrame(
  bytes: Buffer,
  from: number,
  { sequence, first }: SegmentHeader,
  isMeant: (claim: Claim) => boolean = () => true,
): boolean {
  const isWanted = (claim: Claim): boolean => {
    const isInPlace = claim.position === first + claim.offset - segmentHeaderBytes;
    return isInPlace && claim.sequence === sequence && isMeant(claim);
  };
  return findFrames(bytes, from, isWanted).next().done !== true;
}

function isUsed(segment: FoundSegment): segment is UsedSegment {
  return segment.header !== undefined;
}

const restore =
  'Keep this directory for a later analysis, and start from the newest backup (ops/backup.md tells ' +
  'how, and what to tell the bots).';

function damaged({ path }: FoundSegment): string {
  return (
    `The log of the store is damaged: ${path} holds acknowledged writes after others that cannot be ` +
    `read. ${restore}`
  );
}

const incomplete =
  'The log of the store is incomplete: the files in its directory "log" begin after the end of ' +
  `data.mdb, or are gone. Put back the files that belong to this data.mdb. If there are none: ${restore}`;

const older =
  'The log of the store is older than its data.mdb: the files in its directory "log" end before data.mdb ' +
  `does. Put back the files that belong to this data.mdb. If there are none: ${restore}`;

const foreign =
  'The directory "log" belongs to another store than data.mdb does. Put back the one that belongs to ' +
  `it. If there is none: ${restore}`;
