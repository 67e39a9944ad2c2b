/**
 * One write of the log, as bytes: a header, then the changes of a group of writes. Its checksum covers
 * all but itself. The mark cannot be part of a key or of a record: no text in UTF-8 has such a byte.
 *
 *   0 checksum  16 mark  20 bytes of the frame  24 position  32 sequence of its segment  36 zero  40 changes
 *
 * A change is one byte for its collection, a zero, two bytes for the length of the key and four for that of
 * the value; then the key and the value. Without a value the key is removed.
 */
import { hash } from 'node:crypto';

export const frameHeaderBytes = 40;
export const changeHeaderBytes = 8;
const checksumBytes = 16;
const markAt = 16;
const lengthAt = 20;
const positionAt = 24;
const sequenceAt = 32;

const mark = Buffer.from([0xfd, 0xf9, 0xff, 0xfb]);
const markNumber = mark.readUInt32LE();

/** Where a frame belongs; a frame anywhere else is stale. */
export interface Place {
  /** The frame's first byte, counted over all segments since the log began. */
  readonly position: number;
  /** Names the use of a segment's file; no two uses have the same one. */
  readonly sequence: number;
}

/** @param frame with its changes in place. */
export function sealFrame(frame: Buffer, { position, sequence }: Place): void {
  frame.writeUInt32LE(markNumber, markAt);
  frame.writeUInt32LE(frame.length, lengthAt);
  frame.writeBigUInt64LE(BigInt(position), positionAt);
  frame.writeUInt32LE(sequence, sequenceAt);
  frame.writeUInt32LE(0, sequenceAt + 4);
  frame.write(checksumOf(frame), 0, 'latin1');
}

/** @returns the frame that begins at the offset, when it is whole. */
export function readFrame(bytes: Buffer, offset: number): (Place & { frame: Buffer }) | undefined {
  if (!isMarked(bytes, offset)) return undefined;
  const length = bytes.readUInt32LE(offset + lengthAt);
  if (length < frameHeaderBytes || offset + length > bytes.length) return undefined;
  const frame = bytes.subarray(offset, offset + length);
  if (frame.toString('latin1', 0, checksumBytes) !== checksumOf(frame)) return undefined;
  return { frame, ...placeAt(bytes, offset) };
}

/** Whether a frame was begun there, whole or not. */
export function isBegun(bytes: Buffer, offset: number, { position, sequence }: Place): boolean {
  if (!isMarked(bytes, offset)) return false;
  const place = placeAt(bytes, offset);
  return place.position === position && place.sequence === sequence;
}

/** Where a frame says that it belongs, whole or not. */
export interface Claim extends Place {
  readonly offset: number;
  readonly length: number;
}

/** Every whole frame from the offset on, wherever it begins. Computes the checksum of wanted ones only. */
export function* findFrames(
  bytes: Buffer,
  offset: number,
  isWanted: (claim: Claim) => boolean = () => true,
): Generator<Claim> {
  for (let at = bytes.indexOf(mark, offset); at >= 0; at = bytes.indexOf(mark, at + 1)) {
    const begin = at - markAt;
    if (begin < 0 || !isMarked(bytes, begin)) continue;
    const length = bytes.readUInt32LE(begin + lengthAt);
    const claim = { ...placeAt(bytes, begin), offset: begin, length };
    if (isWanted(claim) && readFrame(bytes, begin) !== undefined) yield claim;
  }
}

/** @returns where the last frame before the offset may begin. */
export function lastBeginBefore(bytes: Buffer, offset: number): number {
  return Math.max(0, bytes.lastIndexOf(mark, offset - 1) - markAt);
}

function isMarked(bytes: Buffer, offset: number): boolean {
  return (
    offset + frameHeaderBytes <= bytes.length && bytes.readUInt32LE(offset + markAt) === markNumber
  );
}

function placeAt(bytes: Buffer, offset: number): Place {
  return {
    position: Number(bytes.readBigUInt64LE(offset + positionAt)),
    sequence: bytes.readUInt32LE(offset + sequenceAt),
  };
}

/** Stronger than a CRC, and one native call as that is: `native-notes/log.md` has the cost of both. */
export function checksumOf(bytes: Buffer): string {
  return hash('sha256', bytes.subarray(checksumBytes), 'binary').slice(0, checksumBytes);
}

/** Key and value are in place behind it. */
export function writeChangeHeader(
  bytes: Buffer,
  start: number,
  collection: number,
  keyEnd: number,
  end: number,
): void {
  bytes[start] = collection;
  bytes[start + 1] = 0;
  bytes.writeUInt16LE(keyEnd - start - changeHeaderBytes, start + 2);
  bytes.writeUInt32LE(end - keyEnd, start + 4);
}

/** @param apply gets parts of the frame; an empty value where the key is removed. */
export function eachChange(
  frame: Buffer,
  apply: (collection: number, key: Buffer, value: Buffer) => void,
): void {
  let at = frameHeaderBytes;
  while (at < frame.length) {
    const keyStart = at + changeHeaderBytes;
    const keyEnd = keyStart + frame.readUInt16LE(at + 2);
    const end = keyEnd + frame.readUInt32LE(at + 4);
    apply(frame[at] as number, frame.subarray(keyStart, keyEnd), frame.subarray(keyEnd, end));
    at = end;
  }
}

/** @param bytes whole frames, one behind the other. */
export function* eachFrame(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const end = at + bytes.readUInt32LE(at + lengthAt);
    yield bytes.subarray(at, end);
    at = end;
  }
}
