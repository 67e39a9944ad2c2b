/**
 * One reader of one source's events. It keeps no events: it knows up to which it has handed on and
 * takes the next from the user's ring, so that replay and live are one sequence without a seam, and
 * a reader that does not read costs no memory. It is closed, never skipped over.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { EventRing, PublishedEvent } from './ring.js';

/** Where the events go. */
export interface EventSink {
  /** While true nothing may be written. */
  isBlocked(): boolean;
  isClosed(): boolean;
  write(text: string): void;
  /** Breaks the connection; the reader resumes with its cursor. */
  abort(): void;
}

export interface SubscriberDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ring: EventRing;
}

/** Characters handed to the sink at a time: what it may have to hold when the socket blocks. */
const writeLengthMax = 64 * 1024;

export class Subscriber {
  /** Live events that were not handed on yet. */
  pending = 0;
  sink: EventSink | undefined;
  readonly #deps: SubscriberDeps;
  /** `seq` of the last event handed to the sink. */
  #position: number;

  constructor(
    readonly source: string,
    position: number,
    deps: SubscriberDeps,
  ) {
    this.#position = position;
    this.#deps = deps;
  }

  /** Hands on all that the sink takes. */
  pump(): void {
    const { sink } = this;
    if (sink === undefined || sink.isClosed()) return;
    if (sink.isBlocked()) {
      if (this.pending > this.#deps.limits.subscriberPendingEventsMax) sink.abort();
      return;
    }
    const { ring, clock } = this.#deps;
    const events = ring.after(this.#position, this.source, clock.monotonic());
    if (events === undefined) return sink.abort();
    let next = 0;
    while (next < events.length && !sink.isBlocked() && !sink.isClosed()) {
      let text = '';
      for (; next < events.length && text.length < writeLengthMax; next++) {
        const event = events[next] as PublishedEvent;
        text += event.frame;
        this.#position = event.seq;
      }
      sink.write(text);
    }
    this.pending = Math.min(this.pending, events.length - next);
  }
}
