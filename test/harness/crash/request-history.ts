/**
 * Everything that was read of one request, over all crashes: each read must be a state that may follow
 * the one before. Overlapping reads have no order and are not compared.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Fill } from '../../../src/model/execution.js';
import type { Verdict } from '../verdict.js';
import { definitiveEnds, finalStates, openCancels } from '../../model/contract-states.js';
import { cancelMayBecome, executionMayBecome } from './reachable-states.js';

/** The compared fields of GET /signals/{requestId}. */
export interface ExecutionView {
  readonly executionId: string;
  readonly platform: string;
  readonly instanceId: string | null;
  readonly accountName: string | null;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly delivery: string;
  readonly orderRef: string | null;
  readonly side: string | null;
  readonly executionType: string | null;
  readonly instrument: string | null;
  readonly quantity: number | null;
  readonly limitPrice: number | null;
  readonly filledQuantity: number | null;
  readonly remainingQuantity: number | null;
  readonly fills: readonly Fill[];
  readonly createdAt: string;
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
  readonly platform: string;
  readonly type: string;
  readonly cmd: string;
  readonly instanceId: string | null;
  readonly executions: readonly ExecutionView[];
}

/** Fields that never change. */
const immutableRequestFields = [
  'requestId',
  'signalId',
  'acceptedAt',
  'expiresAt',
  'platform',
  'type',
  'cmd',
  'instanceId',
] as const satisfies readonly (keyof RequestView)[];
const immutableExecutionFields = [
  'executionId',
  'orderRef',
  'platform',
  'instanceId',
  'accountName',
  'side',
  'executionType',
  'instrument',
  'quantity',
  'limitPrice',
  'createdAt',
] as const satisfies readonly (keyof ExecutionView)[];

export class History {
  last: RequestView | undefined;
  #endedAt = -Infinity;

  /** `startedAt`, `endedAt`: monotonic ms. */
  note(view: RequestView, startedAt: number, endedAt: number, verdict: Verdict): void {
    if (startedAt < this.#endedAt) return;
    const before = this.last;
    const isOver = view.executions.every(({ status }) => finalStates.includes(status));
    const isRight = view.status === (isOver ? 'completed' : 'accepted');
    verdict.hold('a request is completed with its last execution', isRight, () => view);
    this.last = view;
    this.#endedAt = endedAt;
    if (before === undefined) return;
    const isSame =
      immutableRequestFields.every((word) => before[word] === view[word]) &&
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

const deliveries = ['not_sent', 'sent', 'confirmed'];

const moves: Readonly<Record<string, (a: ExecutionView, b: ExecutionView) => boolean>> = {
  'an execution keeps its words': (a, b) =>
    immutableExecutionFields.every((word) => a[word] === b[word]),
  'a status moves only as the table allows': (a, b) => executionMayBecome(a.status, b.status),
  'delivery never goes back': (a, b) =>
    deliveries.indexOf(a.delivery) <= deliveries.indexOf(b.delivery),
  'a fill that was read stays': (a, b) =>
    a.fills.every((fill) => b.fills.some((other) => isDeepStrictEqual(fill, other))) &&
    (a.filledQuantity ?? 0) <= (b.filledQuantity ?? 0),
  'a time that was read stays': (a, b) =>
    (a.dispatchedAt === null || a.dispatchedAt === b.dispatchedAt) &&
    (a.confirmedAt === null || a.confirmedAt === b.confirmedAt) &&
    a.updatedAt <= b.updatedAt,
  'an end keeps its reason': (a, b) =>
    a.status !== b.status || !definitiveEnds.includes(a.status) || a.reasonCode === b.reasonCode,
  'a cancel moves only as the table allows': (a, b) => {
    if (a.cancel === null) return true;
    if (b.cancel === null) return false;
    if (a.cancel.cancelRequestId === b.cancel.cancelRequestId) {
      return (
        cancelMayBecome(a.cancel.status, b.cancel.status) &&
        a.cancel.requestedAt === b.cancel.requestedAt
      );
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
