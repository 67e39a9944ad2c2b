import t from 'tap';
import {
  cancelStates,
  isFinalCancel,
  reportableCancelStatuses,
  type CancelStatus,
} from '../../src/model/cancellation.js';

/**
 * The contract's chain, section 4. `requested` has not left the gateway, so no terminal can reject it; a late
 * fill undoes `cancelled`; a terminal may still report on a cancel that was called `unknown`.
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
