import t from 'tap';
import { CancelJudge } from '../../src/signals/cancel-judge.js';
import type { ExecutionBook } from '../../src/signals/execution-book.js';
import { createMemoryStore } from '../support/memory-store.js';

t.test('orders of other keys are passed over unread, thousands in each turn', async (t) => {
  const entries = Array.from({ length: 100_000 }, (_, i) => ({ executionId: `${i}`, keyId: 8 }));
  const read: string[] = [];
  const book = {
    walk: () => [...entries, { executionId: 'own', keyId: 7 }],
    watch: () => ({ changed: new Set<string>(), end: () => undefined }),
    find: (_: string, executionId: string) => void read.push(executionId),
  } as unknown as ExecutionBook;
  const judge = new CancelJudge({ store: createMemoryStore(), book, mayCancel: () => true });
  let turns = 0;
  const order = {
    userId: 'u1',
    keyId: 7,
    isMeant: () => true,
    cause: 'cancel_after_expired',
  } as const;
  await judge.judge(
    order,
    async () => void turns++,
    ({ matched }) => t.equal(matched.size, 0),
  );
  t.strictSame(read, ['own']);
  t.equal(turns, Math.floor(entries.length / 256 / 64));
});
