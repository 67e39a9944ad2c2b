/** Orders of a terminal that never comes back. */
import t from 'tap';
import { dayMs, hourMs } from '../../src/lib/durations.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

/** Makes orders of `desk-1` in these states, whose terminal then leaves. */
async function leave(statuses: readonly string[], gateway = new SimulatedGateway()) {
  const plugin = await gateway.plugin();
  const orders: string[] = [];
  for (const [index, status] of statuses.entries()) {
    const [executionId = ''] = await gateway.submit();
    plugin.say({ type: 'report', seq: index + 1, executionId, status });
    orders.push(executionId);
  }
  await turns();
  plugin.drop();
  return { gateway, orders };
}

function statesOf(gateway: SimulatedGateway, orders: readonly string[]) {
  return orders.map((order) => {
    const execution = gateway.durable(order);
    return [execution?.status, execution?.reasonCode];
  });
}

const open = ['submitted', 'working', 'partially_filled'];
const unknown = ['unknown', 'disconnected_after_send'];

t.test('open orders of a removed source become unknown, and are open no more', async (t) => {
  const { gateway, orders } = await leave([...open, 'filled']);
  await gateway.pass(30 * dayMs, hourMs);
  t.strictSame(
    statesOf(gateway, orders).map(([status]) => status),
    [...open, 'filled'],
    'the source is known',
  );
  t.equal(gateway.book.openOrders.of(1), open.length);
  await gateway.pass(2 * hourMs, hourMs);
  t.strictSame(statesOf(gateway, orders), [unknown, unknown, unknown, ['filled', null]]);
  t.equal(gateway.book.openOrders.of(1), 0);
});

t.test('a terminal that comes back all the same corrects them', async (t) => {
  const { gateway, orders } = await leave(['working', 'working']);
  await gateway.pass(31 * dayMs, hourMs);
  const [executionId = ''] = orders;
  const back = await gateway.plugin({ executions: [{ executionId, status: 'working' }] });
  await gateway.pass(2 * hourMs, hourMs);
  t.strictSame(statesOf(gateway, orders), [['working', null], unknown]);
  t.equal(back.of('welcome').length, 1);
});

t.test('what a crash left of a removed source is given up in the next life', async (t) => {
  const { gateway, orders } = await leave(['working']);
  await gateway.store.write((batch) => {
    batch.remove('sources', ['u1', 'terminal_a', 'desk-1', 'Sim101']);
  });
  const next = gateway.restart();
  await next.pass(hourMs - 1);
  t.strictSame(statesOf(next, orders), [['working', null]]);
  await next.pass(1);
  t.strictSame(statesOf(next, orders), [unknown]);
});

t.test('one that comes back while they are given up keeps what is left', async (t) => {
  const gateway = new SimulatedGateway();
  const { orders } = await leave(
    Array.from({ length: 300 }, () => 'working'),
    gateway,
  );
  await gateway.pass(30 * dayMs, hourMs);
  gateway.clock.advance(2 * hourMs);
  // The gateway gives up only a first slice of the orders in this turn.
  await turns(1);
  gateway.connect().hello();
  await turns();
  const states = statesOf(gateway, orders).map(([status]) => status);
  t.strictSame([states[0], states.at(-1)], ['unknown', 'working']);
});

t.test('none is given up once the gateway stops', async (t) => {
  const { gateway, orders } = await leave(['working']);
  await gateway.pass(30 * dayMs, hourMs);
  gateway.clock.advance(2 * hourMs);
  gateway.stop();
  await turns();
  t.strictSame(statesOf(gateway, orders), [['working', null]]);
});
