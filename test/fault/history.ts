/**
 * What was read of one request, over all crashes: each read must be one that the read before it may
 * lead to. Reads that overlapped say nothing about each other and are not compared.
 */
import type { Verdict } from '../support/verdict.js';
import { cancelMayBecome, deliveries, executionMayBecome, openCancels } from './states.js';

/** The bodies of GET /signals/{requestId}, as far as they are compared. */
export interface ExecutionView {
  readonly executionId: string;
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly delivery: string;
  readonly orderRef: string | null;
  readonly filledQuantity: number | null;
  readonly fills: readonly { readonly fillId: string; readonly quantity: number }[];
  readonly dispatchedAt: string | null;
  readonly confirmedAt: string | null;
  readonly updatedAt: string;
  readonly cancel: {
    readonly cancelRequestId: string;
    readonly status: string;
    readonly requestedAt: string;
  } | null;
}

export interface RequestView {
  readonly requestId: string;
  readonly signalId: string;
  readonly status: string;
  readonly acceptedAt: string;
  readonly expiresAt: string;
  readonly executions: readonly ExecutionView[];
}

export class History {
  last: RequestView | undefined;
  #endedAt = -Infinity;

  /** Both times monotonic. */
  note(view: RequestView, startedAt: number, endedAt: number, verdict: Verdict): void {
    if (startedAt < this.#endedAt) return;
    const before = this.last;
    this.last = view;
    this.#endedAt = endedAt;
    if (before === undefined) return;
    const isSame =
      before.signalId === view.signalId &&
      before.acceptedAt === view.acceptedAt &&
      before.expiresAt === view.expiresAt &&
      before.executions.length === view.executions.length;
    verdict.hold('a request keeps its words', isSame, () => ({ before, view }));
    view.executions.forEach((after, index) => {
      const earlier = before.executions[index];
      for (const [rule, holds] of Object.entries(moves)) {
        const isKept = earlier !== undefined && holds(earlier, after);
        verdict.hold(rule, isKept, () => ({ earlier, after }));
      }
    });
  }
}

const moves: Readonly<Record<string, (a: ExecutionView, b: ExecutionView) => boolean>> = {
  'an execution keeps its name': (a, b) =>
    a.executionId === b.executionId &&
    a.orderRef === b.orderRef &&
    a.accountName === b.accountName &&
    a.instanceId === b.instanceId,
  'a status moves only as the table allows': (a, b) => executionMayBecome(a.status, b.status),
  'delivery never goes back': (a, b) =>
    deliveries.indexOf(a.delivery) <= deliveries.indexOf(b.delivery),
  'a fill that was read stays': (a, b) =>
    a.fills.every(({ fillId }) => b.fills.some((fill) => fill.fillId === fillId)) &&
    (a.filledQuantity ?? 0) <= (b.filledQuantity ?? 0),
  'a time that was read stays': (a, b) =>
    (a.dispatchedAt === null || a.dispatchedAt === b.dispatchedAt) &&
    (a.confirmedAt === null || a.confirmedAt === b.confirmedAt) &&
    a.updatedAt <= b.updatedAt,
  'a cancel moves only as the table allows': (a, b) => {
    if (a.cancel === null) return true;
    if (b.cancel === null) return false;
    if (a.cancel.cancelRequestId === b.cancel.cancelRequestId) {
      return cancelMayBecome(a.cancel.status, b.cancel.status);
    }
    return attemptOf(a.cancel.cancelRequestId) < attemptOf(b.cancel.cancelRequestId);
  },
};

export function attemptOf(cancelRequestId: string): number {
  return Number(cancelRequestId.slice(cancelRequestId.lastIndexOf('_') + 1));
}

export function isCancelOpen({ cancel }: ExecutionView): boolean {
  return cancel !== null && openCancels.includes(cancel.status);
}
