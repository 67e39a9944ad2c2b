/**
 * What terminals say: acknowledgements, reports of executions and cancels, events. Each `seq` of a
 * source takes effect once; its acknowledgement leaves when the effect is on disk. Evidence for an
 * execution is taken only from the source that it was sent to.
 */
import { toIsoTime, type Clock } from '../lib/clock.js';
import { executionIdFrom, executionIdFromCancel } from '../lib/ids.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import type { EventHub } from '../events/hub.js';
import { moveCancel } from '../model/cancellation.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ExecutionBook } from '../signals/execution-book.js';
import {
  applyReport,
  mayMove,
  type Execution,
  type ExecutionReport,
  type Fill,
  type NativeState,
} from '../model/execution.js';
import type { WriteQueue } from '../store/write-queue.js';
import type { Connection } from './connection.js';
import type { Evidence, FrameErrorCode, PluginFrame, PluginFrameOf } from './protocol.js';
import type { Registry, Source } from './registry.js';

export interface FrameHandlerDeps {
  readonly clock: Clock;
  readonly book: ExecutionBook;
  readonly registry: Registry;
  readonly hub: EventHub;
  readonly writer: WriteQueue;
  readonly reportsIgnored: Counter;
  readonly fillsDuplicate: Counter;
  /** Dispatch to first report, in seconds. */
  readonly confirmLatency: Histogram;
}

type Frame = Exclude<PluginFrame, { type: 'hello' }>;
type NumberedFrame = Extract<Frame, { seq: number }>;

export class FrameHandler {
  readonly #deps: FrameHandlerDeps;

  constructor(deps: FrameHandlerDeps) {
    this.#deps = deps;
  }

  /** @returns why the frame is refused, if it is. */
  take(connection: Connection, source: Source, frame: Frame): FrameErrorCode | undefined {
    this.#deps.registry.touch(source);
    if (frame.type === 'heartbeat') return undefined;
    if (frame.type === 'ack') return this.#acknowledged(source, frame);
    return this.#takeOnce(connection, source, frame);
  }

  /** What a plugin knows when it connects counts as reports without a number. */
  takeKnown(source: Source, known: readonly (Evidence & { executionId: string })[]): void {
    for (const evidence of known) {
      const entry = this.#entryOf(source, evidence.executionId);
      const next = entry === undefined ? undefined : this.#afterReport(entry, evidence);
      if (entry === undefined || next === undefined) this.#deps.reportsIgnored.add();
      else this.#deps.book.change(entry, next);
    }
  }

  #takeOnce(
    connection: Connection,
    source: Source,
    frame: NumberedFrame,
  ): FrameErrorCode | undefined {
    if (frame.seq <= source.lastSeq) {
      this.#acknowledge(connection, source);
      return undefined;
    }
    source.lastSeq = frame.seq;
    if (frame.type === 'event') {
      this.#publish(source, frame);
      this.#acknowledge(connection, source);
      return undefined;
    }
    const change =
      frame.type === 'report' ? this.#report(source, frame) : this.#cancelReport(source, frame);
    if (typeof change === 'string' || change === undefined) {
      this.#acknowledge(connection, source);
      return change;
    }
    this.#deps.book.change(change.entry, change.next, {
      alongside: source,
      done: () => this.#sendAck(connection, source, frame.seq),
    });
    return undefined;
  }

  /** Acknowledges up to the source's newest `seq`, once that is on disk. */
  #acknowledge(connection: Connection, source: Source): void {
    const { lastSeq } = source;
    this.#deps.writer.write({
      records: [source],
      done: () => this.#sendAck(connection, source, lastSeq),
    });
  }

  /** One acknowledgement covers all that came to the disk with one commit. */
  #sendAck(connection: Connection, source: Source, seq: number): void {
    source.durableSeq = Math.max(source.durableSeq, seq);
    if (connection.owesAck) return;
    connection.owesAck = true;
    queueMicrotask(() => {
      connection.owesAck = false;
      connection.send({ type: 'ack', seq: source.durableSeq });
    });
  }

  #acknowledged(source: Source, ack: PluginFrameOf<'ack'>): FrameErrorCode | undefined {
    const { book, clock } = this.#deps;
    const now = clock.now();
    if (ack.executionId !== undefined) {
      const entry = this.#entryOf(source, ack.executionId);
      if (entry === undefined) return 'unknown_execution';
      const { execution } = entry;
      if (execution.delivery !== 'confirmed') {
        const status =
          mayMove(execution.status, 'submitted') && execution.status !== 'unknown'
            ? 'submitted'
            : execution.status;
        book.change(entry, { ...execution, status, delivery: 'confirmed', updatedAt: now });
      }
    }
    if (ack.cancelRequestId !== undefined) {
      const entry = this.#entryOfCancel(source, ack.cancelRequestId);
      if (entry?.execution.cancel == null) return 'unknown_cancel';
      const { cancel } = entry.execution;
      const isEarlier = cancel.cancelRequestId !== ack.cancelRequestId;
      if (isEarlier || cancel.acknowledged) return undefined;
      const pending = moveCancel(cancel, 'pending', cancel.reasonCode, now) ?? cancel;
      book.change(entry, {
        ...entry.execution,
        cancel: { ...pending, acknowledged: true },
        updatedAt: now,
      });
    }
    return undefined;
  }

  #report(source: Source, report: PluginFrameOf<'report'>): Change | FrameErrorCode | undefined {
    const entry = this.#entryOf(source, report.executionId);
    if (entry === undefined) return 'unknown_execution';
    const next = this.#afterReport(entry, report);
    if (next !== undefined) return { entry, next };
    this.#deps.reportsIgnored.add();
    const { fill } = report;
    if (fill !== undefined && entry.execution.fills.some(({ fillId }) => fillId === fill.fillId)) {
      this.#deps.fillsDuplicate.add();
    }
    return undefined;
  }

  #afterReport(entry: BookEntry, evidence: Evidence): Execution | undefined {
    const { execution } = entry;
    const now = this.#deps.clock.now();
    const next = applyReport(execution, toReport(evidence), now);
    if (next === undefined) return undefined;
    const waitedMs = this.#deps.book.msSinceSent(entry);
    if (execution.confirmedAt === null && waitedMs !== undefined) {
      this.#deps.confirmLatency.observe(waitedMs / 1000);
    }
    const isOurCancel =
      next.status === 'cancelled' &&
      next.reasonCode === null &&
      execution.cancel !== null &&
      moveCancel(execution.cancel, 'cancelled', null, now) !== undefined;
    return isOurCancel ? { ...next, reasonCode: 'cancelled_by_api' } : next;
  }

  #cancelReport(
    source: Source,
    report: PluginFrameOf<'cancel_report'>,
  ): Change | FrameErrorCode | undefined {
    const entry = this.#entryOfCancel(source, report.cancelRequestId);
    if (entry?.execution.cancel == null) return 'unknown_cancel';
    const { execution } = entry;
    const now = this.#deps.clock.now();
    const { status, reasonCode = null } = report;
    const isLatest = entry.execution.cancel.cancelRequestId === report.cancelRequestId;
    const cancel = isLatest ? moveCancel(entry.execution.cancel, status, reasonCode, now) : null;
    const ends =
      cancel !== undefined && status === 'cancelled' && mayMove(execution.status, status);
    // Of an earlier cancel nothing counts any more, unless it ended the order after all.
    if (cancel === undefined || (cancel === null && !ends)) {
      this.#deps.reportsIgnored.add();
      return undefined;
    }
    return {
      entry,
      next: {
        ...execution,
        ...(ends
          ? {
              status: 'cancelled',
              reasonCode: 'cancelled_by_api',
              delivery: 'confirmed',
              confirmedAt: execution.confirmedAt ?? now,
            }
          : {}),
        native: report.native === undefined ? execution.native : toNative(report.native),
        ...(cancel === null ? {} : { cancel: { ...cancel, acknowledged: true } }),
        updatedAt: now,
      },
    };
  }

  #publish(source: Source, frame: PluginFrameOf<'event'>): void {
    const executionId = frame.executionId ?? executionIdFrom(frame.orderRef ?? '');
    const execution =
      executionId === undefined ? undefined : this.#entryOf(source, executionId)?.execution;
    this.#deps.hub.publish(source.userId, {
      name: frame.event,
      source,
      occurredAt:
        frame.occurredAt === undefined
          ? toIsoTime(this.#deps.clock.now())
          : toUtc(frame.occurredAt),
      requestId: execution?.requestId ?? null,
      signalId: execution?.signalId ?? null,
      executionId: execution?.executionId ?? null,
      orderRef: execution?.orderRef ?? null,
      rawText: frame.rawText ?? null,
      data: frame.data ?? {},
    });
  }

  #entryOf(source: Source, executionId: string): BookEntry | undefined {
    const entry = this.#deps.book.find(source.userId, executionId);
    if (entry === undefined || entry.execution.delivery === 'not_sent') return undefined;
    return this.#deps.registry.sourceOf(source.userId, entry.execution) === source
      ? entry
      : undefined;
  }

  /** The execution of which this cancel, the latest or an earlier one, was sent to the source. */
  #entryOfCancel(source: Source, cancelRequestId: string): BookEntry | undefined {
    const executionId = executionIdFromCancel(cancelRequestId);
    const entry = executionId === undefined ? undefined : this.#entryOf(source, executionId);
    const cancel = entry?.execution.cancel;
    if (cancel == null) return undefined;
    const attempt = Number(cancelRequestId.slice(cancelRequestId.lastIndexOf('_') + 1));
    const latestSent = cancel.status === 'requested' ? cancel.attempt - 1 : cancel.attempt;
    return attempt <= latestSent ? entry : undefined;
  }
}

interface Change {
  readonly entry: BookEntry;
  readonly next: Execution;
}

function toReport(evidence: Evidence): ExecutionReport {
  const { fill, native, ...rest } = evidence;
  return {
    ...rest,
    ...(fill === undefined ? {} : { fill: toFill(fill) }),
    ...(native === undefined ? {} : { native: toNative(native) }),
  };
}

/** What the fill says beyond the protocol is left out: bots read it as it is stored. */
function toFill({ fillId, price, quantity, filledAt }: NonNullable<Evidence['fill']>): Fill {
  return { fillId, price, quantity, filledAt: toUtc(filledAt) };
}

function toNative(native: NonNullable<Evidence['native']>): NativeState {
  return {
    orderId: native.orderId ?? null,
    state: native.state ?? null,
    code: native.code ?? null,
    text: native.text ?? null,
  };
}

/** Already as we write it, and certainly a moment: every month has 28 days. */
const plainUtc =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** A time with any offset as ISO 8601 UTC. */
function toUtc(time: string): string {
  return plainUtc.test(time) ? time : toIsoTime(Date.parse(time));
}
