import t from 'tap';
import type { AcceptedRequest } from './ledger.js';
import { StatusSnapshot } from './status-snapshot.js';

t.test('the last change of a request is told, though the ledger has let go of it', async (t) => {
  const executions = [{ executionId: 'exe_1_0', status: 'dispatched' }];
  const request = { user: 'ann', history: { last: { executions } } } as never as AcceptedRequest;
  const moving = new Set([request]);
  const snapshot = new StatusSnapshot({ moving });
  executions[0] = { executionId: 'exe_1_0', status: 'filled' };
  moving.clear();
  const changes = [{ user: 'ann', executionId: 'exe_1_0', status: 'filled' }];
  t.strictSame(snapshot.changes(), changes);
});
