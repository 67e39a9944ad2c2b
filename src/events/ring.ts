/**
 * What one user's streams can be given again: the latest events, up to a number and an age. Lost
 * with the process; the epoch in every cursor tells a client so.
 */
import type { Limits } from '../limits.js';

export interface PublishedEvent {
  /** Counts a user's events from 1. */
  readonly seq: number;
  /** Monotonic ms of its publication. */
  readonly at: number;
  /** Key of the source that it belongs to. */
  readonly source: string;
  /** The whole SSE frame; as bytes, which the garbage collector need not copy while they wait here. */
  readonly frame: Uint8Array;
}

/** What a reader gets next: whole SSE frames of one source. */
export interface EventSlice {
  readonly bytes: Uint8Array;
  /** `seq` of its last event. */
  readonly lastSeq: number;
  /** Events of the source behind it. */
  readonly remaining: number;
}

/** Bytes after which a slice ends: what a reader may have to hold when its socket blocks. */
const sliceBytesMax = 64 * 1024;

export class EventRing {
  #events: PublishedEvent[] = [];
  /** The slice made last, for readers that stand at the same place: most of a user's do. */
  #latest: { after: number; source: string; upTo: number; slice: EventSlice } | undefined;
  /** Events before this place have left the ring. */
  #first = 0;
  #lastSeq = 0;
  /** Source → `seq` of the latest of its events that has left the ring. */
  readonly #lost = new Map<string, number>();

  constructor(readonly limits: Pick<Limits, 'replayEventsMax' | 'replayAgeMs'>) {}

  get lastSeq(): number {
    return this.#lastSeq;
  }

  push(event: PublishedEvent): void {
    this.#lastSeq = event.seq;
    this.#events.push(event);
    this.#dropOld(event.at);
  }

  get isEmpty(): boolean {
    return this.#first === this.#events.length;
  }

  /** Forgets what is too old, for a user of whom nothing new comes and whom nobody reads. */
  age(now: number): void {
    this.#dropOld(now);
    if (this.isEmpty) this.#latest = undefined;
  }

  /** Whether every event of `source` after `seq` is still here. `now`: monotonic ms. */
  reaches(seq: number, source: string, now: number): boolean {
    this.#dropOld(now);
    return seq <= this.#lastSeq && seq >= (this.#lost.get(source) ?? 0);
  }

  /** @returns the next events of `source` after `seq`, or undefined when one of them is gone. */
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

  #dropOld(now: number): void {
    const { replayEventsMax, replayAgeMs } = this.limits;
    for (;;) {
      const oldest = this.#events[this.#first];
      if (oldest === undefined) break;
      const isKept = this.#events.length - this.#first <= replayEventsMax;
      if (isKept && now - oldest.at <= replayAgeMs) break;
      this.#lost.set(oldest.source, oldest.seq);
      this.#first++;
    }
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }
}
