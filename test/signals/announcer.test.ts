import t from 'tap';
import { aFill } from './an-execution.js';
import {
  publishedEvents,
  SimulatedGateway,
  turns,
  dispatched,
} from '../support/simulated-gateway.js';

t.test('every change of state of an execution and of its cancel is one event', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'ack', executionId: id });
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'working', filledQuantity: 1 });
  await turns();
  const cancelRequestId = await gateway.cancel(id);
  plugin.say({ type: 'ack', cancelRequestId });
  plugin.say({ type: 'report', seq: 3, executionId: id, status: 'partially_filled' });
  plugin.say({ type: 'cancel_report', seq: 4, cancelRequestId, status: 'cancelled' });
  await turns();
  t.strictSame(
    publishedEvents(gateway)
      .filter(({ name }) => name !== 'source_status')
      .map(({ name, data }) => `${name} ${data.data.status}`),
    [
      'command_result dispatched',
      'command_result submitted',
      'command_result working',
      'cancel_update requested',
      'cancel_update dispatched',
      'cancel_update pending',
      'command_result partially_filled',
      'command_result cancelled',
      'cancel_update cancelled',
    ],
  );
  const { counters } = gateway.instruments.executionsByStatus;
  const counted = Object.entries(counters).filter(([, { value }]) => value > 0);
  t.strictSame(
    counted.map(([status, { value }]) => [status, value]),
    [
      ['queued', 1],
      ['dispatched', 1],
      ['submitted', 1],
      ['working', 1],
      ['partially_filled', 1],
      ['cancelled', 1],
    ],
    'and each status counts once, whatever its cancel does',
  );
});

t.test(
  'an event has the fills of its change, and none that came while it was written',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    const report = { type: 'report', executionId: id, status: 'partially_filled' };
    plugin.say({ ...report, seq: 1, fill: aFill('f1', 1) });
    plugin.say({ ...report, seq: 2, fill: aFill('f2', 1) });
    await turns();
    const { data } = publishedEvents(gateway).at(-1) ?? {};
    t.strictSame((data?.data as { fills?: object[] } | undefined)?.fills, [aFill('f1', 1)]);
  },
);

t.test('the events name what they are about', async (t) => {
  const { gateway, id } = await dispatched();
  t.match(publishedEvents(gateway).at(-1), {
    name: 'command_result',
    data: {
      occurredAt: '2026-01-15T12:00:00.000Z',
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      requestId: `req_${id.slice(4, 30)}`,
      signalId: 's1',
      executionId: id,
      orderRef: `ord${id.slice(3)}`,
      data: { executionId: id, status: 'dispatched', delivery: 'sent', cancel: null },
    },
  });
});

t.test(
  'one that was denied for a terminal that cannot submit is told to that terminal’s stream',
  async (t) => {
    const gateway = new SimulatedGateway();
    await gateway.plugin({ capabilities: ['cancel'] });
    await gateway.submit();
    t.match(publishedEvents(gateway).at(-1), {
      name: 'command_result',
      data: { data: { status: 'denied', reasonCode: 'terminal_capability_missing' } },
    });
  },
);

t.test('one that was denied for want of a terminal belongs to no stream', async (t) => {
  const gateway = new SimulatedGateway();
  const before = gateway.hub.ringOf('u1').lastSeq;
  await gateway.submit({ platform: 'terminal_b' });
  t.equal(gateway.hub.ringOf('u1').lastSeq, before);
});

t.test('orders are counted by platform and status, and what is denied by its reason', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  await gateway.submit();
  await gateway.submit({ platform: 'terminal_b' });
  await gateway.submit({ type: 'account', cmd: 'flatten' });
  const { ordersByPlatform, deniedByReason, executionsByStatus } = gateway.instruments;
  const counted = (platform: string, status: 'dispatched' | 'denied'): number | undefined =>
    ordersByPlatform.rows.get(platform)?.counters[status].value;
  t.equal(counted('terminal_a', 'dispatched'), 1, 'a command that is no order is not counted');
  t.equal(counted('terminal_b', 'denied'), 1);
  t.equal(executionsByStatus.counters.dispatched.value, 2);
  t.equal(deniedByReason.counters.no_active_terminal.value, 1);
});

t.test('an event lists the first sixteen fills, and says so if there are more', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const report = { type: 'report', executionId: id, status: 'partially_filled' };
  for (let seq = 1; seq <= 16; seq++) plugin.say({ ...report, seq, fill: aFill(`f${seq}`, 0.1) });
  plugin.say({ ...report, seq: 17, status: 'unknown' });
  plugin.say({ ...report, seq: 18, fill: aFill('f17', 0.1) });
  await turns();
  const [whole, cut] = publishedEvents(gateway).slice(-2);
  t.match(whole?.data.data, { status: 'unknown', filledQuantity: 1.6, fills: { length: 16 } });
  t.notMatch(whole?.data.data, { fillsTruncated: true });
  const cutFills = { filledQuantity: 1.7, fills: { length: 16 }, fillsTruncated: true };
  t.match(cut?.data.data, { status: 'partially_filled', ...cutFills });
});
