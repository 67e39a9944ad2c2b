import t from 'tap';
import { executionIdOf } from '../../src/lib/ids.js';
import { SignalReader } from '../../src/signals/signal-reader.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns, working } from '../support/simulated-gateway.js';

t.test('a status with long texts of terminals is a long one, whose JSON is not kept', async (t) => {
  const { request, execution } = acceptedSignal({ userId: 'u1' });
  const { requestId } = request;
  const native = { orderId: null, state: null, code: null, text: 'x'.repeat(8_192) };
  for (const [executionCount, isLong] of [
    [6, false],
    [7, true],
  ] as const) {
    const store = createMemoryStore(new SimulatedClock());
    await store.write((batch) => {
      batch.put('requests', ['u1', requestId], { ...request, executionCount });
      for (let index = 0; index < executionCount; index++) {
        const executionId = executionIdOf(requestId, index);
        batch.put('openExecutions', ['u1', executionId], { ...execution, executionId, native });
      }
    });
    const read = new SignalReader({ store, fillsMax: 1 }).read('u1', requestId);
    t.equal(read?.isLong, isLong, `${executionCount} texts`);
    t.equal(read?.json() === read?.json(), !isLong);
  }
});

t.test('the JSON of a request is kept until one of its executions changes', async (t) => {
  const { gateway, plugin, id } = await working();
  const { requestId } = gateway.execution(id);
  const reader = new SignalReader({ store: gateway.store, fillsMax: 1 });
  const read = () => reader.read('u1', requestId)?.json();
  const before = read();
  t.equal(read(), before, 'the same bytes');
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
  await turns();
  t.match(JSON.parse(String(read())), { status: 'completed' });
});
