import t from 'tap';
import {
  cancelStates,
  isFinalCancel,
  reportableCancelStatuses,
  type CancelStatus,
} from '../../src/model/cancellation.js';
import { cancelMoves, openCancels, reportedCancels } from './contract-states.js';

t.test('the states of a cancel and their moves are the contract’s', async (t) => {
  const statuses = Object.keys(cancelStates) as CancelStatus[];
  t.strictSame(
    Object.fromEntries(statuses.map((from) => [from, cancelStates[from].next])),
    cancelMoves,
  );
  for (const from of statuses) t.equal(isFinalCancel(from), !openCancels.includes(from), from);
});

t.test('a terminal reports all but what is the gateway’s own knowledge', async (t) => {
  t.strictSame(reportableCancelStatuses, reportedCancels);
});
