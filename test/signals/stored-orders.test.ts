import t from 'tap';
import { createIdSource } from '../../src/lib/ids.js';
import { cancelStoredOrders } from '../../src/signals/stored-orders.js';
import { SimulatedGateway, turns, dispatched } from '../support/simulated-gateway.js';

t.test('without a gateway the cancels are stored, and leave once one runs', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const [resting = ''] = await gateway.submit();
  plugin.say({ type: 'ack', executionId: resting });
  const mute = await gateway.plugin({ instanceId: 'mute', capabilities: ['submit'] });
  const [deaf = ''] = await gateway.submit({ instanceId: 'mute' });
  mute.say({ type: 'ack', executionId: deaf });
  const away = await gateway.plugin({ instanceId: 'away' });
  away.drop();
  const [queued = ''] = await gateway.submit({ instanceId: 'away' });
  await turns();
  gateway.deadlines.stop();

  const { cancelled, counts } = await cancelStored(gateway);
  t.equal(cancelled.matched, 3);
  t.same(counts, { requested: 1, already_requested: 0, denied: 1, not_sent: 1 });
  const next = gateway.restart();
  t.match(next.durable(queued), { status: 'denied', reasonCode: 'cancelled_by_operator' });
  t.match(next.durable(deaf)?.cancel, { reasonCode: 'terminal_capability_missing' });
  const again = await next.plugin();
  t.equal(again.of('cancel').length, 1);
  again.say({ type: 'report', seq: 1, executionId: resting, status: 'cancelled' });
  await turns();
  t.match(next.durable(resting), { status: 'cancelled', reasonCode: 'cancelled_by_operator' });
});

t.test('a terminal that is not known is taken to support cancels', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'ack', executionId: id });
  await turns();
  gateway.deadlines.stop();
  await gateway.memory.write((batch) => {
    batch.remove('sources', ['u1', 'terminal_a', 'desk-1', 'Sim101']);
  });
  t.match((await cancelStored(gateway)).counts, { requested: 1 });
});

/** Cancels all orders of u1, as the command does. */
function cancelStored({ clock, limits, memory: store }: SimulatedGateway) {
  return cancelStoredOrders(
    { store, clock, limits, ids: createIdSource(clock) },
    { userId: 'u1', isMeant: () => true, cause: 'cancelled_by_operator' },
  );
}
