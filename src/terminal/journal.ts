/**
 * The plugin's journal: the received commands and cancels, their states, and the reports that the gateway has
 * not acknowledged. The state of an execution is derived from its reports. Entries are durable after `flush`.
 * Held in memory; survives a restart only with a file.
 */
import type { Clock } from '../lib/clock.js';
import { dayMs } from '../lib/durations.js';
import { limits } from '../limits.js';
import { isFinal } from '../model/execution.js';
import type { SubmitFrame } from '../plugins/protocol.js';
import { hasGrown, type JournalFile } from './journal-file.js';
import {
  afterCancelReport,
  afterReport,
  type KnownCancel,
  type KnownExecution,
  type ReportFrame,
} from './journal-state.js';

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
/** An order that is unknown may yet be carried out, as after a weekend: as long as the gateway takes reports on it. */
const keepUnknownMs = limits.executionRetentionDays.value * dayMs;
/** Above this number, executions that can no longer be redelivered are dropped earlier. */
const keptExecutionsMax = 100_000;

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
    if (hasGrown(this.#entriesSinceCompaction, live)) this.#compact();
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
        this.#cancels.set(frame.cancelRequestId, afterCancelReport(cancel, frame, at));
      }
    }
  }

  /** Drops old entries, and rewrites the file with the rest. */
  #compact(): void {
    this.#dropOld();
    this.#entriesSinceCompaction = 0;
    if (this.#file === undefined) return;
    // The seq first, since it would acknowledge reports before it. The reports next: the executions and cancels hold
    // what they say, and must not take it twice when they are read.
    const entries: Entry[] = [
      { kind: 'acknowledged', seq: this.#seq },
      ...this.unacknowledged().map((report) => ({ ...report, kind: 'report' as const })),
      ...this.executions().map((execution) => ({ kind: 'execution' as const, execution })),
      ...this.cancels().map((cancel) => ({ kind: 'cancel' as const, cancel })),
    ];
    this.#file.rewrite(entries.map((entry) => JSON.stringify(entry)));
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
      const keptMs = status === 'unknown' ? keepUnknownMs : keepMs;
      const isOld = now - updatedAt > keptMs && now - repeatableUntil > keepMs;
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
