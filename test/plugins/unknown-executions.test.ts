/** Orders without a report become unknown in time, for the right reason; a later report corrects them. */
import t from 'tap';
import { report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';

/** Longer than a busy machine takes to confirm. The tests run at the same time, to wait for it together. */
const executionConfirmTimeoutMs = 15_000;
const gateway = await startTestGateway(t, { limits: { executionConfirmTimeoutMs } });
t.jobs = 6;

t.test('sent and never confirmed: confirmation_timeout, and not before its time', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const silent = await gateway.order(user, plugin);
  const noted = await gateway.order(user, plugin);
  plugin.send({ type: 'ack', executionId: noted.executionId });
  const first = await gateway.becomes(user, silent.requestId, 'unknown');
  t.match(first, { reasonCode: 'confirmation_timeout', delivery: 'sent', confirmedAt: null });
  const took = Date.parse(first.updatedAt) - Date.parse(first.dispatchedAt);
  t.ok(took >= executionConfirmTimeoutMs - 5, `called so after ${took} ms`);
  const second = await gateway.becomes(user, noted.requestId, 'unknown');
  t.match(
    second,
    { reasonCode: 'confirmation_timeout', delivery: 'confirmed' },
    'an ack alone confirms nothing but its receipt',
  );
  plugin.close();
});

t.test('an order that was confirmed in time stays what it is', async (t) => {
  const { user, plugin, order: resting } = await gateway.resting();
  const silent = await gateway.order(user, plugin);
  await gateway.becomes(user, silent.requestId, 'unknown');
  t.equal((await gateway.execution(user, resting.requestId)).status, 'working');
  plugin.close();
});

t.test('the plugin that carried it is gone: disconnected_after_send', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  plugin.cut();
  const execution = await gateway.becomes(user, order.requestId, 'unknown');
  t.match(execution, { reasonCode: 'disconnected_after_send', delivery: 'sent' });
  const again = await gateway.plugin(user);
  const repeated = await again.next('submit', { executionId: order.executionId });
  t.ok(repeated, 'it was never acknowledged, so it is sent again while its TTL lasts');
  await tell(again, report(1, order.executionId, 'filled'));
  t.equal((await gateway.execution(user, order.requestId)).status, 'filled');
  again.close();
});

t.test('the gateway has restarted in between: gateway_restarted', async (t) => {
  const restarted = await startTestGateway(t, { users: 1 });
  const user = await restarted.user();
  for (const end of ['kill', 'stop'] as const) {
    const plugin = await restarted.plugin(user);
    const order = await restarted.order(user, plugin);
    plugin.send({ type: 'ack', executionId: order.executionId });
    await restarted.becomes(user, order.requestId, 'submitted');
    await restarted.process[end]();
    await restarted.start({ limits: { executionConfirmTimeoutMs: 1_000 } });
    const execution = await restarted.becomes(user, order.requestId, 'unknown');
    t.match(execution, { reasonCode: 'gateway_restarted', delivery: 'confirmed' }, end);
    const again = await restarted.plugin(user, {
      executions: [{ executionId: order.executionId, status: 'filled' }],
    });
    await restarted.becomes(user, order.requestId, 'filled');
    again.cut();
    await restarted.process.stop();
    await restarted.start();
  }
});
