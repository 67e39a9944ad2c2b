/**
 * Every signal of the run: when it was sent and answered, where it arrived, what the terminals reported
 * and what the gateway shows. Times are monotonic ms of this process, so that no step of the gateway's
 * clock excuses a signal that is executed late or twice, or given up too soon.
 */
import type { Frame } from '../../support/plugin.js';
import type { Verdict } from '../verdict.js';
import { openCancels } from '../../model/contract-states.js';

export interface Signal {
  readonly signalId: string;
  readonly idempotencyKey: string;
  readonly body: string;
  readonly ttlMs: number;
  readonly sentAt: number;
  /** When the first answer came; undefined before. */
  answeredAt: number | undefined;
  answer: string | undefined;
  requestId: string | undefined;
  /** The gateway's wall time, Unix ms. */
  acceptedAt: number | undefined;
  /** The clock was set during its acceptance: by the new time, its TTL may have ended at once. */
  wasSetMeanwhile: boolean;
}

interface Arrival {
  readonly executionId: string;
  readonly helloAt: number;
}

export interface TimeLimits {
  readonly executionConfirmTimeoutMs: number;
  readonly cancelConfirmTimeoutMs: number;
}

/** Timestamps are rounded to milliseconds. */
const roundingMs = 5;

export class SignalLog {
  readonly signals = new Map<string, Signal>();
  readonly #arrivals = new Map<string, Arrival[]>();
  /** executionId → the last status that its terminal reported. */
  readonly #said = new Map<string, string>();
  /** Signals whose end was checked with every terminal connected. */
  readonly #settled = new Set<string>();

  constructor(
    readonly limits: TimeLimits,
    readonly verdict: Verdict,
  ) {}

  arrived(frame: Frame, helloAt: number): void {
    const signalId = frame['signalId'] as string;
    const arrivals = this.#arrivals.get(signalId) ?? [];
    this.#arrivals.set(signalId, arrivals);
    arrivals.push({ executionId: frame['executionId'], helloAt });
    const names = new Set(arrivals.map(({ executionId }) => executionId));
    this.verdict.hold('a signal is executed once', names.size === 1, () => arrivals);
    this.#inspectAge(signalId);
  }

  said(executionId: string, status: string): void {
    this.#said.set(executionId, status);
  }

  accepted(signal: Signal): void {
    this.#inspectAge(signal.signalId);
  }

  /** Signals that have not reached their end. */
  get open(): Signal[] {
    return [...this.signals.values()].filter(
      ({ signalId, requestId }) => requestId !== undefined && !this.#settled.has(signalId),
    );
  }

  /** Checks that no connection that was opened after the TTL, by monotonic time, carries the signal. */
  #inspectAge(signalId: string): void {
    const signal = this.signals.get(signalId);
    const { answeredAt } = signal ?? {};
    if (signal === undefined || answeredAt === undefined) return;
    for (const { helloAt } of this.#arrivals.get(signalId) ?? []) {
      const lateMs = helloAt - answeredAt - signal.ttlMs;
      this.verdict.hold('nothing is executed after its TTL', lateMs <= 0, () => [signal, lateMs]);
    }
  }

  /** `view`: the request as read; `readAt`: when the answer came. */
  inspect(signal: Signal, view: any, readAt: number): void {
    const { verdict } = this;
    const arrivals = this.#arrivals.get(signal.signalId) ?? [];
    for (const { status, reasonCode, cancel } of view.executions) {
      const lived = readAt - signal.sentAt + roundingMs;
      const evidence = (): unknown => [signal, view, lived, arrivals];
      if (reasonCode === 'ttl_expired') {
        const isTime = signal.wasSetMeanwhile || lived >= signal.ttlMs;
        verdict.hold('a TTL is not over too soon', isTime, evidence);
        verdict.hold('what expired was not sent', arrivals.length === 0, evidence);
      }
      if (status === 'unknown') {
        const isTime = lived >= this.limits.executionConfirmTimeoutMs;
        verdict.hold('nothing is called unknown too soon', isTime, evidence);
      }
      if (cancel?.status === 'unknown') {
        const isTime = lived >= this.limits.cancelConfirmTimeoutMs;
        verdict.hold('no cancel is called unknown too soon', isTime, evidence);
      }
    }
  }

  /** @returns whether it has the end that its terminal reported, or that a timeout causes. */
  isSettled(signal: Signal, view: any): boolean {
    const ends = view.executions.map(({ executionId, status, cancel, delivery }: any) => {
      const isCancelOver = cancel === null || !openCancels.includes(cancel.status);
      return isCancelOver && this.#ends(signal, executionId, delivery).includes(status);
    });
    const isSettled = ends.every(Boolean);
    if (isSettled) this.#settled.add(signal.signalId);
    return isSettled;
  }

  #ends(signal: Signal, executionId: string, delivery: string): readonly string[] {
    const said = this.#said.get(executionId);
    if (said !== undefined) return [said];
    // A submit written to a connection that was cut is `sent`, although it never arrived.
    if (this.#arrivals.has(signal.signalId) || delivery !== 'not_sent') return ['unknown'];
    // Denied when the terminal had been disconnected for too long.
    return ['expired', 'denied'];
  }
}
