/**
 * The plugin's journal: the received commands and cancels, their states, and the reports that the gateway has
 * not acknowledged. The state of an execution is derived from its reports. Entries are durable after `flush`.
 * Held in memory; survives a restart only with a file.
 */
import type { Clock } from '../lib/clock.js';
import { limits } from '../limits.js';
import type { Evidence, PluginFrameOf, SubmitFrame } from '../plugins/protocol.js';
import type { ReportableCancelStatus } from '../model/cancellation.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { isFinal, type Fill, type ReportableStatus } from '../model/execution.js';
import type { JournalFile } from './journal-file.js';

export interface KnownExecution {
  readonly executionId: string;
  /** The received command; its payload is dropped once the execution is final. */
  readonly submit: SubmitFrame;
  readonly status: ReportableStatus;
  /** Whether the terminal has reported on it, and so has begun to execute it. */
  readonly isReported: boolean;
  readonly fills: readonly Fill[];
  readonly reasonCode?: ReasonCode;
  readonly filledQuantity?: number;
  readonly remainingQuantity?: number;
  readonly averageFillPrice?: number;
  readonly native?: NonNullable<Evidence['native']>;
  /** Unix milliseconds on the terminal's clock. */
  readonly updatedAt: number;
}

export interface KnownCancel {
  readonly cancelRequestId: string;
  readonly executionId: string;
  /** Undefined until the terminal reports on it. */
  readonly evidence: CancelEvidence | undefined;
  readonly updatedAt: number;
}

type CancelReport = PluginFrameOf<'cancel_report'>;

export interface CancelEvidence {
  readonly status: ReportableCancelStatus;
  readonly reasonCode?: ReasonCode;
  readonly native?: NonNullable<CancelReport['native']>;
}

/** A report that is kept until it is acknowledged; its `seq` is assigned when it is first sent. */
export type ReportFrame = Omit<PluginFrameOf<'report'>, 'seq'> | Omit<CancelReport, 'seq'>;

export interface KeptReport {
  /** Sequence number within this journal. */
  readonly id: number;
  /** Time of its entry in Unix milliseconds. */
  readonly at: number;
  readonly seq: number | undefined;
  readonly frame: ReportFrame;
}

type Entry =
  | { readonly kind: 'execution'; readonly execution: KnownExecution }
  | { readonly kind: 'cancel'; readonly cancel: KnownCancel }
  | ({ readonly kind: 'report' } & KeptReport)
  | { readonly kind: 'number'; readonly id: number; readonly seq: number }
  | { readonly kind: 'acknowledged'; readonly seq: number };

/**
 * How long final executions are kept for deduplication. The gateway may redeliver a submit until its TTL
 * passes, so this is the longest TTL and the longest clock skew that an operator can configure, which is more
 * than a day.
 */
const keepMs = limits.ttlMsMax.max + limits.futureSkewMsMax.max;
/** Above this number, executions that can no longer be redelivered are dropped earlier. */
const keptExecutionsMax = 100_000;
/** A file is rewritten when it has grown by this many entries and has more than doubled. */
const compactAfterEntries = 20_000;

export class Journal {
  readonly #clock: Clock;
  readonly #file: JournalFile | undefined;
  readonly #executions = new Map<string, KnownExecution>();
  readonly #cancels = new Map<string, KnownCancel>();
  readonly #reports = new Map<number, KeptReport>();
  #seq = 0;
  #lastReportId = 0;
  #entriesSinceCompaction = 0;

  constructor(clock: Clock, file?: JournalFile) {
    this.#clock = clock;
    this.#file = file;
    for (const line of file?.lines ?? []) this.#apply(JSON.parse(line) as Entry);
    this.#compact();
  }

  /** Highest `seq` that was assigned to a report or acknowledged. */
  get seq(): number {
    return this.#seq;
  }

  execution(executionId: string): KnownExecution | undefined {
    return this.#executions.get(executionId);
  }

  /** In the order of their arrival. */
  executions(): KnownExecution[] {
    return [...this.#executions.values()];
  }

  cancel(cancelRequestId: string): KnownCancel | undefined {
    return this.#cancels.get(cancelRequestId);
  }

  cancels(): KnownCancel[] {
    return [...this.#cancels.values()];
  }

  /** Reports that the gateway has not acknowledged, in order. */
  unacknowledged(): KeptReport[] {
    return [...this.#reports.values()];
  }

  noteSubmit(submit: SubmitFrame): void {
    const execution: KnownExecution = {
      executionId: submit.executionId,
      submit,
      status: 'submitted',
      isReported: false,
      fills: [],
      updatedAt: this.#clock.now(),
    };
    this.#note({ kind: 'execution', execution });
  }

  noteCancel(cancelRequestId: string, executionId: string): void {
    const updatedAt = this.#clock.now();
    this.#note({
      kind: 'cancel',
      cancel: { cancelRequestId, executionId, evidence: undefined, updatedAt },
    });
  }

  /** @returns the id for `noteNumber`. */
  noteReport(frame: ReportFrame, seq: number | undefined): number {
    const id = this.#lastReportId + 1;
    this.#note({ kind: 'report', at: this.#clock.now(), id, seq, frame });
    return id;
  }

  noteNumber(id: number, seq: number): void {
    this.#note({ kind: 'number', id, seq });
  }

  /** The gateway has acknowledged everything up to `seq`. */
  noteAcknowledged(seq: number): void {
    this.#note({ kind: 'acknowledged', seq });
  }

  /** Makes all entries durable. @throws when the file cannot be written. */
  flush(): void {
    this.#file?.sync();
    const live = this.#executions.size + this.#cancels.size + this.#reports.size;
    if (this.#entriesSinceCompaction > Math.max(compactAfterEntries, live)) this.#compact();
  }

  close(): void {
    this.#file?.close();
  }

  #note(entry: Entry): void {
    this.#apply(entry);
    this.#entriesSinceCompaction++;
    this.#file?.append(JSON.stringify(entry));
  }

  #apply(entry: Entry): void {
    switch (entry.kind) {
      case 'execution':
        this.#executions.set(entry.execution.executionId, entry.execution);
        break;
      case 'cancel':
        this.#cancels.set(entry.cancel.cancelRequestId, entry.cancel);
        break;
      case 'report':
        this.#applyReport(entry.frame, entry.at);
        this.#reports.set(entry.id, entry);
        this.#lastReportId = Math.max(this.#lastReportId, entry.id);
        this.#seq = Math.max(this.#seq, entry.seq ?? 0);
        break;
      case 'number': {
        const report = this.#reports.get(entry.id);
        if (report !== undefined) this.#reports.set(entry.id, { ...report, seq: entry.seq });
        this.#seq = Math.max(this.#seq, entry.seq);
        break;
      }
      case 'acknowledged':
        for (const { id, seq } of this.#reports.values()) {
          if (seq === undefined || seq > entry.seq) break;
          this.#reports.delete(id);
        }
        this.#seq = Math.max(this.#seq, entry.seq);
    }
  }

  #applyReport(frame: ReportFrame, at: number): void {
    if (frame.type === 'report') {
      const execution = this.#executions.get(frame.executionId);
      if (execution !== undefined) {
        this.#executions.set(frame.executionId, afterReport(execution, frame, at));
      }
    } else {
      const cancel = this.#cancels.get(frame.cancelRequestId);
      if (cancel !== undefined) {
        this.#cancels.set(frame.cancelRequestId, {
          ...cancel,
          evidence: cancelEvidenceOf(frame),
          updatedAt: at,
        });
      }
    }
  }

  /** Drops old entries, and rewrites the file with the rest. */
  #compact(): void {
    this.#dropOld();
    this.#entriesSinceCompaction = 0;
    if (this.#file === undefined) return;
    const entries: Entry[] = [
      { kind: 'acknowledged', seq: this.#acknowledgedSeq() },
      ...this.executions().map((execution) => ({ kind: 'execution' as const, execution })),
      ...this.cancels().map((cancel) => ({ kind: 'cancel' as const, cancel })),
      ...this.unacknowledged().map((report) => ({ ...report, kind: 'report' as const })),
    ];
    this.#file.rewrite(entries.map((entry) => JSON.stringify(entry)));
  }

  /** The `seq` below the first kept report: a higher one would drop that report when the file is read. */
  #acknowledgedSeq(): number {
    for (const { seq } of this.#reports.values()) {
      return seq === undefined ? this.#seq : seq - 1;
    }
    return this.#seq;
  }

  #dropOld(): void {
    const now = this.#clock.now();
    const unacknowledged = new Set<string>();
    for (const { frame } of this.#reports.values()) {
      unacknowledged.add(frame.type === 'report' ? frame.executionId : frame.cancelRequestId);
    }
    let excess = this.#executions.size - keptExecutionsMax;
    for (const { executionId, submit, status, updatedAt } of this.#executions.values()) {
      if (!isFinal(status) || unacknowledged.has(executionId)) continue;
      const repeatableUntil = Date.parse(submit.expiresAt);
      const isOld = now - updatedAt > keepMs && now - repeatableUntil > keepMs;
      const isExcess = excess > 0 && now - repeatableUntil > limits.futureSkewMsMax.max;
      if (!isOld && !isExcess) continue;
      this.#executions.delete(executionId);
      excess--;
    }
    for (const { cancelRequestId, executionId, updatedAt } of this.#cancels.values()) {
      if (unacknowledged.has(cancelRequestId) || this.#executions.has(executionId)) continue;
      if (now - updatedAt > keepMs) this.#cancels.delete(cancelRequestId);
    }
  }
}

function afterReport(
  execution: KnownExecution,
  frame: Extract<ReportFrame, { type: 'report' }>,
  at: number,
): KnownExecution {
  const { fill } = frame;
  const isNewFill =
    fill !== undefined && !execution.fills.some(({ fillId }) => fillId === fill.fillId);
  const hasEnded = isFinal(frame.status);
  return {
    ...execution,
    ...evidenceOf(frame),
    submit: hasEnded ? { ...execution.submit, payload: {} } : execution.submit,
    isReported: true,
    fills: isNewFill ? [...execution.fills, fill] : execution.fills,
    updatedAt: at,
  };
}

/** @returns the state of an execution or a report, without the single fill. */
export function evidenceOf(known: KnownExecution | Evidence): Evidence {
  const { status, reasonCode, filledQuantity, remainingQuantity, averageFillPrice, native } = known;
  return {
    status,
    ...(reasonCode === undefined ? {} : { reasonCode }),
    ...(filledQuantity === undefined ? {} : { filledQuantity }),
    ...(remainingQuantity === undefined ? {} : { remainingQuantity }),
    ...(averageFillPrice === undefined ? {} : { averageFillPrice }),
    ...(native === undefined ? {} : { native }),
  };
}

function cancelEvidenceOf({ status, reasonCode, native }: CancelEvidence): CancelEvidence {
  return {
    status,
    ...(reasonCode === undefined ? {} : { reasonCode }),
    ...(native === undefined ? {} : { native }),
  };
}
