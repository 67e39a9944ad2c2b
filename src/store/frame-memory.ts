/**
 * Memory in which frames are made and kept until the index has them. Its blocks are shared with the thread that
 * fills the index, so that no frame is copied. Frames lie in a block one behind the other; a block is used
 * again when all of its frames are gone.
 */
import { frameHeaderBytes } from './log/frame.js';

const blockBytes = 1024 * 1024;
/** Blocks that wait for use; one is being filled and one emptied all the time. */
const spareMax = 4;

interface Block {
  readonly bytes: Buffer;
  used: number;
  frames: number;
}

export interface FrameSpan {
  block: Block;
  start: number;
  end: number;
}

export class FrameMemory {
  #block = newBlock(blockBytes);
  readonly #spare: Block[] = [];

  /** @returns a span with room for a header. One at a time is open, the last one that was begun. */
  begin(): FrameSpan {
    const span = { block: this.#block, start: this.#block.used, end: this.#block.used };
    this.#block.frames++;
    this.reserve(span, frameHeaderBytes);
    span.end = span.start + frameHeaderBytes;
    return span;
  }

  /** Makes sure that so many bytes may follow the open span's end; moves it when they may not. */
  reserve(span: FrameSpan, bytes: number): void {
    const { block, start, end } = span;
    if (end + bytes <= block.bytes.length) return;
    const length = end - start;
    const wanted = 2 * (length + bytes);
    const target = wanted <= blockBytes ? this.#usual() : newBlock(wanted);
    block.bytes.copy(target.bytes, 0, start, end);
    target.frames++;
    Object.assign(span, { block: target, start: 0, end: length });
    this.#block = target;
    this.#leave(block);
  }

  /** Nothing more is added to the open span. */
  close({ block, end }: FrameSpan): void {
    block.used = end;
  }

  /** The frame is not needed any more. */
  free({ block }: FrameSpan): void {
    this.#leave(block);
  }

  #leave(block: Block): void {
    if (--block.frames > 0) return;
    block.used = 0;
    const isLarge = block.bytes.length > blockBytes;
    if (block === this.#block) {
      // Kept, the memory of one large frame would stay with the process.
      if (isLarge) this.#block = this.#usual();
    } else if (!isLarge && this.#spare.length < spareMax) {
      this.#spare.push(block);
    }
  }

  #usual(): Block {
    return this.#spare.pop() ?? newBlock(blockBytes);
  }
}

export function bytesOf({ block, start, end }: FrameSpan): Buffer {
  return block.bytes.subarray(start, end);
}

function newBlock(bytes: number): Block {
  return { bytes: Buffer.from(new SharedArrayBuffer(bytes)), used: 0, frames: 0 };
}
