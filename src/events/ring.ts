/**
 * Holds the latest events of one user for replay: a ring buffer, bounded by count, bytes and age. Ends with the
 * process; a client detects that by the epoch in its cursor.
 */
import type { Limits } from '../limits.js';
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

interface HeldEvent extends Omit<PublishedEvent, 'frame'> {
  /** Holds the event's frame from `begin` to `end`, and the frames of the user's events around it. */
  readonly block: Uint8Array;
  readonly begin: number;
  readonly end: number;
}

/** Size after which a slice ends: bounds the bytes that a writer buffers when its socket blocks. */
const sliceBytesMax = 64 * 1024;
/** Size after which it ends where its events no longer lie side by side: a copy is garbage to be collected. */
const pieceBytesMin = 16 * 1024;
/** A block is a quarter of what the ring buffer holds, so that all blocks are hardly larger than that. */
const blockBytesMin = 1_024;
const blockBytesMax = 64 * 1024;

export class EventRing implements Held {
  #events: (HeldEvent | undefined)[] = [];
  /** The newest block. The garbage collector copies no block, unlike texts. */
  #block = noBlock;
  #blockUsed = 0;
  /** Bytes of all frames in the ring buffer. */
  #bytes = 0;
  /** Index of the oldest event; those before it are evicted and undefined. */
  #first = 0;
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
    this.#events.push({ seq, at, source, block: this.#block, begin, end });
    this.#lastSeq = seq;
    this.#resize(length);
    this.#evict(at);
  }

  get isEmpty(): boolean {
    return this.#first === this.#events.length;
  }

  /** Evicts old events, also when the user has no new events and no readers. */
  age(now: number): void {
    this.#evict(now);
    if (this.isEmpty && this.memory.latest?.ring === this) this.memory.latest = undefined;
  }

  /** Drops all events, for a deleted user. */
  clear(): void {
    while (!this.isEmpty) this.dropOldest();
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
    const events: HeldEvent[] = [];
    let size = 0;
    let remaining = 0;
    let isOnePiece = true;
    for (let index = this.#indexAfter(seq); index < this.#events.length; index++) {
      const event = this.#events[index] as HeldEvent;
      if (event.source !== source) continue;
      const last = events.at(-1);
      const isBeside = last === undefined || isNextTo(last, event);
      const isPieceEnd = isOnePiece && !isBeside && size >= pieceBytesMin;
      if (remaining > 0 || size >= sliceBytesMax || isPieceEnd) {
        remaining++;
      } else {
        events.push(event);
        size += event.end - event.begin;
        isOnePiece &&= isBeside;
      }
    }
    const slice = {
      bytes: joined(events, size, isOnePiece),
      lastSeq: events.at(-1)?.seq ?? seq,
      remaining,
    };
    this.memory.latest = { ring: this, after: seq, source, upTo: this.#lastSeq, slice };
    return slice;
  }

  /** Whether a further frame of this length would evict an event after `seq`. */
  wouldEvictAfter(seq: number, length: number): boolean {
    const { replayEventsMax, replayBytesPerUser } = this.limits;
    let events = this.#events.length - this.#first + 1 - replayEventsMax;
    let bytes = this.#bytes + length - replayBytesPerUser;
    for (let index = this.#first; events > 0 || bytes > 0; index++) {
      const event = this.#events[index];
      if (event === undefined) return false;
      if (event.seq > seq) return true;
      events--;
      bytes -= event.end - event.begin;
    }
    return false;
  }

  #indexAfter(seq: number): number {
    const oldest = this.#lastSeq - (this.#events.length - this.#first) + 1;
    return this.#first + Math.max(0, seq - oldest + 1);
  }

  #renewBlock(length: number): void {
    const size = Math.ceil(Math.min(Math.max(this.#bytes / 4, blockBytesMin), blockBytesMax));
    // A frame longer than half a block would be alone in it, and waste the rest.
    this.#block = Buffer.allocUnsafeSlow(2 * length > size ? length : size);
    this.#blockUsed = 0;
  }

  #evict(now: number): void {
    const { replayEventsMax, replayAgeMs, replayBytesPerUser } = this.limits;
    for (;;) {
      const oldest = this.#events[this.#first];
      if (oldest === undefined) return;
      const count = this.#events.length - this.#first;
      // Keeps the newest event whatever its size: no reader has seen it yet.
      const isWithin =
        count <= replayEventsMax && (this.#bytes <= replayBytesPerUser || count === 1);
      if (isWithin && now - oldest.at <= replayAgeMs) return;
      this.dropOldest();
    }
  }

  dropOldest(): void {
    const oldest = this.#events[this.#first];
    if (oldest === undefined) return;
    // A user may have had any number of sources within the life of the process.
    if (this.#evicted.size >= this.limits.replayEventsMax && !this.#evicted.has(oldest.source)) {
      this.#evicted.clear();
      this.#evictedOfAny = oldest.seq;
    }
    this.#evicted.set(oldest.source, oldest.seq);
    this.#events[this.#first++] = undefined;
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    if (this.isEmpty) this.#block = noBlock;
    this.#resize(oldest.begin - oldest.end);
  }

  #resize(change: number): void {
    this.#bytes += change;
    this.memory.resized(this, this.#bytes - change, this.#bytes);
  }
}

const noBlock = new Uint8Array(0);

function isNextTo(before: HeldEvent, event: HeldEvent): boolean {
  return event.block === before.block && event.begin === before.end;
}

/** @returns the frames of the events, `size` bytes in all; not copied if they are one piece. */
function joined(events: readonly HeldEvent[], size: number, isOnePiece: boolean): Uint8Array {
  const [first] = events;
  if (first === undefined) return noBlock;
  if (isOnePiece) return first.block.subarray(first.begin, first.begin + size);
  return Buffer.concat(
    events.map(({ block, begin, end }) => block.subarray(begin, end)),
    size,
  );
}
