/**
 * The end of the log, where frames are added: one at a time, each by one write that returns when it is
 * on disk (O_DSYNC). Owns the segment that is written to, and the position. A frame whose write failed
 * is replaced by the next one, at the same place. Once the exchange of a segment has begun, it gets no
 * further frame: the header of the next segment may be on disk already, and marks its end.
 */
import { promisify } from 'node:util';
import { errorText } from '../../lib/error-text.js';
import { StoreFailure, WriteRefused } from '../store.js';
import { sealFrame } from './frame.js';
import type { Recovery } from './recovery.js';
import {
  type FoundSegment,
  segmentHeader,
  segmentHeaderBytes,
  type SegmentFile,
} from './segment.js';
import { numberOfSegment } from './segment-files.js';
import { Segments, type SegmentsOptions } from './segments.js';

export interface LogOptions extends SegmentsOptions {
  readonly logId: string;
}

interface OpenSegment {
  readonly file: SegmentFile;
  readonly descriptor: number;
  readonly first: number;
}

/** @param failure `WriteRefused` when nothing of the frame was written. */
export type Appended = (failure: StoreFailure | undefined) => void;

export class Log {
  /** The position behind the last frame that is on disk. */
  end: number;
  /** Sequence of the newest use of a segment. */
  sequence: number;
  #current: OpenSegment | undefined;
  /** The newest segment whose header is on disk: it proves that there is a log. */
  #proof: SegmentFile | undefined;
  readonly #segments: Segments;

  /** The index holds all that was recovered, but its commit may be undone: these segments are kept until `release`. */
  constructor(
    readonly options: LogOptions,
    found: readonly FoundSegment[],
    { end, newest, stretches }: Recovery,
  ) {
    this.end = end;
    this.sequence = newest?.header.sequence ?? 0;
    this.#proof = newest;
    const recovered = stretches.map(({ segment }) => segment);
    const needed = new Set<FoundSegment | undefined>([newest, ...recovered]);
    const free = found.filter((file) => !needed.has(file));
    const numbers = found.map(({ path }) => numberOfSegment(path));
    this.#segments = new Segments(options, free, Math.max(0, ...numbers) + 1);
    for (const file of recovered) if (file !== newest) this.#segments.retire(file, end);
  }

  /** Not to be called again before `appended` was. */
  append(frame: Buffer, appended: Appended): void {
    if (this.#current !== undefined && roomIn(this.#current, this.end) >= frame.length) {
      this.#write(this.#current, frame, appended);
      return;
    }
    this.#exchange(segmentHeaderBytes + frame.length).then(
      (segment) => this.#write(segment, frame, appended),
      (error: unknown) => {
        if (error instanceof WriteRefused) return appended(error);
        appended(new WriteRefused(`no segment for the log: ${errorText(error)}`, { cause: error }));
      },
    );
  }

  /** The index holds everything before the position, durably. */
  release(position: number): void {
    this.#segments.release(position);
  }

  /** Not to be called while a frame is being added. */
  async close(): Promise<void> {
    await this.#segments.settled();
    await this.#leave();
  }

  #write(segment: OpenSegment, frame: Buffer, appended: Appended): void {
    const { descriptor, first } = segment;
    sealFrame(frame, { position: this.end, sequence: this.sequence });
    const at = segmentHeaderBytes + this.end - first;
    this.options.files.write(descriptor, frame, at, (error) => {
      if (error !== null) {
        const cause = errorText(error);
        return appended(new StoreFailure(`the log was not written: ${cause}`, { cause: error }));
      }
      this.end += frame.length;
      appended(undefined);
    });
  }

  async #exchange(bytes: number): Promise<OpenSegment> {
    const file = await this.#segments.take(bytes);
    const descriptor = await this.#open(file);
    const first = this.end;
    try {
      await this.#leave();
      const header = { logId: this.options.logId, sequence: ++this.sequence, first };
      await promisify(this.options.files.write)(descriptor, segmentHeader(header), 0);
    } catch (error) {
      this.#segments.retire(file, first);
      await this.options.files.close(descriptor);
      throw error;
    }
    if (this.#proof !== undefined) this.#segments.retire(this.#proof, first);
    this.#proof = file;
    this.#current = { file, descriptor, first };
    // Makes the next file now, and keeps it for the next start: a halt must find one on a full disk.
    this.#segments.ahead();
    return this.#current;
  }

  /** Runs while the current segment is still open, which stays in use when the process has no free descriptor. */
  async #open(file: SegmentFile): Promise<number> {
    try {
      return await this.options.files.open(file.path);
    } catch (error) {
      this.#segments.keep(file);
      throw error;
    }
  }

  async #leave(): Promise<void> {
    const { descriptor } = this.#current ?? {};
    this.#current = undefined;
    if (descriptor !== undefined) await this.options.files.close(descriptor);
  }
}

function roomIn({ file, first }: OpenSegment, end: number): number {
  return file.bytes - segmentHeaderBytes - (end - first);
}
