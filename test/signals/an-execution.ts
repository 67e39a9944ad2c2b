/** Executions and cancels in any state, for the tests of their moves. */
import type { FillRoom } from '../../src/signals/fills.js';
import type { Cancellation, CancelStatus } from '../../src/model/cancellation.js';
import type { Execution, ExecutionStatus, Fill } from '../../src/model/execution.js';
import { acceptedSignal } from '../support/accepted-signal.js';

const born = acceptedSignal({ userId: 'u1' }).execution;

/** An order for ten in this state, as the gateway would have left it. */
export function anExecution(status: ExecutionStatus, change: Partial<Execution> = {}): Execution {
  const wasSent = status !== 'queued' && status !== 'denied';
  return {
    ...born,
    status,
    delivery: wasSent ? 'sent' : 'not_sent',
    dispatchedAt: wasSent ? born.createdAt + 1 : null,
    maySend: wasSent,
    quantity: 10,
    filledQuantity: 0,
    remainingQuantity: 10,
    ...change,
  };
}

export function aCancel(status: CancelStatus, change: Partial<Cancellation> = {}): Cancellation {
  return {
    cancelRequestId: `can_${born.executionId.slice(4)}_1`,
    attempt: 1,
    status,
    reasonCode: null,
    requestedAt: born.createdAt,
    dispatchedAt: status === 'requested' ? null : born.createdAt,
    updatedAt: born.createdAt,
    acknowledged: false,
    ...change,
  };
}

export function aFill(fillId: string, quantity: number, price = 100): Fill {
  return { fillId, price, quantity, filledAt: '2026-01-15T12:00:01.000Z' };
}

/** Room for so many listed fills. */
export function roomFor(listed: number): FillRoom {
  return { listed, ids: 64 };
}
