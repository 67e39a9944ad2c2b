/**
 * Holds the latest events of one user for replay: a ring buffer, bounded by count, bytes and age. Ends with the
 * process; a client detects that by the epoch in its cursor.
 */
import type { Limits } from '../limits.js';
import { ReplayMemory, type EventSlice, type Held } from './replay-memory.js';

export interface PublishedEvent {
  /** Counts a user's events from 1. */
  readonly seq: number;
  /** Monotonic ms of its publication. */
  readonly at: number;
  /** Key of its source. */
  readonly source: string;
  /** The whole SSE frame as bytes outside V8's heap, which the garbage collector does not copy. */
  readonly frame: Uint8Array;
}

/** Size after which a slice ends: bounds the bytes that a writer buffers when its socket blocks. */
const sliceBytesMax = 64 * 1024;

export class EventRing implements Held {
  #events: PublishedEvent[] = [];
  /** Of the frames that it holds. */
  #bytes = 0;
  /** Index of the oldest event; those before it are evicted. */
  #first = 0;
  #lastSeq = 0;
  /** Source → `seq` of its latest evicted event. */
  readonly #evicted = new Map<string, number>();
  /** The same for sources that are no longer in the map. */
  #evictedOfAny = 0;

  constructor(
    readonly limits: Pick<Limits, 'replayEventsMax' | 'replayAgeMs' | 'replayBytesPerUser'>,
    /** Tells this memory from that of an earlier process, and of a user who was deleted and has come back. */
    readonly epoch: string,
    readonly memory: ReplayMemory = new ReplayMemory(Infinity),
  ) {}

  get lastSeq(): number {
    return this.#lastSeq;
  }

  push(event: PublishedEvent): void {
    this.#lastSeq = event.seq;
    this.#events.push(event);
    this.#resize(event.frame.length);
    this.#evict(event.at);
    this.memory.trim();
  }

  get isEmpty(): boolean {
    return this.#first === this.#events.length;
  }

  /** Evicts old events of a user without new events and without readers. */
  age(now: number): void {
    this.#evict(now);
    if (this.isEmpty && this.memory.latest?.ring === this) this.memory.latest = undefined;
  }

  /** Drops everything, for a user that is deleted. */
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
    const events = this.#after(seq, source);
    const frames: Uint8Array[] = [];
    let size = 0;
    for (const { frame } of events) {
      if (size >= sliceBytesMax) break;
      frames.push(frame);
      size += frame.length;
    }
    const slice = {
      bytes: Buffer.concat(frames, size),
      lastSeq: events[frames.length - 1]?.seq ?? seq,
      remaining: events.length - frames.length,
    };
    this.memory.latest = { ring: this, after: seq, source, upTo: this.#lastSeq, slice };
    return slice;
  }

  #after(seq: number, source: string): PublishedEvent[] {
    const kept = this.#events.length - this.#first;
    const oldest = this.#lastSeq - kept + 1;
    return this.#events
      .slice(this.#first + Math.max(0, seq - oldest + 1))
      .filter((event) => event.source === source);
  }

  #evict(now: number): void {
    const { replayEventsMax, replayAgeMs, replayBytesPerUser } = this.limits;
    for (;;) {
      const oldest = this.#events[this.#first];
      if (oldest === undefined) return;
      const count = this.#events.length - this.#first;
      // The newest is kept whatever its size: its readers have not seen it yet.
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
    this.#first++;
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    this.#resize(-oldest.frame.length);
  }

  #resize(change: number): void {
    this.#bytes += change;
    this.memory.resized(this, this.#bytes - change, this.#bytes);
  }
}
