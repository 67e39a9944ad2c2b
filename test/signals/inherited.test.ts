import t from 'tap';
import { asRecovered } from '../../src/signals/execution-book.js';
import { aCancel, anExecution } from './an-execution.js';

t.test('what may have been sent counts as sent, what was not does not', (t) => {
  const maybe = anExecution('queued', { maySend: true });
  t.match(asRecovered(maybe), {
    status: 'dispatched',
    delivery: 'sent',
    dispatchedAt: maybe.createdAt,
  });
  const unsent = anExecution('queued', { maySend: false });
  t.equal(asRecovered(unsent), unsent);
  t.end();
});

t.test('a cancel that was asked for counts as sent, one that is further on is left', (t) => {
  const cancel = aCancel('requested');
  t.match(asRecovered(anExecution('working', { cancel })).cancel, {
    status: 'dispatched',
    dispatchedAt: cancel.requestedAt,
  });
  for (const status of ['dispatched', 'pending', 'rejected', 'unknown'] as const) {
    const execution = anExecution('working', { cancel: aCancel(status) });
    t.equal(asRecovered(execution), execution, status);
  }
  t.end();
});
