/** A cancel asked for before a crash: finished after it or called unknown, never forgotten. */
import t from 'tap';
import { acknowledged, cancelReport, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';

/** Longer than a restart takes on a busy machine. */
const cancelConfirmTimeoutMs = 10_000;
const gateway = await startTestGateway(t, { limits: { cancelConfirmTimeoutMs } });

/** A plugin with an order that rests. Numbered frames go on from seq 2. */
async function resting() {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  await tell(plugin, report(1, order.executionId, 'working'));
  return { user, plugin, order, read: () => gateway.execution(user, order.requestId) };
}

t.test('a cancel from before a crash is finished after it', async (t) => {
  const { user, order, read } = await resting();
  const answer = await gateway.cancel(user, order.orderRef);
  await gateway.restart('SIGKILL');
  const again = await gateway.plugin(user);
  const { cancelRequestId } = await again.next('cancel');
  t.equal(cancelRequestId, answer.body.cancelRequestId);
  await tell(again, cancelReport(2, cancelRequestId, 'cancelled'));
  t.match(await read(), { status: 'cancelled', cancel: { status: 'cancelled' } });
  again.close();
});

t.test('a retry of the cancel over a crash replays', async (t) => {
  const { user, order } = await resting();
  const first = await gateway.cancel(user, order.orderRef, 'over-the-crash');
  await gateway.restart('SIGKILL');
  const again = await gateway.cancel(user, order.orderRef, 'over-the-crash');
  t.equal(again.text, first.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
});

t.test('a cancel from before a crash whose plugin stays away is unknown', async (t) => {
  const { user, order, read } = await resting();
  await gateway.cancel(user, order.orderRef);
  await gateway.restart('SIGKILL');
  const execution = await eventually(async () => {
    const latest = await read();
    return latest.cancel.status === 'unknown' && latest;
  });
  t.match(execution, { status: 'working', cancel: { reasonCode: 'cancel_timeout' } });
});

t.test('a cancel is never sent again for an order that is final', async (t) => {
  const { user, plugin, order, read } = await resting();
  await gateway.cancel(user, order.orderRef);
  await plugin.next('cancel');
  await tell(plugin, report(2, order.executionId, 'filled'));
  t.match(await read(), { status: 'filled', cancel: { status: 'too_late' } });
  plugin.cut();
  for (const end of [undefined, 'SIGKILL'] as const) {
    if (end !== undefined) await gateway.restart(end);
    const again = await gateway.plugin(user);
    again.send({ type: 'event', seq: 100, event: 'terminal_message' });
    await acknowledged(again, 100);
    t.same(again.frames, []);
    again.cut();
  }
});
