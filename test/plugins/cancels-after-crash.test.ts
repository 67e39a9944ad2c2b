/** A cancel that was accepted before a crash ends after it, if only as unknown; it is never forgotten. */
import t, { type Test } from 'tap';
import { acknowledged, cancelReport, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';

/** Longer than the tests take on a busy machine. The last one starts the gateway with a shorter one. */
const gateway = await startTestGateway(t, { limits: { cancelConfirmTimeoutMs: 3_600_000 } });

async function resting() {
  const scene = await gateway.resting();
  return { ...scene, read: () => gateway.execution(scene.user, scene.order.requestId) };
}

const finished = await resting();
const retried = await resting();
const abandoned = await resting();
const final = await resting();
const finishedCancel = await gateway.cancel(finished.user, finished.order.orderRef);
const firstAnswer = await gateway.cancel(retried.user, retried.order.orderRef, 'over-the-crash');
await gateway.cancel(abandoned.user, abandoned.order.orderRef);
await gateway.cancel(final.user, final.order.orderRef);
await final.plugin.next('cancel');
await tell(final.plugin, report(2, final.order.executionId, 'filled'));
t.match(await final.read(), { status: 'filled', cancel: { status: 'too_late' } });

t.test('a cancel is never sent again for an order that is final', async (t) => {
  final.plugin.cut();
  await isSentNothing(t, 100);
});

t.test('the gateway is killed', async () => {
  await gateway.restart('SIGKILL');
});

t.test('a cancel from before a crash is finished after it', async (t) => {
  const again = await gateway.plugin(finished.user);
  const { cancelRequestId } = await again.next('cancel');
  t.equal(cancelRequestId, finishedCancel.body.cancelRequestId);
  await tell(again, cancelReport(2, cancelRequestId, 'cancelled'));
  t.match(await finished.read(), { status: 'cancelled', cancel: { status: 'cancelled' } });
  again.close();
});

t.test('a retry of the cancel over a crash replays', async (t) => {
  const again = await gateway.cancel(retried.user, retried.order.orderRef, 'over-the-crash');
  t.equal(again.text, firstAnswer.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
});

t.test('a cancel is not sent after a crash either for an order that is final', (t) =>
  isSentNothing(t, 101),
);

t.test('a cancel from before a crash whose plugin stays away is unknown', async (t) => {
  t.match(await abandoned.read(), { status: 'working', cancel: { status: 'dispatched' } });
  await gateway.process.kill();
  await gateway.start({ limits: { cancelConfirmTimeoutMs: 1_000 } });
  const execution = await eventually(async () => {
    const latest = await abandoned.read();
    return latest.cancel.status === 'unknown' && latest;
  });
  t.match(execution, { status: 'working', cancel: { reasonCode: 'cancel_timeout' } });
});

async function isSentNothing(t: Test, seq: number): Promise<void> {
  const again = await gateway.plugin(final.user);
  again.send({ type: 'event', seq, event: 'terminal_message' });
  await acknowledged(again, seq);
  t.same(again.frames, []);
  again.cut();
}
