import t from 'tap';
import { executionIdOf } from '../../src/lib/ids.js';
import { SignalReader } from '../../src/signals/signal-reader.js';
import { acceptedSignal } from '../support/accepted-signal.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';

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
