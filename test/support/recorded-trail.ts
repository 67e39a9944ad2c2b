/** Keeps what is noted, in its order. */
import type { TrailLog, TrailEvent, TrailFields } from '../../src/model/trail-events.js';

export class RecordedTrail implements TrailLog {
  readonly lines: ({ readonly event: TrailEvent } & Readonly<Record<string, unknown>>)[] = [];

  note<E extends TrailEvent>(event: E, fields: TrailFields<E> | (() => TrailFields<E>)): void {
    this.lines.push({ event, ...(typeof fields === 'function' ? fields() : fields) });
  }

  /** The lines of one event. */
  of(event: TrailEvent): readonly Readonly<Record<string, unknown>>[] {
    return this.lines.filter((line) => line.event === event);
  }
}
