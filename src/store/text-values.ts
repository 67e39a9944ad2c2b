/**
 * Texts as lmdb's values, in UTF-8. Left to itself lmdb makes a Buffer of each, which the list of its
 * writes carries from one garbage collection to the next (native-notes/profile.md). Here texts are
 * written one behind the other into a block of bytes, which lmdb holds until it has copied what it was
 * told of; then the block goes as a whole.
 */
const blockBytes = 64 * 1024;
const bytesPerUnitMax = 3;

/** The part of it that lmdb has to copy; lmdb asks for it right after `encode`. */
type Block = Buffer & { start: number; end: number };

/** lmdb's idea of an encoder. */
export interface TextValues {
  /** Tells lmdb that what `encode` returns is a block of which it wants a part. */
  readonly copyBuffers: true;
  encode(text: string): Block;
  /** `bytes.length` is that of the value; the buffer is lmdb's own. */
  decode(bytes: Buffer): string;
}

export function createTextValues(): TextValues {
  let block = newBlock(blockBytes);
  return {
    copyBuffers: true,
    encode(text) {
      const bytesAtMost = text.length * bytesPerUnitMax;
      if (block.end + bytesAtMost > block.length) block = newBlock(bytesAtMost);
      block.start = block.end;
      block.end += block.write(text, block.start);
      return block;
    },
    decode: (bytes) => bytes.toString('utf8', 0, bytes.length),
  };
}

/** With an address of its own: lmdb takes that of the memory, and adds the start to it. */
function newBlock(bytesAtLeast: number): Block {
  const bytes = Buffer.allocUnsafeSlow(Math.max(blockBytes, bytesAtLeast));
  return Object.assign(bytes, { start: 0, end: 0 });
}
