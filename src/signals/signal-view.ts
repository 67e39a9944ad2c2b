/** How a signal request and its executions look to a bot (section 3 of the contract). */
import { toIsoTime } from '../lib/clock.js';
import type { SignalRequest } from '../store/records.js';
import type { Cancellation } from './cancellation.js';
import { isFinal, type Execution } from './execution.js';

/** `executions` in the order of their ids' numbers. */
export function toSignalView(request: SignalRequest, executions: readonly Execution[]) {
  return {
    requestId: request.requestId,
    signalId: request.signalId,
    status: executions.every(({ status }) => isFinal(status)) ? 'completed' : 'accepted',
    acceptedAt: toIsoTime(request.acceptedAt),
    expiresAt: toIsoTime(request.expiresAt),
    platform: request.platform,
    type: request.type,
    cmd: request.cmd,
    instanceId: request.instanceId,
    executions: executions.map(toExecutionView),
  };
}

export function toExecutionView(execution: Execution) {
  return {
    executionId: execution.executionId,
    platform: execution.platform,
    instanceId: execution.instanceId,
    accountName: execution.accountName,
    status: execution.status,
    reasonCode: execution.reasonCode,
    delivery: execution.delivery,
    orderRef: execution.orderRef,
    side: execution.side,
    executionType: execution.executionType,
    instrument: execution.instrument,
    quantity: execution.quantity,
    limitPrice: execution.limitPrice,
    filledQuantity: execution.filledQuantity,
    remainingQuantity: execution.remainingQuantity,
    averageFillPrice: execution.averageFillPrice,
    fills: execution.fills,
    native: execution.native,
    createdAt: toIsoTime(execution.createdAt),
    dispatchedAt: toIsoTimeOrNull(execution.dispatchedAt),
    confirmedAt: toIsoTimeOrNull(execution.confirmedAt),
    updatedAt: toIsoTime(execution.updatedAt),
    cancel: execution.cancel === null ? null : toCancelView(execution.cancel),
  };
}

export function toCancelView(cancel: Cancellation) {
  return {
    cancelRequestId: cancel.cancelRequestId,
    status: cancel.status,
    reasonCode: cancel.reasonCode,
    requestedAt: toIsoTime(cancel.requestedAt),
    updatedAt: toIsoTime(cancel.updatedAt),
  };
}

function toIsoTimeOrNull(unixMs: number | null): string | null {
  return unixMs === null ? null : toIsoTime(unixMs);
}
