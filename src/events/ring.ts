/**
 * Holds the latest events of one user for replay: a ring buffer, bounded by count, bytes and age. Ends with the
 * process; a client detects that by the epoch in its cursor.
 */
import type { Limits } from '../limits.js';
import { HeldEvents } from './held-events.js';
import { ReplayMemory, type EventSlice, type Held } from './replay-memory.js';

export interface PublishedEvent {
  /** Counts a user's events from 1. */
  readonly seq: number;
  /** Monotonic ms of the publication. */
  readonly at: number;
  /** Key of the event's source. */
  readonly source: string;
  /** The whole SSE frame, valid during the call that passes it. */
  readonly frame: Uint8Array;
}

/** Size after which a slice ends: bounds the bytes that a writer buffers when its socket blocks. */
const sliceBytesMax = 64 * 1024;
/** Size after which it ends where its events no longer lie side by side: a copy is garbage to be collected. */
const pieceBytesMin = 16 * 1024;
/** A block is at most a quarter of what the ring buffer holds, so that all blocks are hardly larger than that. */
const blockBytesMin = 1_024;
const blockBytesMax = 64 * 1024;

export class EventRing implements Held {
  readonly #events = new HeldEvents();
  /** The newest block. The garbage collector copies no block, unlike texts. */
  #block: Uint8Array = noBlock;
  #blockUsed = 0;
  /** The last block that lost all of its events, for new ones. V8 would mark the whole heap for each 64 MiB of new blocks. */
  #spare: Uint8Array = noBlock;
  /** Bytes of all frames in the ring buffer. */
  #bytes = 0;
  #lastSeq = 0;
  /** Source → `seq` of its latest evicted event. */
  readonly #evicted = new Map<string, number>();
  /** Of a source that is no longer in the map, no event with a higher `seq` was evicted. */
  #evictedOfAny = 0;

  constructor(
    readonly limits: Pick<Limits, 'replayEventsMax' | 'replayAgeMs' | 'replayBytesPerUser'>,
    /** Differs from that of an earlier process, and of an earlier user with the same id. */
    readonly epoch: string,
    readonly memory: ReplayMemory = new ReplayMemory(Infinity),
  ) {}

  get lastSeq(): number {
    return this.#lastSeq;
  }

  push({ seq, at, source, frame }: PublishedEvent): void {
    const { length } = frame;
    if (this.#blockUsed + length > this.#block.length) this.#renewBlock(length);
    const begin = this.#blockUsed;
    const end = begin + length;
    this.#block.set(frame, begin);
    this.#blockUsed = end;
    this.#events.push({ at, source, block: this.#block, begin, end });
    this.#lastSeq = seq;
    this.#resize(length);
    this.#evict(at);
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Evicts old events, also when the user has no new events and no readers. */
  age(now: number): void {
    this.#evict(now);
    if (this.isEmpty) this.#forgetSlice();
  }

  /** Drops all events, for a deleted user. */
  clear(): void {
    while (!this.isEmpty) this.dropOldest();
    this.#forgetSlice();
  }

  #forgetSlice(): void {
    if (this.memory.latest?.ring === this) this.memory.latest = undefined;
  }

  /** Whether the ring still holds every event of `source` after `seq`. `now`: monotonic ms. */
  reaches(seq: number, source: string, now: number): boolean {
    this.#evict(now);
    return seq <= this.#lastSeq && seq >= (this.#evicted.get(source) ?? this.#evictedOfAny);
  }

  /** @returns the next events of `source` after `seq`; undefined if one of them was evicted. */
  next(seq: number, source: string, now: number): EventSlice | undefined {
    if (!this.reaches(seq, source, now)) return undefined;
    const { latest } = this.memory;
    const isOurs = latest?.ring === this && latest.source === source;
    if (isOurs && latest.after === seq && latest.upTo === this.#lastSeq) return latest.slice;
    const events = this.#events;
    const taken: number[] = [];
    let size = 0;
    let remaining = 0;
    let isOnePiece = true;
    for (let index = this.#indexAfter(seq); index < events.length; index++) {
      if (events.sourceOf(index) !== source) continue;
      const last = taken.at(-1);
      const isBeside = last === undefined || events.isNextTo(last, index);
      const isPieceEnd = isOnePiece && !isBeside && size >= pieceBytesMin;
      if (remaining > 0 || size >= sliceBytesMax || isPieceEnd) {
        remaining++;
      } else {
        taken.push(index);
        size += events.sizeOf(index);
        isOnePiece &&= isBeside;
      }
    }
    const last = taken.at(-1);
    const slice = {
      bytes: joined(events, taken, size, isOnePiece),
      lastSeq: last === undefined ? seq : this.#oldestSeq + last,
      remaining,
    };
    this.memory.latest = { ring: this, after: seq, source, upTo: this.#lastSeq, slice };
    return slice;
  }

  /** Whether a further frame of this length would evict an event after `seq`. */
  wouldEvictAfter(seq: number, length: number): boolean {
    let count = this.#events.length + 1;
    let bytes = this.#bytes + length;
    for (let index = 0; this.#isTooMuch(count, bytes); index++) {
      if (this.#oldestSeq + index > seq) return true;
      count--;
      bytes -= this.#events.sizeOf(index);
    }
    return false;
  }

  /** Events have consecutive `seq`s. */
  get #oldestSeq(): number {
    return this.#lastSeq - this.#events.length + 1;
  }

  #indexAfter(seq: number): number {
    return Math.max(0, seq - this.#oldestSeq + 1);
  }

  #renewBlock(length: number): void {
    const quarter = Math.min(Math.max(this.#bytes / 4, blockBytesMin), blockBytesMax);
    // A power of two, so that the block that is left fits.
    const size = 2 ** Math.floor(Math.log2(quarter));
    // A frame longer than half a block would be alone in it, and waste the rest.
    const wanted = 2 * length > size ? length : size;
    const isFit = this.#spare.length === wanted;
    this.#block = isFit ? this.#spare : Buffer.allocUnsafeSlow(wanted);
    this.#spare = noBlock;
    this.#blockUsed = 0;
  }

  #evict(now: number): void {
    while (!this.isEmpty) {
      const isTooMuch = this.#isTooMuch(this.#events.length, this.#bytes);
      if (!isTooMuch && now - this.#events.atOf(0) <= this.limits.replayAgeMs) return;
      this.dropOldest();
    }
  }

  /** Keeps the newest event whatever its size: no reader has seen it yet. */
  #isTooMuch(count: number, bytes: number): boolean {
    const { replayEventsMax, replayBytesPerUser } = this.limits;
    return count > replayEventsMax || (bytes > replayBytesPerUser && count > 1);
  }

  dropOldest(): void {
    const events = this.#events;
    if (events.length === 0) return;
    const source = events.sourceOf(0);
    const size = events.sizeOf(0);
    const block = events.blockOf(0);
    // A user may have had any number of sources within the life of the process.
    if (this.#evicted.size >= this.limits.replayEventsMax && !this.#evicted.has(source)) {
      this.#evicted.clear();
      this.#evictedOfAny = this.#oldestSeq;
    }
    this.#evicted.set(source, this.#oldestSeq);
    events.shift();
    if (this.isEmpty) this.#block = this.#spare = noBlock;
    else if (events.blockOf(0) !== block) this.#spare = block;
    this.#resize(-size);
  }

  #resize(change: number): void {
    this.#bytes += change;
    this.memory.resized(this, this.#bytes - change, this.#bytes);
  }
}

const noBlock = new Uint8Array(0);

/** @returns the frames of the taken events, `size` bytes in all; not copied if they are one piece. */
function joined(
  events: HeldEvents,
  taken: readonly number[],
  size: number,
  isOnePiece: boolean,
): Uint8Array {
  const [first] = taken;
  if (first === undefined) return noBlock;
  if (isOnePiece) return events.bytesOf(first, size);
  return Buffer.concat(
    taken.map((index) => events.bytesOf(index)),
    size,
  );
}
