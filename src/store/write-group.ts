/**
 * The writes that become one frame of the log, and so are on disk together or not at all. Owns the
 * frame's memory, and one promise for all of its writes.
 */
import { bytesOf, type FrameSpan } from './frame-memory.js';
import { readKey } from './key-encoding.js';

/** What a group puts at a key, or that it removes it: a part of the group's frame. */
export interface Version {
  readonly group: WriteGroup;
  /** Offset in the frame, as are the next two. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** Equal to `keyEnd` for a removal: no record is empty. */
  readonly end: number;
  /** The key's bytes as a text that sorts as they do; made when first needed. */
  order: string | undefined;
}

export class WriteGroup {
  /** The overlay's rows of its versions. */
  readonly versions: number[] = [];
  /** The overlay's number for it while it has versions. */
  number = 0;
  /** Resolves when it is on disk; rejects with `StoreFailure`. */
  readonly settled: Promise<void>;
  resolve!: () => void;
  reject!: (error: Error) => void;
  /** Whether it is on disk, and readers see it. */
  isFlushed = false;
  /** Monotonic ms at which it was flushed. */
  flushedAt = 0;
  /** The log's position behind its frame. */
  end = 0;

  /** @param begunAt monotonic ms of its first write. */
  constructor(
    readonly span: FrameSpan,
    readonly begunAt: number,
  ) {
    this.settled = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** The log's position of its frame. */
  get begin(): number {
    return this.end - this.bytes;
  }

  get bytes(): number {
    return this.span.end - this.span.start;
  }

  get frame(): Buffer {
    return bytesOf(this.span);
  }
}

export function isRemoval({ keyEnd, end }: Version): boolean {
  return end === keyEnd;
}

export function keyOf({ group, keyStart, keyEnd }: Version): unknown {
  const { block, start } = group.span;
  return readKey(block.bytes, start + keyStart, start + keyEnd);
}

/** The text of the record. */
export function textOf({ group, keyEnd, end }: Version): string {
  const { block, start } = group.span;
  return block.bytes.toString('utf8', start + keyEnd, start + end);
}

export function orderOf(version: Version): string {
  const { block, start } = version.group.span;
  const { keyStart, keyEnd } = version;
  return (version.order ??= block.bytes.toString('latin1', start + keyStart, start + keyEnd));
}
