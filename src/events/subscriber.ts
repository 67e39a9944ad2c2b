/**
 * Delivers the events of one source to one stream. Holds a position rather than events, and reads the next
 * events from the user's ring buffer: so replay and live events are one sequence, and a slow reader needs no
 * memory. A reader that falls behind the ring buffer is disconnected; it never skips events.
 */
import type { Clock } from '../lib/clock.js';
import type { Limits } from '../limits.js';
import type { EventWriter } from './event-writer.js';
import type { EventRing } from './ring.js';

export type EventSink = Pick<EventWriter, 'isBlocked' | 'isClosed' | 'write' | 'abort'>;

export interface SubscriberDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ring: EventRing;
}

export class Subscriber {
  /** Live events that were not written yet. */
  pending = 0;
  sink: EventSink | undefined;
  readonly #deps: SubscriberDeps;
  /** `seq` of the last event written to the sink. */
  #position: number;

  constructor(
    readonly source: string,
    position: number,
    deps: SubscriberDeps,
  ) {
    this.#position = position;
    this.#deps = deps;
  }

  /**
   * Writes until the sink applies backpressure or no events remain.
   * @param now monotonic ms; events that were not too old then are read.
   */
  pump(now = this.#deps.clock.monotonic()): void {
    const { sink } = this;
    if (sink === undefined || sink.isClosed()) return;
    if (sink.isBlocked()) {
      if (this.pending > this.#deps.limits.subscriberPendingEventsMax) sink.abort();
      return;
    }
    const { ring } = this.#deps;
    let remaining: number;
    do {
      const slice = ring.next(this.#position, this.source, now);
      if (slice === undefined) return sink.abort();
      remaining = slice.remaining;
      if (slice.bytes.length > 0) sink.write(slice.bytes);
      this.#position = slice.lastSeq;
    } while (remaining > 0 && !sink.isBlocked() && !sink.isClosed());
    this.pending = Math.min(this.pending, remaining);
  }
}
