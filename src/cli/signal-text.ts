/** A signal as the operator sees it: as the user does, and whose it is, with which key and from where. */
import type { ListedSignal } from '../admin/signal-operations.js';
import { toIsoTime } from '../lib/clock.js';
import type { SignalRequest } from '../model/records.js';
import type { Trail } from '../model/trail.js';
import { type ShownExecution, toSignalView } from '../signals/signal-view.js';

export interface Owner {
  readonly email: string;
  readonly userId: string;
}

export function toListedView(signal: ListedSignal) {
  const { email, userId, executions } = signal;
  return { ...ownView(signal, { email, userId }), executions };
}

export function toOperatorView(
  request: SignalRequest,
  owner: Owner,
  executions: readonly ShownExecution[],
) {
  const view = toSignalView(request, executions);
  return {
    ...view,
    ...ownView(request, owner),
    payload: request.payload,
    executions: view.executions.map((shown, index) => {
      const cancel = executions[index]?.cancel ?? null;
      return {
        ...shown,
        cancel:
          shown.cancel === null || cancel === null ? null : { ...shown.cancel, ...trailOf(cancel) },
      };
    }),
  };
}

function ownView(request: Omit<ListedSignal, 'executions' | keyof Owner>, owner: Owner) {
  const { requestId, signalId, acceptedAt, platform, type, cmd } = request;
  return {
    requestId,
    signalId,
    acceptedAt: toIsoTime(acceptedAt),
    platform,
    type,
    cmd,
    ...owner,
    ...trailOf(request),
  };
}

/** Null where an earlier version has written the record. */
function trailOf({ keyId, clientAddress, traceId }: Trail) {
  return { keyId: keyId ?? null, clientAddress: clientAddress ?? null, traceId: traceId ?? null };
}
