/**
 * A model of one source: its last number, its executions, and which frames must be refused. Kept over
 * the connections of the source.
 */
import type { ExecutionModel } from './execution-model.js';
import type { SaidFrame } from './frame-oracle.js';
import { cancellable } from '../../../model/contract-states.js';

/** An event of the plugin as the stream must carry it. */
export interface DueEvent {
  readonly name: string;
  readonly data: unknown;
  readonly rawText: string | null;
  readonly executionId: string | null;
}

const rawTextLengthMax = 8192;
const seqJumpMax = 2 ** 42;
/** Longer than a busy machine takes from a hello to the submits after it. */
const aboutToExpireMs = 30_000;
/** Statuses in which a cancel is still sent. */
const cancelableStill: readonly string[] = [...cancellable, 'dispatched'];

export class SourceModel {
  lastSeq = 0;
  /** The highest number that the gateway has acknowledged. */
  acknowledgedSeq = 0;
  readonly executions = new Map<string, ExecutionModel>();
  /** Events that the stream must still carry. */
  due: DueEvent[] = [];
  capabilities: readonly string[] = [];
  /** Whether a numbered frame was sent that must be acknowledged. */
  owesAck = false;
  /** `lastSeq` of the latest welcome. */
  welcomedSeq = 0;

  constructor(
    readonly platform: string,
    readonly instanceId: string,
    readonly accountName: string,
  ) {}

  /** Whether the source has used the last safe integer as a number. */
  get isSpent(): boolean {
    return this.lastSeq >= Number.MAX_SAFE_INTEGER;
  }

  /** @returns the error code that must answer, or undefined. */
  take(said: SaidFrame): string | undefined {
    if (said.type === 'hello') return 'hello_repeated';
    if (said.type === 'heartbeat') return undefined;
    if (said.type === 'ack') return this.#acknowledge(said);
    if (said['seq'] - this.lastSeq > seqJumpMax) return 'seq_jump';
    this.owesAck = true;
    if (said['seq'] <= this.welcomedSeq) return 'seq_repeated';
    if (said['seq'] <= this.lastSeq) return undefined;
    this.lastSeq = said['seq'];
    if (said.type === 'event') {
      this.due.push(this.#eventOf(said));
      return undefined;
    }
    if (said.type === 'report') {
      const execution = this.#sent(said['executionId']);
      if (execution === undefined) return 'unknown_execution';
      execution.report(said);
      return undefined;
    }
    const found = this.#cancelled(said['cancelRequestId']);
    if (found === undefined) return 'unknown_cancel';
    found.execution.cancelReported(found.attempt, said);
    return undefined;
  }

  /** The `executions` of a hello: reports without a number, ignored for foreign executions. */
  takeKnown(known: readonly SaidFrame[]): void {
    for (const said of known) this.#sent(said['executionId'])?.report(said);
  }

  /** Submits that must be sent again on a new connection, in order; those about to expire need not be. */
  redelivered(): string[] {
    if (!this.capabilities.includes('submit')) return [];
    const soon = Date.now() + aboutToExpireMs;
    return [...this.executions.values()]
      .filter(
        ({ delivery, cancel, expiresAt }) =>
          delivery === 'sent' && cancel === null && expiresAt > soon,
      )
      .map(({ executionId }) => executionId);
  }

  /** Cancels that must be sent again: sent, pending, and never acknowledged. */
  cancelsRepeated(): string[] {
    if (!this.capabilities.includes('cancel')) return [];
    return [...this.executions.values()].flatMap(({ status, cancel }) =>
      cancel?.status === 'dispatched' && !cancel.acknowledged && cancelableStill.includes(status)
        ? cancel.cancelRequestId
        : [],
    );
  }

  #acknowledge(said: SaidFrame): string | undefined {
    if (said['executionId'] !== undefined) {
      const execution = this.#sent(said['executionId']);
      if (execution === undefined) return 'unknown_execution';
      execution.acknowledge();
    }
    if (said['cancelRequestId'] !== undefined) {
      const found = this.#cancelled(said['cancelRequestId']);
      if (found === undefined) return 'unknown_cancel';
      found.execution.cancelAcknowledged(found.attempt);
    }
    return undefined;
  }

  #sent(executionId: string): ExecutionModel | undefined {
    const execution = this.executions.get(executionId);
    return execution?.delivery === 'not_sent' ? undefined : execution;
  }

  #cancelled(cancelRequestId: string): { execution: ExecutionModel; attempt: number } | undefined {
    const [, order, attempt] = /^can_(.+)_([1-9]\d*)$/.exec(cancelRequestId) ?? [];
    const execution = this.#sent(`exe_${order ?? ''}`);
    if (execution?.cancel == null || Number(attempt) > execution.cancel.attempt) return undefined;
    return { execution, attempt: Number(attempt) };
  }

  #eventOf(said: SaidFrame): DueEvent {
    const named = said['executionId'] ?? said['orderRef']?.replace(/^ord_/, 'exe_');
    let rawText = (said['rawText'] as string | undefined) ?? null;
    if (rawText !== null && rawText.length > rawTextLengthMax) {
      rawText = rawText.slice(0, rawTextLengthMax);
      if (/[\ud800-\udbff]$/.test(rawText)) rawText = rawText.slice(0, -1);
    }
    return {
      name: said['event'],
      data: said['data'] ?? {},
      rawText,
      executionId: this.#sent(named)?.executionId ?? null,
    };
  }
}
