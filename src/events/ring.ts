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
  /** The whole SSE frame, encoded once for the ring and every stream. */
  readonly frame: string;
}

export class EventRing {
  #events: PublishedEvent[] = [];
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

  /** @returns the events of `source` after `seq`, or undefined when one of them is gone. */
  after(seq: number, source: string, now: number): PublishedEvent[] | undefined {
    this.#dropOld(now);
    if (seq > this.#lastSeq || seq < (this.#lost.get(source) ?? 0)) return undefined;
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
