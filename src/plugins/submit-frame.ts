/** Encodes the `submit` frame of an execution. Copies the payload's text, so that no number loses precision. */
import { toIsoTime } from '../lib/clock.js';
import type { Execution } from '../model/execution.js';
import type { SignalRequest } from '../model/records.js';

export function submitFrame(request: SignalRequest, execution: Execution): string {
  const head = JSON.stringify({
    type: 'submit',
    executionId: execution.executionId,
    requestId: request.requestId,
    signalId: request.signalId,
    ...(execution.orderRef === null ? {} : { orderRef: execution.orderRef }),
    signalType: request.type,
    cmd: request.cmd,
    ts: request.ts,
    expiresAt: toIsoTime(request.expiresAt),
  });
  return `${head.slice(0, -1)},"payload":${request.payload}}`;
}
