import t from 'tap';
import {
  executionStates,
  isCancellable,
  isFinal,
  isSettled,
  mayMove,
  type ExecutionStatus,
} from '../../src/model/execution.js';
import { aCancel, anExecution } from '../signals/an-execution.js';

/** The contract's table, section 4. Nobody but the gateway itself can deny. */
const documented: Record<string, { final: boolean; next: readonly string[] }> = {
  queued: { final: false, next: ['dispatched', 'denied', 'expired'] },
  dispatched: {
    final: false,
    next: [
      'submitted',
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  submitted: {
    final: false,
    next: [
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  working: {
    final: false,
    next: [
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
      'unknown',
    ],
  },
  partially_filled: { final: false, next: ['filled', 'cancelled', 'expired', 'unknown'] },
  filled: { final: true, next: [] },
  completed: { final: true, next: [] },
  cancelled: { final: true, next: ['filled'] },
  rejected: { final: true, next: [] },
  denied: { final: true, next: [] },
  expired: { final: true, next: [] },
  unknown: {
    final: true,
    next: [
      'submitted',
      'working',
      'partially_filled',
      'filled',
      'completed',
      'cancelled',
      'rejected',
      'expired',
    ],
  },
};
const statuses = Object.keys(documented) as ExecutionStatus[];

t.test('the states and their moves are the contract’s', async (t) => {
  t.strictSame(executionStates, documented);
  for (const from of statuses) {
    t.equal(isFinal(from), documented[from]?.final, from);
    for (const to of statuses) {
      t.equal(mayMove(from, to), documented[from]?.next.includes(to), `${from} → ${to}`);
    }
  }
});

t.test('cancellable are orders that live at the terminal, or may', async (t) => {
  const cancellable = statuses.filter((status) => isCancellable(anExecution(status)));
  t.strictSame(cancellable, ['submitted', 'working', 'partially_filled', 'unknown']);
  t.equal(isCancellable(anExecution('unknown', { dispatchedAt: null })), false);
});

t.test('settled is what is final together with its cancel', async (t) => {
  for (const status of statuses) {
    t.equal(isSettled(anExecution(status)), documented[status]?.final);
    t.equal(isSettled(anExecution(status, { cancel: aCancel('pending') })), false);
    t.equal(
      isSettled(anExecution(status, { cancel: aCancel('too_late') })),
      documented[status]?.final,
    );
  }
});
