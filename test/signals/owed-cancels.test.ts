import t from 'tap';
import { CancelDebt, OwedCancels, owes } from '../../src/signals/owed-cancels.js';
import { createMemoryStore } from '../support/memory-store.js';
import { anExecution } from './an-execution.js';

const queued = anExecution('queued');
const { executionId } = queued;

function aDebt(userId: string, orders = [executionId]): CancelDebt {
  const decision = { cause: 'cancelled_by_api', requestedAt: 1, trail: {} } as const;
  const owed = new Map(orders.map((id) => [id, owes.denial(id)]));
  return new CancelDebt({ ...decision, userId, cancelAllId: 'cal_1' }, owed);
}

t.test('a decision counts once it is durable, and until it is removed itself', async (t) => {
  const owed = new OwedCancels();
  const debt = aDebt('u1');
  owed.add(debt);
  t.equal(owed.isDeciding('u1'), true);
  t.equal(owed.decided('u1', queued), queued);
  debt.becomeDurable();
  owed.remove(aDebt('u1'));
  const decided = owed.decided('u1', queued);
  t.match(decided, { status: 'denied', reasonCode: 'cancelled_by_api' });
  t.equal(owed.decided('u1', queued), decided, 'the same object for the same record');
  t.equal(owed.decided('u2', queued), queued);
  owed.remove(debt);
  t.equal(owed.decided('u1', queued), queued);
});

t.test('a decision on no order holds nothing up', async (t) => {
  const owed = new OwedCancels();
  owed.add(aDebt('u1', []));
  t.equal(owed.isDeciding('u1'), false);
  t.equal(
    owed.awaitDecision('u1', () => t.fail()),
    false,
  );
});

t.test('the decisions of one user are read without those of others', async (t) => {
  const store = createMemoryStore();
  await store.write((batch) => {
    for (const userId of ['u1', 'u2', 'u3']) aDebt(userId).put(batch);
  });
  const read = (userId?: string) =>
    new OwedCancels().load(store, userId).map(({ decision }) => decision.userId);
  t.strictSame(read('u2'), ['u2']);
  t.strictSame(read(), ['u1', 'u2', 'u3']);
});
