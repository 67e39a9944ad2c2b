/**
 * The files of the log that are not being written to: those whose frames the index still lacks, and those
 * that may be used again because the index holds all of theirs, durably. Makes new ones ahead of need.
 */
import type { WriteRefused } from '../store.js';
import type { SegmentFile } from './segment.js';
import type { SegmentFiles } from './segment-files.js';

/** Files kept for reuse; there are more after the index was behind. */
const freeMax = 3;

export interface SegmentsOptions {
  readonly files: SegmentFiles;
  /** Size of a usual segment; a larger frame gets a segment of its own. */
  readonly segmentBytes: number;
  /** Why no file may be made now. */
  readonly refusal: (bytes: number) => WriteRefused | undefined;
}

export class Segments {
  #free: SegmentFile[] = [];
  /** Files in the order of their uses, with the position behind their last frame. */
  #used: { readonly file: SegmentFile; readonly end: number }[] = [];
  #nextNumber: number;
  #making: Promise<void> | undefined;

  /** @param found files that nothing needs any more. */
  constructor(
    readonly options: SegmentsOptions,
    found: readonly SegmentFile[],
    nextNumber: number,
  ) {
    this.#nextNumber = nextNumber;
    for (const file of found) this.keep(file);
  }

  /** @returns a file that nothing needs any more. @throws WriteRefused when there is none to be had. */
  async take(bytes: number): Promise<SegmentFile> {
    await this.#making;
    const free = this.#free.findIndex((file) => file.bytes >= bytes);
    if (free < 0) return this.#make(Math.max(bytes, this.options.segmentBytes));
    return this.#free.splice(free, 1)[0] as SegmentFile;
  }

  /** @param end the position behind the last frame in it. */
  retire(file: SegmentFile, end: number): void {
    this.#used.push({ file, end });
  }

  /** The index holds everything before the position, durably. */
  release(position: number): void {
    const done = this.#used.filter(({ end }) => end <= position);
    if (done.length === 0) return;
    this.#used = this.#used.filter(({ end }) => end > position);
    for (const { file } of done) this.keep(file);
  }

  /** Makes a file in the background unless one is there. */
  ahead(): void {
    if (this.#free.length > 0 || this.#making !== undefined) return;
    this.#making = this.#make(this.options.segmentBytes)
      .then((file) => void this.#free.push(file), ignore)
      .finally(() => (this.#making = undefined));
  }

  /** Resolves when no file is being made. */
  async settled(): Promise<void> {
    await this.#making;
  }

  /** Keeps a file for reuse, since nothing needs its content; removes it when there are enough. */
  keep(file: SegmentFile): void {
    const isKept = file.bytes === this.options.segmentBytes && this.#free.length < freeMax;
    if (isKept) this.#free.push(file);
    // What cannot be removed takes space and nothing else.
    else this.options.files.remove(file.path).catch(ignore);
  }

  async #make(bytes: number): Promise<SegmentFile> {
    const refusal = this.options.refusal(bytes);
    if (refusal !== undefined) throw refusal;
    return this.options.files.make(this.#nextNumber++, bytes);
  }
}

function ignore(): void {
  // The making is tried again when a file is needed, and its failure is told then.
}
