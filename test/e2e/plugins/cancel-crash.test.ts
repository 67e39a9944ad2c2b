/** A cancel asked for before a crash: finished after it or called unknown, never forgotten. */
import t from 'tap';
import { acknowledged, cancelReport, openDesk, report, tell } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';

/** Longer than a restart takes on a busy machine. */
const cancelConfirmTimeoutMs = 10_000;
const desk = await openDesk(t, { limits: { cancelConfirmTimeoutMs } });

/** A plugin with an order that rests. Numbered frames go on from seq 2. */
async function resting() {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const order = await desk.order(trader, plugin);
  await tell(plugin, report(1, order.executionId, 'working'));
  return { trader, plugin, order, read: () => desk.execution(trader, order.requestId) };
}

t.test('a cancel from before a crash is finished after it', async (t) => {
  const { trader, order, read } = await resting();
  const answer = await desk.cancel(trader, order.orderRef);
  await desk.restart('SIGKILL');
  const again = await desk.plugin(trader);
  const { cancelRequestId } = await again.next('cancel');
  t.equal(cancelRequestId, answer.body.cancelRequestId);
  await tell(again, cancelReport(2, cancelRequestId, 'cancelled'));
  t.match(await read(), { status: 'cancelled', cancel: { status: 'cancelled' } });
  again.close();
});

t.test('a retry of the cancel over a crash replays', async (t) => {
  const { trader, order } = await resting();
  const first = await desk.cancel(trader, order.orderRef, 'over-the-crash');
  await desk.restart('SIGKILL');
  const again = await desk.cancel(trader, order.orderRef, 'over-the-crash');
  t.equal(again.text, first.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
});

t.test('a cancel from before a crash whose plugin stays away is unknown', async (t) => {
  const { trader, order, read } = await resting();
  await desk.cancel(trader, order.orderRef);
  await desk.restart('SIGKILL');
  const execution = await eventually(async () => {
    const latest = await read();
    return latest.cancel.status === 'unknown' && latest;
  });
  t.match(execution, { status: 'working', cancel: { reasonCode: 'cancel_timeout' } });
});

t.test('a cancel is never sent again for an order that is final', async (t) => {
  const { trader, plugin, order, read } = await resting();
  await desk.cancel(trader, order.orderRef);
  await plugin.next('cancel');
  await tell(plugin, report(2, order.executionId, 'filled'));
  t.match(await read(), { status: 'filled', cancel: { status: 'too_late' } });
  plugin.cut();
  for (const end of [undefined, 'SIGKILL'] as const) {
    if (end !== undefined) await desk.restart(end);
    const again = await desk.plugin(trader);
    again.send({ type: 'event', seq: 100, event: 'terminal_message' });
    await acknowledged(again, 100);
    t.same(again.frames, []);
    again.cut();
  }
});
