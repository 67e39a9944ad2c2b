import t from 'tap';
import type { CancelStatus, ExecutionStatus } from '../../src/client/bot-client.js';
import { cancelStates } from '../../src/model/cancellation.js';
import { executionStates } from '../../src/model/execution.js';

/** Does not compile if the client's union lacks a status, or has another. */
const executionStatuses: Record<ExecutionStatus, true> = {
  queued: true,
  dispatched: true,
  submitted: true,
  working: true,
  partially_filled: true,
  filled: true,
  completed: true,
  cancelled: true,
  rejected: true,
  denied: true,
  expired: true,
  unknown: true,
};
const cancelStatuses: Record<CancelStatus, true> = {
  requested: true,
  dispatched: true,
  pending: true,
  cancelled: true,
  rejected: true,
  too_late: true,
  not_sent: true,
  unknown: true,
};

t.test('the client knows exactly the states that the gateway has', (t) => {
  t.strictSame(Object.keys(executionStatuses), Object.keys(executionStates));
  t.strictSame(Object.keys(cancelStatuses), Object.keys(cancelStates));
  t.end();
});
