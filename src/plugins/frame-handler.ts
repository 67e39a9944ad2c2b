/**
 * Handles frames from plugins: acknowledgements, reports on executions and cancels, events. Deduplicates by
 * the `seq` of the source, and acknowledges it when its effect is durable. Accepts a report on an execution
 * only from the source that the execution was sent to.
 */
import type { EventHub } from '../events/hub.js';
import { eventJson } from '../events/terminal-event.js';
import { toIsoTime, type Clock } from '../lib/clock.js';
import { executionIdFrom, executionIdFromCancel } from '../lib/ids.js';
import type { Counter, Histogram } from '../lib/instruments.js';
import type { Steps } from '../lib/turn.js';
import type { Limits } from '../limits.js';
import { isWaiting } from '../model/cancellation.js';
import type { BookEntry } from '../signals/book-entry.js';
import type { ApplyOptions, ExecutionBook } from '../signals/execution-book.js';
import { fillRoom, isKnown } from '../signals/fills.js';
import type { ExecutionTimeouts } from '../signals/execution-timeouts.js';
import { acknowledgeCancel, reportCancel } from '../signals/cancel-moves.js';
import { acknowledge, report } from '../signals/moves.js';
import { textRoom } from '../signals/stored-execution.js';
import type { Stored, WriteQueue } from '../store/write-queue.js';
import type { FrameBytes } from './decode-frame.js';
import { toExecutionReport, toNative, toUtc } from './evidence.js';
import {
  seqJumpMax,
  type Evidence,
  type FrameErrorCode,
  type HelloExecution,
  type LaterFrame,
  type NumberedFrame,
  type PluginFrameOf,
} from './protocol.js';
import { digestOf } from './frame-digests.js';
import type { Registry } from './registry.js';
import type { Snapshots } from './snapshots.js';
import type { Source, SourceConnection } from './source.js';

export interface FrameHandlerDeps {
  readonly clock: Clock;
  readonly limits: Pick<Limits, 'fillsPerExecution'>;
  readonly book: ExecutionBook;
  readonly timeouts: Pick<ExecutionTimeouts, 'msSinceSent'>;
  readonly registry: Registry;
  readonly hub: EventHub;
  readonly snapshots: Snapshots;
  readonly writer: WriteQueue;
  readonly reportsIgnored: Counter;
  readonly fillsDuplicate: Counter;
  /** Frames whose `seq` was not above `lastSeq` of the welcome. */
  readonly framesRepeated: Counter;
  /** Time from dispatch to the first report, in seconds. */
  readonly confirmLatency: Histogram;
}

type Budget = SourceConnection['budget'];

/** `changed`: an execution changed, and the same transaction stores the `seq`. Otherwise the error, if any. */
type Effect = 'changed' | 'none' | FrameErrorCode;

/** A write of a source's `seq` alone. Once `put` is called, a commit has it: a later `seq` needs another write. */
interface SeqWrite extends Stored {
  seq: number;
}

/** Executions of a hello that are handled at once: half a millisecond, and as much again for their write. */
const knownPerStep = 32;

export class FrameHandler {
  readonly #deps: FrameHandlerDeps;
  /** By connection, the write of its `seq` that has not joined a commit. */
  readonly #waiting = new WeakMap<SourceConnection, SeqWrite>();

  constructor(deps: FrameHandlerDeps) {
    this.#deps = deps;
  }

  /**
   * @returns why the frame is rejected; undefined if it is accepted.
   */
  handle(
    connection: SourceConnection,
    source: Source,
    frame: LaterFrame,
    bytes: FrameBytes,
  ): FrameErrorCode | undefined {
    this.#deps.registry.touch(source);
    if (frame.type === 'heartbeat') return undefined;
    if (frame.type === 'ack') return this.#acknowledged(source, frame);
    return this.#handleOnce(connection, source, frame, bytes);
  }

  /**
   * Reads in steps the fills of an order to which `handle` adds one. Closes the connection if that is beyond the budget.
   * @returns undefined if that takes no time.
   */
  readAhead(connection: SourceConnection, source: Source, frame: LaterFrame): Steps | undefined {
    return frame.type === 'report' ? this.#readAhead(connection, source, frame) : undefined;
  }

  /**
   * Handles the `executions` of a hello like reports without a `seq`, then calls `done`.
   * @returns the steps; undefined if there is nothing to handle.
   */
  handleKnown(
    connection: SourceConnection,
    source: Source,
    known: readonly HelloExecution[],
    done: () => void,
  ): Steps | undefined {
    if (known.length > 0) return this.#reportAll(connection, source, known, done);
    done();
    return undefined;
  }

  *#reportAll(
    connection: SourceConnection,
    source: Source,
    known: readonly HelloExecution[],
    done: () => void,
  ): Steps {
    let short = 0;
    for (const evidence of known) {
      const ahead = this.#readAhead(connection, source, evidence);
      if (ahead !== undefined) yield* ahead;
      if (connection.isClosed) return;
      this.#reportKnown(connection.budget, source, evidence);
      if (ahead !== undefined || ++short % knownPerStep === 0) yield;
    }
    done();
  }

  #reportKnown(budget: Budget, source: Source, evidence: HelloExecution): void {
    const entry = this.#entryOf(source, evidence.executionId);
    if (entry === undefined) return this.#deps.reportsIgnored.add();
    const done = (): void => void budget.reportsWaiting--;
    if (this.#report(entry, evidence, { done }) === 'changed') budget.reportsWaiting++;
  }

  #readAhead(
    connection: SourceConnection,
    { userId }: Source,
    { executionId, fill }: HelloExecution,
  ): Steps | undefined {
    if (fill === undefined || executionIdFrom(executionId) !== executionId) return undefined;
    const ahead = this.#deps.book.readAhead(userId, executionId);
    return ahead && connection.spendFills(ahead.fills) ? ahead.steps : undefined;
  }

  #handleOnce(
    connection: SourceConnection,
    source: Source,
    frame: NumberedFrame,
    bytes: FrameBytes,
  ): FrameErrorCode | undefined {
    const { seq } = frame;
    if (seq - source.lastSeq > seqJumpMax) return 'seq_jump';
    const isNew = this.#deps.registry.receive(source, seq, bytes);
    const isOther = !isNew && this.#isOther(connection, source, frame, bytes);
    const { budget, numbers } = connection;
    numbers.handled = Math.max(numbers.handled, seq);
    const effect =
      isNew || isOther
        ? this.#effectOf(connection, source, frame, bytes, {
            alongside: source,
            done: () => {
              budget.reportsWaiting--;
              this.#sendAck(connection, source, seq);
            },
          })
        : 'none';
    if (effect === 'changed') {
      budget.reportsWaiting++;
      return undefined;
    }
    this.#writeSeq(connection, source);
    if (effect !== 'none') return effect;
    if (seq > numbers.welcomed) return undefined;
    // Tells a plugin that has begun to count anew: otherwise it would not know that its frames are ignored.
    this.#deps.framesRepeated.add();
    return 'seq_repeated';
  }

  /**
   * Lets one write of a connection wait at a time: while the disk refuses writes, each event would add
   * another. All waiting writes form one commit, so a later `seq` may join a write that was requested before
   * it.
   */
  #writeSeq(connection: SourceConnection, source: Source): void {
    const waiting = this.#waiting.get(connection);
    if (waiting !== undefined) {
      waiting.seq = connection.numbers.handled;
      return;
    }
    const own: SeqWrite = {
      seq: connection.numbers.handled,
      put: () => this.#waiting.delete(connection),
    };
    this.#waiting.set(connection, own);
    this.#deps.writer.write({
      records: [source, own],
      done: () => this.#sendAck(connection, source, own.seq),
    });
  }

  /**
   * Whether a frame differs from the one that had its `seq` on an earlier connection: a plugin without a
   * journal counts on from its welcome. Without a digest to compare, a report counts as another, because the
   * same one changes nothing; an event does not, because the same one would be published twice.
   */
  #isOther(
    connection: SourceConnection,
    source: Source,
    frame: NumberedFrame,
    bytes: FrameBytes,
  ): boolean {
    const { uncounted, handled } = connection.numbers;
    if (frame.seq <= handled) return false;
    const before = uncounted.get(frame.seq);
    const digest = digestOf(bytes);
    const isSame = before === undefined ? frame.type === 'event' : before === digest;
    if (!isSame) source.received.set(frame.seq, digest);
    return !isSame;
  }

  #effectOf(
    connection: SourceConnection,
    source: Source,
    frame: NumberedFrame,
    bytes: FrameBytes,
    options: ApplyOptions,
  ): Effect {
    switch (frame.type) {
      case 'event':
        this.#publish(connection, source, frame, bytes);
        return 'none';
      case 'report': {
        const entry = this.#entryOf(source, frame.executionId);
        return entry === undefined ? 'unknown_execution' : this.#report(entry, frame, options);
      }
      case 'cancel_report':
        return this.#reportCancel(source, frame, options);
    }
  }

  /** Marks nothing durable once there is a later connection, whose frame of this `seq` may be another. */
  #sendAck(connection: SourceConnection, source: Source, seq: number): void {
    if (source.numbers === connection.numbers) this.#deps.registry.markDurable(source, seq);
    connection.acknowledge(seq);
  }

  #acknowledged(source: Source, ack: PluginFrameOf<'ack'>): FrameErrorCode | undefined {
    const { book } = this.#deps;
    if (ack.executionId !== undefined) {
      const entry = this.#entryOf(source, ack.executionId);
      if (entry === undefined) return 'unknown_execution';
      book.apply(entry, acknowledge);
    }
    if (ack.cancelRequestId !== undefined) {
      const entry = this.#entryOfCancel(source, ack.cancelRequestId);
      if (entry === undefined) return 'unknown_cancel';
      book.apply(entry, acknowledgeCancel(ack.cancelRequestId));
    }
    return undefined;
  }

  #report(entry: BookEntry, evidence: Evidence, options: ApplyOptions): Effect {
    const { book, timeouts, confirmLatency, reportsIgnored, fillsDuplicate, limits } = this.#deps;
    const { fill } = evidence;
    const withFills = fill !== undefined;
    const before = withFills ? entry.execution : entry.record;
    const room = book.roomOf(entry.userId);
    if (withFills && isKnown(before, fill)) fillsDuplicate.add();
    const after = book.apply(
      entry,
      report(
        toExecutionReport(evidence, textRoom(before, room)),
        fillRoom(before, room, limits.fillsPerExecution),
      ),
      { ...options, withFills },
    );
    // A backward report may still apply its fill.
    if (after?.status !== evidence.status) reportsIgnored.add();
    if (after === undefined) return 'none';
    const waitedMs = timeouts.msSinceSent(entry);
    if (before.confirmedAt === null && waitedMs !== undefined) {
      confirmLatency.observe(waitedMs / 1000);
    }
    return 'changed';
  }

  #reportCancel(
    source: Source,
    frame: PluginFrameOf<'cancel_report'>,
    options: ApplyOptions,
  ): Effect {
    const { cancelRequestId, status, reasonCode = null, native } = frame;
    const entry = this.#entryOfCancel(source, cancelRequestId);
    if (entry === undefined) return 'unknown_cancel';
    const { book } = this.#deps;
    const textMax = textRoom(entry.record, book.roomOf(source.userId));
    const evidence = {
      cancelRequestId,
      status,
      reasonCode,
      ...(native === undefined ? {} : { native: toNative(native, textMax) }),
    };
    if (book.apply(entry, reportCancel(evidence), options) !== undefined) return 'changed';
    this.#deps.reportsIgnored.add();
    return 'none';
  }

  #publish(
    connection: SourceConnection,
    source: Source,
    frame: PluginFrameOf<'event'>,
    bytes: FrameBytes,
  ): void {
    const executionId = frame.executionId ?? executionIdFrom(frame.orderRef ?? '');
    const execution =
      executionId === undefined ? undefined : this.#entryOf(source, executionId)?.record;
    const { hub, snapshots } = this.#deps;
    const data: { readonly snapshotId?: unknown } = frame.data ?? {};
    const published = hub.publish(source.userId, {
      name: frame.event,
      source,
      sourceKey: source.key,
      occurredAt:
        frame.occurredAt === undefined
          ? toIsoTime(this.#deps.clock.now())
          : toUtc(frame.occurredAt),
      execution,
      rawText: frame.rawText,
      data,
      dataJson: bytes.data,
    });
    if (frame.event !== 'state_snapshot') return;
    snapshots.published(connection, data.snapshotId, eventJson(published));
  }

  #entryOf(source: Source, executionId: string): BookEntry | undefined {
    const { book, registry } = this.#deps;
    // For an id of another form, the store would hold in memory that it has no such record.
    if (executionIdFrom(executionId) !== executionId) return undefined;
    const entry = book.find(source.userId, executionId);
    if (entry === undefined || entry.record.delivery === 'not_sent') return undefined;
    return registry.sourceOf(source.userId, entry.record) === source ? entry : undefined;
  }

  /**
   * @returns the execution of a cancel, the latest or an earlier one, that was sent to the source. A waiting
   * cancel counts as sent: a restart may have come before the store had that it was.
   */
  #entryOfCancel(source: Source, cancelRequestId: string): BookEntry | undefined {
    const executionId = executionIdFromCancel(cancelRequestId);
    const entry = executionId === undefined ? undefined : this.#entryOf(source, executionId);
    const cancel = entry?.record.cancel;
    if (cancel == null) return undefined;
    const attempt = Number(cancelRequestId.slice(cancelRequestId.lastIndexOf('_') + 1));
    const isUnsent = cancel.status === 'requested' && !isWaiting(cancel);
    const latestSent = isUnsent ? cancel.attempt - 1 : cancel.attempt;
    return attempt <= latestSent ? entry : undefined;
  }
}
