/** Tells the streams what became of executions and cancels, once it is on disk. */
import type { EventHub } from '../events/hub.js';
import { toIsoTime } from '../lib/clock.js';
import type { Execution } from '../model/execution.js';
import { toCancelView, toExecutionView } from './signal-view.js';

/**
 * Publishes `command_result` when the execution's status changed, and `cancel_update` when its
 * cancel's did. One that was denied for want of a terminal belongs to no stream.
 */
export function announceExecution(
  hub: EventHub,
  userId: string,
  before: Execution | undefined,
  after: Execution,
): void {
  const { platform, instanceId, accountName } = after;
  if (instanceId === null || accountName === null) return;
  const event = {
    source: { platform, instanceId, accountName },
    occurredAt: toIsoTime(after.updatedAt),
    requestId: after.requestId,
    signalId: after.signalId,
    executionId: after.executionId,
    orderRef: after.orderRef,
  };
  if (before?.status !== after.status) {
    hub.publish(userId, { ...event, name: 'command_result', data: toExecutionView(after) });
  }
  if (after.cancel !== null && before?.cancel?.status !== after.cancel.status) {
    hub.publish(userId, { ...event, name: 'cancel_update', data: toCancelView(after.cancel) });
  }
}
