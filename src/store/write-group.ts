/**
 * The writes that become one frame of the log, and so are on disk together or not at all. Owns the
 * frame's memory, and one promise for all of its writes.
 */
import { bytesOf, type FrameSpan } from './frame-memory.js';
import { readKey } from './key-encoding.js';

/** What a group puts at a key, or that it removes it: a part of the group's frame. */
export interface Version {
  readonly group: WriteGroup;
  /** From the begin of the frame. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** As `keyEnd` for what is removed: no record is empty. */
  readonly end: number;
  /** The key's bytes as a text of the same order, once it was needed. */
  order: string | undefined;
}

export class WriteGroup {
  /** As the overlay numbers them. */
  readonly versions: number[] = [];
  /** As the overlay names it while it has versions. */
  number = 0;
  /** Resolves when it is on disk; rejects with `StoreFailure`. */
  readonly settled: Promise<void>;
  resolve!: () => void;
  reject!: (error: Error) => void;
  /** Whether it is on disk, and readers see it. */
  isFlushed = false;
  /** Monotonic ms at which it was flushed. */
  flushedAt = 0;
  /** The log's end then. */
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

  /** The log's end before it. */
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
