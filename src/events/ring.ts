/**
 * Holds the latest events of one user for replay: a ring buffer, bounded by count and age. Ends with the
 * process; a client detects that by the epoch in its cursor.
 */
import type { Limits } from '../limits.js';

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

/** The next chunk for a reader: whole SSE frames of one source. */
export interface EventSlice {
  readonly bytes: Uint8Array;
  /** `seq` of its last event. */
  readonly lastSeq: number;
  /** Events of the source after this slice. */
  readonly remaining: number;
}

/** Size after which a slice ends: bounds the bytes that a writer buffers when its socket blocks. */
const sliceBytesMax = 64 * 1024;

export class EventRing {
  #events: PublishedEvent[] = [];
  /** Cache of the last slice: most readers of a user are at the same position. */
  #latest: { after: number; source: string; upTo: number; slice: EventSlice } | undefined;
  /** Index of the oldest event; those before it are evicted. */
  #first = 0;
  #lastSeq = 0;
  /** Source → `seq` of its latest evicted event. */
  readonly #evicted = new Map<string, number>();

  constructor(readonly limits: Pick<Limits, 'replayEventsMax' | 'replayAgeMs'>) {}

  get lastSeq(): number {
    return this.#lastSeq;
  }

  push(event: PublishedEvent): void {
    this.#lastSeq = event.seq;
    this.#events.push(event);
    this.#evict(event.at);
  }

  get isEmpty(): boolean {
    return this.#first === this.#events.length;
  }

  /** Evicts old events of a user without new events and without readers. */
  age(now: number): void {
    this.#evict(now);
    if (this.isEmpty) this.#latest = undefined;
  }

  /** Whether the ring still holds every event of `source` after `seq`. `now`: monotonic ms. */
  reaches(seq: number, source: string, now: number): boolean {
    this.#evict(now);
    return seq <= this.#lastSeq && seq >= (this.#evicted.get(source) ?? 0);
  }

  /** @returns the next events of `source` after `seq`; undefined if one of them was evicted. */
  next(seq: number, source: string, now: number): EventSlice | undefined {
    if (!this.reaches(seq, source, now)) return undefined;
    const latest = this.#latest;
    if (latest?.after === seq && latest.source === source && latest.upTo === this.#lastSeq) {
      return latest.slice;
    }
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
    this.#latest = { after: seq, source, upTo: this.#lastSeq, slice };
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
    const { replayEventsMax, replayAgeMs } = this.limits;
    for (;;) {
      const oldest = this.#events[this.#first];
      if (oldest === undefined) break;
      const isKept = this.#events.length - this.#first <= replayEventsMax;
      if (isKept && now - oldest.at <= replayAgeMs) break;
      this.#evicted.set(oldest.source, oldest.seq);
      this.#first++;
    }
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }
}
