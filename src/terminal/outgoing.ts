/**
 * Everything that goes to the gateway with a `seq`: reports, which the journal keeps until they are
 * acknowledged, and events, which only memory keeps and only within bounds. A `seq` is given when
 * the gateway can be reached, so that it is always above what the gateway has seen; what was sent
 * once keeps its `seq` for good.
 */
import type { Clock } from '../lib/clock.js';
import { limits } from '../limits.js';
import type { PluginFrameOf } from '../plugins/protocol.js';
import type { Journal, ReportFrame } from './journal.js';

export type NumberedFrame = PluginFrameOf<'report' | 'cancel_report' | 'event'>;
export type EventFrame = Omit<PluginFrameOf<'event'>, 'seq'>;

/** How much of the events that come while the gateway cannot be reached is kept for it. */
export interface OutgoingQueue {
  readonly eventsMax: number;
  readonly ageMs: number;
}

interface Item {
  readonly frame: ReportFrame | EventFrame;
  /** Set for a report: its name in the journal. */
  readonly reportId: number | undefined;
  seq: number | undefined;
  /** Monotonic milliseconds. */
  readonly bornAt: number;
}

export const dropReasons = ['queue_full', 'too_old'] as const;
export type DropReason = (typeof dropReasons)[number];

export interface OutgoingDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  /** Undefined: events that come while the gateway cannot be reached are lost. */
  readonly queue: OutgoingQueue | undefined;
  /** Makes the event that tells the gateway's users of a gap. */
  readonly dropNotice: (dropped: number, reason: DropReason) => EventFrame;
}

export class Outgoing {
  readonly #deps: OutgoingDeps;
  readonly #eventsMax: number;
  /** In order; those with a `seq` come first. */
  #items: Item[];
  #unsent: Item[] = [];
  #eventCount = 0;
  #seq: number;
  #isOpen = false;
  readonly #dropped: Record<DropReason, number> = { queue_full: 0, too_old: 0 };

  constructor(deps: OutgoingDeps) {
    this.#deps = deps;
    this.#eventsMax = deps.queue?.eventsMax ?? limits.outgoingQueueEventsMax.value;
    this.#seq = deps.journal.seq;
    const bornAt = deps.clock.monotonic();
    this.#items = deps.journal
      .unacknowledged()
      .map(({ id, seq, frame }) => ({ frame, reportId: id, seq, bornAt }));
  }

  /** The gateway has said welcome: numbers what has no `seq` yet, and sends all of it again. */
  open(lastSeq: number): void {
    this.acknowledge(lastSeq);
    this.#dropOld();
    this.#tellDropped();
    this.#isOpen = true;
    for (const item of this.#items) this.#number(item);
    this.#unsent = [...this.#items];
  }

  close(): void {
    this.#isOpen = false;
    this.#unsent = [];
  }

  addReport(frame: ReportFrame): void {
    const seq = this.#isOpen ? ++this.#seq : undefined;
    const reportId = this.#deps.journal.noteReport(frame, seq);
    this.#add({ frame, reportId, seq, bornAt: this.#deps.clock.monotonic() });
  }

  /** @returns false when it was not kept, because nobody is there to hear it. */
  addEvent(frame: EventFrame): boolean {
    if (!this.#isOpen && this.#deps.queue === undefined) return false;
    const seq = this.#isOpen ? ++this.#seq : undefined;
    this.#add({ frame, reportId: undefined, seq, bornAt: this.#deps.clock.monotonic() });
    this.#eventCount++;
    while (this.#eventCount > this.#eventsMax) {
      this.#drop(this.#items.findIndex(isEvent), 'queue_full');
    }
    return true;
  }

  /** What is to be sent now, in order. */
  takeUnsent(): NumberedFrame[] {
    const frames = this.#unsent.map(({ frame, seq }) => ({ ...frame, seq }) as NumberedFrame);
    this.#unsent = [];
    return frames;
  }

  /** The gateway has all up to `seq`. */
  acknowledge(seq: number): void {
    this.#seq = Math.max(this.#seq, seq);
    const kept = this.#items.findIndex((item) => item.seq === undefined || item.seq > seq);
    const gone = this.#items.splice(0, kept === -1 ? this.#items.length : kept);
    this.#eventCount -= gone.filter(isEvent).length;
    if (gone.some(({ reportId }) => reportId !== undefined)) {
      this.#deps.journal.noteAcknowledged(seq);
    }
  }

  /** Reports of one execution that the gateway may not have yet. */
  reportsOf(executionId: string): Extract<ReportFrame, { type: 'report' }>[] {
    return this.#items.flatMap(({ frame }) =>
      frame.type === 'report' && frame.executionId === executionId ? [frame] : [],
    );
  }

  #add(item: Item): void {
    this.#items.push(item);
    if (this.#isOpen) this.#unsent.push(item);
  }

  #number(item: Item): void {
    if (item.seq !== undefined) return;
    item.seq = ++this.#seq;
    if (item.reportId !== undefined) this.#deps.journal.noteNumber(item.reportId, item.seq);
  }

  #dropOld(): void {
    const { clock, queue } = this.#deps;
    if (queue === undefined) return;
    const oldest = clock.monotonic() - queue.ageMs;
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at] as Item;
      if (isEvent(item) && item.bornAt < oldest) this.#drop(at, 'too_old');
    }
  }

  #drop(index: number, reason: DropReason): void {
    this.#items.splice(index, 1);
    this.#eventCount--;
    // What leaves while the gateway listens was sent, or is about to be: only its repeat is lost.
    if (!this.#isOpen) this.#dropped[reason]++;
  }

  /** The notice stands where the gap is: after what was sent before it, ahead of what is left. */
  #tellDropped(): void {
    const { clock, dropNotice } = this.#deps;
    const firstNew = this.#items.findIndex(({ seq }) => seq === undefined);
    const notices = dropReasons.flatMap((reason): Item[] => {
      const count = this.#dropped[reason];
      if (count === 0) return [];
      this.#dropped[reason] = 0;
      const frame = dropNotice(count, reason);
      return [{ frame, reportId: undefined, seq: undefined, bornAt: clock.monotonic() }];
    });
    this.#eventCount += notices.length;
    this.#items.splice(firstNew === -1 ? this.#items.length : firstNew, 0, ...notices);
  }
}

function isEvent({ reportId }: Item): boolean {
  return reportId === undefined;
}
