/** Publishes status changes of executions and cancels to the user's event streams, and counts them. */
import type { EventHub } from '../events/hub.js';
import { toIsoTime } from '../lib/clock.js';
import type { CounterSet } from '../lib/instruments.js';
import type { Execution, ExecutionStatus } from '../model/execution.js';
import { sourceKey } from '../model/source-name.js';
import { toCancelView, toExecutionView } from './signal-view.js';

export interface AnnouncerDeps {
  readonly hub: EventHub;
  readonly executionsByStatus: CounterSet<ExecutionStatus>;
}

export class Announcer {
  readonly #deps: AnnouncerDeps;

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
  }

  /** @param before undefined for a newly accepted execution. */
  announce(userId: string, before: Execution | undefined, after: Execution): void {
    const isNewStatus = before?.status !== after.status;
    if (isNewStatus) this.#deps.executionsByStatus.add(after.status);
    // The 202 already says that the execution is queued.
    if (isNewStatus && after.status !== 'queued') this.#publish(userId, after, 'command_result');
    const isNewCancelStatus = before?.cancel?.status !== after.cancel?.status;
    if (isNewCancelStatus && after.cancel !== null) this.#publish(userId, after, 'cancel_update');
  }

  #publish(userId: string, after: Execution, name: 'command_result' | 'cancel_update'): void {
    const { platform, instanceId, accountName, cancel } = after;
    // An execution that was denied with no_active_terminal has no source, and so no stream.
    if (instanceId === null || accountName === null) return;
    const source = { platform, instanceId, accountName };
    this.#deps.hub.publish(userId, {
      name,
      source,
      sourceKey: sourceKey(source),
      occurredAt: toIsoTime(after.updatedAt),
      requestId: after.requestId,
      signalId: after.signalId,
      executionId: after.executionId,
      orderRef: after.orderRef,
      data:
        name === 'cancel_update' && cancel !== null ? toCancelView(cancel) : toExecutionView(after),
    });
  }
}
