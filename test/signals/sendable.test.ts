import t from 'tap';
import { executionIdOf, firstUlidAt, requestIdOf } from '../../src/lib/ids.js';
import { cancelResendMs } from '../../src/model/cancellation.js';
import { sendable } from '../../src/signals/sendable.js';
import { putRecord } from '../../src/signals/stored-execution.js';
import { createMemoryStore } from '../support/memory-store.js';
import { anExecution } from './an-execution.js';

const now = Date.UTC(2026, 0, 15, 12);

t.test('open orders and unknown ones come by user, in the order of acceptance', async (t) => {
  const store = createMemoryStore();
  const idOf = (n: number) => executionIdOf(requestIdOf(firstUlidAt(n)), 0);
  await store.write((batch) => {
    for (const [userId, n, status, age] of [
      ['u1', 1, 'working', 0],
      ['u1', 2, 'unknown', cancelResendMs],
      ['u1', 3, 'unknown', cancelResendMs - 1],
      ['u1', 5, 'dispatched', 0],
      ['u1', 6, 'filled', 0],
      ['u2', 1, 'unknown', 0],
      ['u2', 4, 'queued', 0],
    ] as const) {
      const record = anExecution(status, { executionId: idOf(n), updatedAt: now - age });
      putRecord(batch, [userId, record.executionId], record, 'open');
    }
  });
  const found = (userId?: string) =>
    [...sendable(store, now, userId)].map(({ key, record }) => [key[0], key[1], record.status]);
  const own = [
    ['u1', idOf(1), 'working'],
    ['u1', idOf(3), 'unknown'],
    ['u1', idOf(5), 'dispatched'],
  ];
  t.strictSame(found('u1'), own);
  t.strictSame(found(), [...own, ['u2', idOf(1), 'unknown'], ['u2', idOf(4), 'queued']]);
});
