/**
 * Announces status changes of executions and cancels: to the user's event streams, to clients that wait for the
 * completion of a signal, and to the counters.
 */
import type { EventHub } from '../events/hub.js';
import { toIsoTime } from '../lib/clock.js';
import type { CounterSet, CounterTable } from '../lib/instruments.js';
import { isFinal, type Execution, type ExecutionStatus } from '../model/execution.js';
import type { ReasonCode } from '../model/reason-codes.js';
import { sourceKey } from '../model/source-name.js';
import type { CompletionWaits } from './completion-waits.js';
import { toCancelView, toExecutionView } from './signal-view.js';

export interface AnnouncerDeps {
  readonly hub: EventHub;
  readonly executionsByStatus: CounterSet<ExecutionStatus>;
  readonly ordersByPlatform: CounterTable<ExecutionStatus>;
  readonly deniedByReason: CounterSet<ReasonCode>;
  readonly waits: Pick<CompletionWaits, 'becameFinal'>;
}

/** Whether `announce` announces the change: a new status, or a new cancel or cancel status. */
export function isTold(before: Execution, after: Execution): boolean {
  return before.status !== after.status || isNewCancel(before, after);
}

function isNewCancel(before: Execution | undefined, { cancel }: Execution): boolean {
  return (
    before?.cancel?.cancelRequestId !== cancel?.cancelRequestId ||
    before?.cancel?.status !== cancel?.status
  );
}

export class Announcer {
  readonly #deps: AnnouncerDeps;

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
  }

  /** @param before undefined for a newly accepted execution. */
  announce(userId: string, before: Execution | undefined, after: Execution): void {
    const isNewStatus = before?.status !== after.status;
    if (isNewStatus) this.#count(after);
    // The 202 already says that the execution is queued.
    if (isNewStatus && after.status !== 'queued') this.#publish(userId, after, 'command_result');
    if (isNewStatus && isFinal(after.status)) {
      this.#deps.waits.becameFinal(userId, after.requestId);
    }
    if (isNewCancel(before, after) && after.cancel !== null) {
      this.#publish(userId, after, 'cancel_update');
    }
  }

  #count({ status, platform, orderRef, reasonCode }: Execution): void {
    this.#deps.executionsByStatus.add(status);
    if (orderRef !== null) this.#deps.ordersByPlatform.add(platform, status);
    if (status === 'denied' && reasonCode !== null) this.#deps.deniedByReason.add(reasonCode);
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
      execution: after,
      data:
        name === 'cancel_update' && cancel !== null ? toCancelView(cancel) : toExecutionView(after),
    });
  }
}
