/**
 * A file of the log: one block of header, then frames without a gap. Files are used again and again; the
 * header names the use by a sequence of its own and says which position of the log the first frame has.
 * Frames of an earlier use belong to another sequence.
 *
 *   0 checksum  16 mark  24 position of the first frame  32 sequence  36 zero  40 name of the log  56 zero
 */
import { checksumOf } from './frame.js';

export const segmentHeaderBytes = 4096;
export const logIdLength = 16;
const fieldsBytes = 64;
const markAt = 16;
const firstAt = 24;
const sequenceAt = 32;
const logIdAt = 40;
const mark = 'SIGBXLG1';

export interface SegmentHeader {
  /** Tells the logs of different stores apart. */
  readonly logId: string;
  /** Grows with each use of any segment. */
  readonly sequence: number;
  /** Position of its first frame. */
  readonly first: number;
}

export interface SegmentFile {
  readonly path: string;
  readonly bytes: number;
}

export interface FoundSegment extends SegmentFile {
  /** Undefined when it was never used, or is damaged. */
  readonly header: SegmentHeader | undefined;
  /** The whole file. */
  read(): Buffer;
  /** Returns when the content that `read` gives is on disk: after a kill in a write it need not be. */
  sync(): void;
}

export function segmentHeader({ logId, sequence, first }: SegmentHeader): Buffer {
  const block = Buffer.alloc(segmentHeaderBytes);
  block.write(mark, markAt, 'latin1');
  block.writeBigUInt64LE(BigInt(first), firstAt);
  block.writeUInt32LE(sequence, sequenceAt);
  block.write(logId, logIdAt, 'latin1');
  block.write(checksumOf(block.subarray(0, fieldsBytes)), 0, 'latin1');
  return block;
}

/** @param block the begin of a file. */
export function readSegmentHeader(block: Buffer): SegmentHeader | undefined {
  if (block.length < fieldsBytes) return undefined;
  const textAt = (from: number, to: number): string => block.toString('latin1', from, to);
  const isOurs = textAt(markAt, firstAt) === mark;
  if (!isOurs || textAt(0, markAt) !== checksumOf(block.subarray(0, fieldsBytes))) return undefined;
  return {
    logId: textAt(logIdAt, logIdAt + logIdLength),
    sequence: block.readUInt32LE(sequenceAt),
    first: Number(block.readBigUInt64LE(firstAt)),
  };
}
