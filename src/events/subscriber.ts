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

/** Runs the step in later turns of the event loop, until it returns true or the stream is closed. */
export type TakeTurns = (step: () => boolean) => void;

/** Slices of a replay that are written at once. */
export const slicesPerPump = 4;

export interface SubscriberDeps {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ring: EventRing;
}

export class Subscriber {
  /** Live events that were not written yet. */
  pending = 0;
  sink: EventSink | undefined;
  /** Replay of the whole ring buffer takes milliseconds, and a user may open a hundred streams in a second. */
  takeTurns: TakeTurns | undefined;
  /** While it has turns, `now` of the pump that they continue. */
  #pumpedAt: number | undefined;
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
   * Writes until the sink applies backpressure or no events remain; many events in turns.
   * @param now monotonic ms; events that were not too old then are read.
   */
  pump(now = this.#deps.clock.monotonic()): void {
    const { sink } = this;
    if (sink === undefined || sink.isClosed()) return;
    if (sink.isBlocked()) {
      if (this.pending > this.#deps.limits.subscriberPendingEventsMax) sink.abort();
      return;
    }
    let slices = 0;
    let remaining: number;
    do {
      if (this.#pumpedAt !== undefined) return;
      remaining = this.#writeSlice(sink, now);
      if (remaining === 0) return;
      // Live events are written now: the ring buffer may not hold all that a turn brings.
    } while (++slices < slicesPerPump || remaining <= this.pending);
    this.#pumpedAt = now;
    this.takeTurns?.(() => {
      if (this.#writeSlice(sink, now) > 0) return false;
      this.#pumpedAt = undefined;
      return true;
    });
  }

  /** Before an event of the user enters the ring buffer: what it would evict does not wait for a turn. */
  stayAhead(frameBytes: number): void {
    const { sink } = this;
    if (sink === undefined || this.#pumpedAt === undefined) return;
    while (this.#deps.ring.wouldEvictAfter(this.#position, frameBytes)) {
      if (this.#writeSlice(sink, this.#pumpedAt) === 0) return;
    }
  }

  /** @returns how many events may follow at once. */
  #writeSlice(sink: EventSink, now: number): number {
    // Between two turns a keep-alive comment may have found the socket full.
    if (sink.isBlocked() || sink.isClosed()) return 0;
    const slice = this.#deps.ring.next(this.#position, this.source, now);
    if (slice === undefined) {
      sink.abort();
      return 0;
    }
    if (slice.bytes.length > 0) sink.write(slice.bytes);
    this.#position = slice.lastSeq;
    this.pending = Math.min(this.pending, slice.remaining);
    return slice.remaining;
  }
}
