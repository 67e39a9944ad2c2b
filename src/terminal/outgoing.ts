/**
 * The queue of frames with a `seq`: reports, which the journal keeps until they are acknowledged, and events,
 * which are held in memory within bounds. Assigns a `seq` only while connected, so that it is always above
 * the gateway's `lastSeq`; a frame that was sent once keeps its `seq`.
 */
import type { Clock } from '../lib/clock.js';
import { limits } from '../limits.js';
import type { NumberedFrame, PluginFrameOf } from '../plugins/protocol.js';
import type { Journal } from './journal.js';
import type { ReportFrame } from './journal-state.js';

export type EventFrame = Omit<PluginFrameOf<'event'>, 'seq'>;

/** Bounds of the queue of events while disconnected; the gateway's own, from its welcome, replace them. */
export interface OutgoingQueue {
  readonly eventsMax: number;
  readonly ageMs: number;
}

export const defaultQueue: OutgoingQueue = {
  eventsMax: limits.outgoingQueueEventsMax.value,
  ageMs: limits.outgoingQueueAgeMs.value,
};

interface Item {
  readonly frame: ReportFrame | EventFrame;
  /** Set for a report: its id in the journal. */
  readonly reportId: number | undefined;
  seq: number | undefined;
  /** Monotonic milliseconds. */
  readonly createdAt: number;
  /** Set for a notice of dropped events: the loss that it reports. */
  readonly tells?: Loss;
}

interface Loss {
  readonly count: number;
  readonly reason: DropReason;
}

const dropReasons = ['queue_full', 'too_old'] as const;
export type DropReason = (typeof dropReasons)[number];

export interface OutgoingDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  /** Undefined: events are dropped while disconnected. */
  readonly queue: OutgoingQueue | undefined;
  /** Creates the event that reports dropped events. */
  readonly dropNotice: (dropped: number, reason: DropReason) => EventFrame;
}

export class Outgoing {
  readonly #deps: OutgoingDeps;
  #bounds: OutgoingQueue;
  /** In order; those with a `seq` come first. */
  #items: Item[];
  #unsent: Item[] = [];
  #eventCount = 0;
  #seq: number;
  #isOpen = false;
  /** Events that are known not to be delivered. */
  readonly #dropped: Record<DropReason, number> = { queue_full: 0, too_old: 0 };
  /** Events dropped after they were sent: the next acknowledgement or welcome tells whether they were delivered. */
  #unsure: (Loss & { readonly seq: number })[] = [];

  constructor(deps: OutgoingDeps) {
    this.#deps = deps;
    this.#bounds = deps.queue ?? defaultQueue;
    this.#seq = deps.journal.seq;
    const createdAt = deps.clock.monotonic();
    this.#items = deps.journal
      .unacknowledged()
      .map(({ id, seq, frame }) => ({ frame, reportId: id, seq, createdAt }));
  }

  /**
   * After a welcome: assigns missing `seq`s and queues all frames for redelivery. `bounds`: the gateway's own
   * for the queue.
   */
  open(lastSeq: number, bounds: OutgoingQueue = this.#bounds): void {
    this.#bounds = bounds;
    this.#seq = Math.max(this.#seq, lastSeq);
    this.acknowledge(lastSeq);
    for (const { count, reason } of this.#unsure.splice(0)) this.#dropped[reason] += count;
    this.#dropOld();
    this.#insertDropNotices();
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
    this.#add({ frame, reportId, seq, createdAt: this.#deps.clock.monotonic() });
  }

  /** @returns false when the event was dropped, because there is no connection and no queue. */
  addEvent(frame: EventFrame): boolean {
    if (!this.#isOpen && this.#deps.queue === undefined) return false;
    const seq = this.#isOpen ? ++this.#seq : undefined;
    this.#add({ frame, reportId: undefined, seq, createdAt: this.#deps.clock.monotonic() });
    this.#eventCount++;
    while (this.#eventCount > this.#bounds.eventsMax) {
      this.#drop(this.#items.findIndex(isEvent), 'queue_full');
    }
    return true;
  }

  /** @returns the frames to send now, in order; none while disconnected. */
  takeUnsent(): NumberedFrame[] {
    const frames = this.#unsent.map(({ frame, seq }) => ({ ...frame, seq }) as NumberedFrame);
    this.#unsent = [];
    return frames;
  }

  /**
   * The gateway has acknowledged everything up to `seq`. Ignores a `seq` that was never sent: reports would be
   * lost, and the gateway would take no later `seq`.
   */
  acknowledge(seq: number): void {
    if (seq > this.#seq) return;
    if (this.#unsure.length > 0) this.#unsure = this.#unsure.filter((loss) => loss.seq > seq);
    const kept = this.#items.findIndex((item) => item.seq === undefined || item.seq > seq);
    const gone = this.#items.splice(0, kept === -1 ? this.#items.length : kept);
    this.#eventCount -= gone.filter(isEvent).length;
    if (gone.some(({ reportId }) => reportId !== undefined)) {
      this.#deps.journal.noteAcknowledged(seq);
    }
  }

  /** @returns the executions of the unacknowledged reports. */
  reported(): ReadonlySet<string> {
    return new Set(
      this.#items.flatMap(({ frame }) => (frame.type === 'report' ? [frame.executionId] : [])),
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
    const oldest = clock.monotonic() - this.#bounds.ageMs;
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at] as Item;
      if (isEvent(item) && item.createdAt < oldest) this.#drop(at, 'too_old', true);
    }
  }

  /** `isLost`: the gateway is known not to have it. */
  #drop(index: number, reason: DropReason, isLost = false): void {
    const [item] = this.#items.splice(index, 1);
    this.#eventCount--;
    const loss = item?.tells ?? { count: 1, reason };
    // An event with a `seq` was sent, or is about to be; if the connection is dead, the next welcome tells.
    if (isLost || item?.seq === undefined) this.#dropped[loss.reason] += loss.count;
    else this.#unsure.push({ ...loss, seq: item.seq });
  }

  /** Inserts the notices at the gap: after the frames that were sent before it, before the remaining ones. */
  #insertDropNotices(): void {
    const { clock, dropNotice } = this.#deps;
    const firstNew = this.#items.findIndex(({ seq }) => seq === undefined);
    const notices = dropReasons.flatMap((reason): Item[] => {
      const count = this.#dropped[reason];
      if (count === 0) return [];
      this.#dropped[reason] = 0;
      const frame = dropNotice(count, reason);
      const tells = { count, reason };
      return [{ frame, reportId: undefined, seq: undefined, createdAt: clock.monotonic(), tells }];
    });
    this.#eventCount += notices.length;
    this.#items.splice(firstNew === -1 ? this.#items.length : firstNew, 0, ...notices);
  }
}

function isEvent({ reportId }: Item): boolean {
  return reportId === undefined;
}
