/** Cancels of an order in the last hour before its request is removed, in which it changes no more. */
import t from 'tap';
import { createCancelOrder } from '../../src/endpoints/cancel-order.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import type { KeyOwner } from '../../src/auth/api-key.js';
import { dayMs, hourMs } from '../../src/lib/durations.js';
import { SimulatedGateway, turns, user } from '../support/simulated-gateway.js';

const caller = { user, key: { id: 1 } } as KeyOwner;

t.test('a retry gets the stored answer until its record expires', async (t) => {
  const { gateway, ask } = await cancelled();
  const first = await ask('first');
  t.equal(first[0], 202);
  gateway.clock.advance(dayMs - 1);
  t.strictSame(await ask('first'), first);
  t.strictSame(await ask('second'), ['order_not_cancellable']);
});

t.test(
  'one of unknown outcome is cancelled until that hour, and then is no stranger',
  async (t) => {
    for (const [ms, outcome] of [
      [dayMs - hourMs - 1, 202],
      [dayMs - hourMs, 'order_not_cancellable'],
    ] as const) {
      const { gateway, plugin, executionId, ask } = await dispatched();
      plugin.say({ type: 'report', seq: 1, executionId, status: 'unknown' });
      await turns();
      gateway.clock.advance(ms);
      await gateway.plugin();
      t.equal((await ask('late'))[0], outcome);
    }
  },
);

/** An order whose cancel has ended it, at a retention as short as it may be. */
async function cancelled() {
  const all = await dispatched();
  const { plugin, executionId, ask } = all;
  plugin.say({ type: 'report', seq: 1, executionId, status: 'working' });
  await turns();
  await ask('first');
  plugin.say({ type: 'report', seq: 2, executionId, status: 'cancelled' });
  await turns();
  return all;
}

async function dispatched() {
  const gateway = new SimulatedGateway({ limits: { executionRetentionDays: 1 } });
  const { store, clock, limits, book, idempotency, registry, health, core } = gateway;
  const cancel = createCancelOrder({
    ...{ store, clock, limits, book, idempotency, registry },
    gate: {
      readBody: (_: unknown, by: KeyOwner, then: (by: KeyOwner) => void) => then(by),
    } as unknown as Gate,
    acceptance: core.cancels,
    storage: health,
  });
  const plugin = await gateway.plugin();
  const [executionId = ''] = await gateway.submit();
  const { orderRef } = gateway.execution(executionId);

  /** @returns status and body, or the code of the refusal. */
  async function ask(key: string): Promise<unknown[]> {
    let answer: unknown[] = [];
    const exchange = {
      head: { idempotencyKey: key, idempotencyKeyCount: 1 },
      request: { parameter: orderRef },
      trailOf: () => ({}),
      reply: (status: number, body: string) => (answer = [status, body]),
      fail: (code: string) => (answer = [code]),
    };
    void cancel(exchange as unknown as Exchange, caller);
    await turns();
    return answer;
  }
  return { gateway, plugin, executionId, ask };
}
