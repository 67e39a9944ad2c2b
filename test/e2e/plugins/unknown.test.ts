/** Orders whose fate nobody tells: called unknown in time, for the right reason, and corrected later. */
import t from 'tap';
import { openDesk, report, tell, type Trader } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';

const executionConfirmTimeoutMs = 2_500;
const desk = await openDesk(t, { limits: { executionConfirmTimeoutMs } });

async function becomes(trader: Trader, requestId: string, status: string): Promise<any> {
  return eventually(async () => {
    const execution = await desk.execution(trader, requestId);
    return execution.status === status && execution;
  });
}

t.test('sent and never confirmed: confirmation_timeout, and not before its time', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const silent = await desk.order(trader, plugin);
  const noted = await desk.order(trader, plugin);
  plugin.send({ type: 'ack', executionId: noted.executionId });
  const first = await becomes(trader, silent.requestId, 'unknown');
  t.match(first, { reasonCode: 'confirmation_timeout', delivery: 'sent', confirmedAt: null });
  const took = Date.parse(first.updatedAt) - Date.parse(first.dispatchedAt);
  t.ok(took >= executionConfirmTimeoutMs - 5, `called so after ${took} ms`);
  const second = await becomes(trader, noted.requestId, 'unknown');
  t.match(
    second,
    { reasonCode: 'confirmation_timeout', delivery: 'confirmed' },
    'an ack alone confirms nothing but its receipt',
  );
  plugin.close();
});

t.test('an unknown is corrected by whatever a late report proves', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const statuses = [
    'submitted',
    'working',
    'partially_filled',
    'filled',
    'completed',
    'cancelled',
    'rejected',
    'expired',
  ];
  const orders = [];
  for (const status of statuses) orders.push({ status, ...(await desk.order(trader, plugin)) });
  for (const [index, { status, requestId, executionId }] of orders.entries()) {
    await becomes(trader, requestId, 'unknown');
    await tell(plugin, report(index + 1, executionId, status));
    const execution = await desk.execution(trader, requestId);
    t.match(execution, { status, reasonCode: null, delivery: 'confirmed' });
  }
  plugin.close();
});

t.test('an order that was confirmed in time stays what it is', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const resting = await desk.order(trader, plugin);
  await tell(plugin, report(1, resting.executionId, 'working'));
  const silent = await desk.order(trader, plugin);
  await becomes(trader, silent.requestId, 'unknown');
  t.equal((await desk.execution(trader, resting.requestId)).status, 'working');
  plugin.close();
});

t.test('the plugin that carried it is gone: disconnected_after_send', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const order = await desk.order(trader, plugin);
  plugin.cut();
  const execution = await becomes(trader, order.requestId, 'unknown');
  t.match(execution, { reasonCode: 'disconnected_after_send', delivery: 'sent' });
  const again = await desk.plugin(trader);
  const repeated = await again.next('submit', { executionId: order.executionId });
  t.ok(repeated, 'it was never acknowledged, so it is sent again while its TTL lasts');
  await tell(again, report(1, order.executionId, 'filled'));
  t.equal((await desk.execution(trader, order.requestId)).status, 'filled');
  again.close();
});

t.test('the gateway has restarted in between: gateway_restarted', async (t) => {
  const trader = await desk.trader();
  for (const end of ['SIGKILL', 'SIGTERM'] as const) {
    const plugin = await desk.plugin(trader);
    const order = await desk.order(trader, plugin);
    plugin.send({ type: 'ack', executionId: order.executionId });
    await becomes(trader, order.requestId, 'submitted');
    await desk.restart(end);
    const execution = await becomes(trader, order.requestId, 'unknown');
    t.match(execution, { reasonCode: 'gateway_restarted', delivery: 'confirmed' }, end);
    const again = await desk.plugin(trader, {
      executions: [{ executionId: order.executionId, status: 'filled' }],
    });
    await becomes(trader, order.requestId, 'filled');
    again.cut();
  }
});

t.test('a request is completed once each of its executions is final', async (t) => {
  const trader = await desk.trader();
  const one = await desk.plugin(trader);
  const two = await desk.plugin(trader, { instanceId: 'desk-2' });
  const requestId = await desk.submit(trader);
  const frames = [await one.next('submit'), await two.next('submit')];
  await tell(one, report(1, frames[0]?.['executionId'], 'filled'));
  const { requestStatus } = await readRequest(trader, requestId);
  t.equal(requestStatus, 'accepted');
  await eventually(
    async () => (await readRequest(trader, requestId)).requestStatus === 'completed',
  );
  t.same((await readRequest(trader, requestId)).statuses, ['filled', 'unknown']);
  one.close();
  two.close();
});

async function readRequest(trader: Trader, requestId: string) {
  const answer = await desk.read(trader, requestId);
  const statuses = answer.executions.map(({ status }: { status: string }) => status);
  return { requestStatus: answer.status, statuses };
}
