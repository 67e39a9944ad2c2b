import t from 'tap';
import { isUnchangeable } from '../../src/signals/unchangeable.js';
import { dayMs, hourMs } from '../../src/lib/durations.js';
import type { Execution } from '../../src/model/execution.js';
import { acceptedSignal, putSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedGateway, turns, dispatched } from '../support/simulated-gateway.js';

const limits = { executionRetentionDays: 30 };
const now = Date.UTC(2026, 0, 15);
const last = now - 30 * dayMs + hourMs;

async function setUp(changedAt: number) {
  const store = createMemoryStore();
  const signal = acceptedSignal({ userId: 'u', acceptedAt: now - 40 * dayMs });
  await store.write((batch) => putSignal(batch, signal, changedAt));
  const stored = (): Execution => {
    const key: [string, string] = ['u', signal.execution.executionId];
    return (store.get('finalExecutions', key) ?? store.get('openExecutions', key)) as Execution;
  };
  const judge = (): boolean => isUnchangeable(store, limits, 'u', stored(), now);
  const second = (changes: Partial<Execution>): Execution => ({
    ...stored(),
    executionId: signal.execution.executionId.replace(/0$/, '12'),
    ...changes,
  });
  return { store, judge, second };
}

t.test('in the last hour before its removal a request changes no more', async (t) => {
  t.ok((await setUp(last)).judge());
  t.notOk((await setUp(last + 1)).judge());
});

t.test('as long as one of its executions may change, all of them may', async (t) => {
  for (const [place, changes] of [
    ['openExecutions', { status: 'working' }],
    ['finalExecutions', { updatedAt: last + 1 }],
  ] as const) {
    const { store, judge, second } = await setUp(last);
    const other = second(changes);
    await store.write((batch) => batch.put(place, ['u', other.executionId], other));
    t.notOk(judge(), place);
  }
});

t.test('the book finds no execution that changes no more, and leaves it as it is', async (t) => {
  const gateway = new SimulatedGateway();
  const [id = ''] = await gateway.submit();
  const before = gateway.durable(id);
  gateway.clock.advance(30 * dayMs - hourMs - 1);
  t.ok(gateway.book.find('u1', id));
  gateway.clock.advance(1);
  t.equal(gateway.book.find('u1', id), undefined);
  t.same(gateway.durable(id), before);
});

t.test('a clock that is ahead by a month loses no late report', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'cancelled' });
  await turns();
  gateway.clock.stepWall(31 * dayMs);
  const fill = { fillId: 'f', price: 1, quantity: 1, filledAt: new Date().toISOString() };
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'partially_filled', fill });
  await turns();
  t.match(gateway.durable(id), { fills: [{ fillId: 'f' }] });
});
