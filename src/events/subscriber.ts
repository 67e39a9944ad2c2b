/**
 * One reader of one source's events. It keeps no events: it knows up to which it has handed on and
 * takes the next from the user's ring, so that replay and live are one sequence without a seam, and
 * a reader that does not read costs no memory. It is closed, never skipped over.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { EventWriter } from './event-writer.js';
import type { EventRing } from './ring.js';

/** Where the events go. */
export type EventSink = Pick<EventWriter, 'isBlocked' | 'isClosed' | 'write' | 'abort'>;

export interface SubscriberDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ring: EventRing;
}

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
    let remaining: number;
    do {
      const slice = ring.next(this.#position, this.source, clock.monotonic());
      if (slice === undefined) return sink.abort();
      remaining = slice.remaining;
      if (slice.bytes.length > 0) sink.write(slice.bytes);
      this.#position = slice.lastSeq;
    } while (remaining > 0 && !sink.isBlocked() && !sink.isClosed());
    this.pending = Math.min(this.pending, remaining);
  }
}
