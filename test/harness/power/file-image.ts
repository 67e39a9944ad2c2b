/** The bytes of a file, sparse: parts that were never written, or only with zeros, take no memory. */
export class FileImage {
  #size = 0;
  readonly #chunks = new Map<number, Buffer>();

  get size(): number {
    return this.#size;
  }

  write(offset: number, bytes: Buffer): void {
    for (const [index, from, part] of partsOf(offset, bytes)) {
      const chunk = this.#chunks.get(index) ?? newChunk(part);
      if (chunk === undefined) continue;
      this.#chunks.set(index, chunk);
      part.copy(chunk, from);
    }
    this.#size = Math.max(this.#size, offset + bytes.length);
  }

  /** Ends at the end of the file. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, this.#size - offset)));
    for (const [index, from, part] of partsOf(offset, bytes)) {
      this.#chunks.get(index)?.copy(part, 0, from, from + part.length);
    }
    return bytes;
  }

  /** A part that is cut off reads as zeros if the file grows again. */
  resize(size: number): void {
    for (const [index, chunk] of this.#chunks) {
      const left = size - index * chunkBytes;
      if (left <= 0) this.#chunks.delete(index);
      else if (left < chunkBytes) chunk.fill(0, left);
    }
    this.#size = size;
  }

  /** The parts that hold bytes other than zero, and perhaps zeros. */
  *parts(): Generator<{ readonly offset: number; readonly bytes: Buffer }> {
    for (const [index, chunk] of this.#chunks) {
      const offset = index * chunkBytes;
      yield { offset, bytes: chunk.subarray(0, this.#size - offset) };
    }
  }
}

const chunkBytes = 64 * 1024;
const zeros = Buffer.alloc(chunkBytes);

function newChunk(part: Buffer): Buffer | undefined {
  return part.equals(zeros.subarray(0, part.length)) ? undefined : Buffer.alloc(chunkBytes);
}

/** Pieces that lie in one chunk each: its index, where the piece begins in it, and the bytes. */
function* partsOf(offset: number, bytes: Buffer): Generator<[number, number, Buffer]> {
  for (let done = 0; done < bytes.length;) {
    const index = Math.floor((offset + done) / chunkBytes);
    const from = offset + done - index * chunkBytes;
    const length = Math.min(bytes.length - done, chunkBytes - from);
    yield [index, from, bytes.subarray(done, done + length)];
    done += length;
  }
}
