/** The lines of a file, read in chunks, for files that may be larger than the memory. */
import { closeSync, openSync, readSync } from 'node:fs';

const chunkBytes = 1 << 16;
const lineFeed = 10;

export interface FileLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/**
 * Yields only lines that end with a line feed; JSON may contain other line separators.
 * Throws the system's error when the file cannot be read.
 */
export function* fileLines(path: string): Generator<FileLine, void, void> {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(chunkBytes);
  let parts: Buffer[] = [];
  let number = 0;
  try {
    for (;;) {
      const length = readSync(file, chunk, 0, chunkBytes, null);
      if (length === 0) return;
      const read = chunk.subarray(0, length);
      let from = 0;
      for (let to = read.indexOf(lineFeed); to >= 0; to = read.indexOf(lineFeed, from)) {
        parts.push(read.subarray(from, to));
        yield { text: Buffer.concat(parts).toString('utf8'), number: ++number };
        parts = [];
        from = to + 1;
      }
      parts.push(Buffer.from(read.subarray(from)));
    }
  } finally {
    closeSync(file);
  }
}
