import t from 'tap';
import {
  cancelStates,
  isFinalCancel,
  moveCancel,
  reportableCancelStatuses,
  settleCancel,
  type CancelStatus,
} from '../../src/model/cancellation.js';
import { executionStates, type ExecutionStatus } from '../../src/model/execution.js';
import { aCancel } from '../signals/an-execution.js';

/**
 * The contract's chain, section 4. `requested` has not left the gateway, so no terminal can reject
 * it; a late fill undoes `cancelled`; a terminal may take up after all what was called `unknown`.
 */
const documented: Record<string, { final: boolean; next: readonly string[] }> = {
  requested: {
    final: false,
    next: ['dispatched', 'cancelled', 'too_late', 'not_sent', 'unknown'],
  },
  dispatched: {
    final: false,
    next: ['pending', 'cancelled', 'rejected', 'too_late', 'unknown'],
  },
  pending: { final: false, next: ['cancelled', 'rejected', 'too_late', 'unknown'] },
  cancelled: { final: true, next: ['too_late'] },
  rejected: { final: true, next: [] },
  too_late: { final: true, next: [] },
  not_sent: { final: true, next: [] },
  unknown: { final: true, next: ['pending', 'cancelled', 'rejected', 'too_late'] },
};
const statuses = Object.keys(documented) as CancelStatus[];

t.test('the states of a cancel and their moves are the contract’s', async (t) => {
  t.strictSame(cancelStates, documented);
  for (const from of statuses) {
    t.equal(isFinalCancel(from), documented[from]?.final, from);
    for (const to of statuses) {
      const after = moveCancel(aCancel(from), to, 'unable_to_cancel', 77);
      if (documented[from]?.next.includes(to) !== true)
        t.equal(after, undefined, `${from} → ${to}`);
      else t.match(after, { status: to, reasonCode: 'unable_to_cancel', updatedAt: 77 });
    }
  }
});

t.test('a terminal reports all but what is the gateway’s own knowledge', async (t) => {
  t.strictSame(reportableCancelStatuses, [
    'pending',
    'cancelled',
    'rejected',
    'too_late',
    'unknown',
  ]);
});

/** How the order's own end ends a cancel of it that is open. */
const endings: Partial<Record<ExecutionStatus, [CancelStatus, string | null]>> = {
  filled: ['too_late', 'already_filled'],
  completed: ['too_late', 'already_filled'],
  cancelled: ['cancelled', null],
  rejected: ['too_late', 'already_cancelled'],
  expired: ['too_late', 'already_cancelled'],
};

t.test('the end of the order ends its cancel, and nothing else does', async (t) => {
  for (const execution of Object.keys(executionStates) as ExecutionStatus[]) {
    const ending = endings[execution];
    for (const from of statuses) {
      const before = aCancel(from, { reasonCode: 'cancel_timeout' });
      const after = settleCancel(before, execution, 99);
      const isMoved = ending !== undefined && documented[from]?.next.includes(ending[0]) === true;
      const [status, reasonCode] = isMoved ? ending : [from, 'cancel_timeout'];
      t.match(after, { status, reasonCode }, `${from} when ${execution}`);
      t.equal(after.updatedAt, isMoved ? 99 : before.updatedAt);
    }
  }
});
