/** A cancel, from the 202 over the plugin that holds the order to its outcome. */
import t from 'tap';
import { barrier, cancelReport, report, tell } from '../support/frames.js';
import {
  type HandedOrder,
  startTestGateway,
  type TestGateway,
  type TestUser,
} from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import type { Frame, Plugin } from '../support/plugin.js';
import { RawClient, request } from '../support/raw-client.js';

/** Timeouts so long that nothing becomes unknown when a busy machine confirms late. */
const gateway = await startTestGateway(t, {
  limits: { cancelConfirmTimeoutMs: 300_000, executionConfirmTimeoutMs: 300_000 },
  users: 32,
});

interface Scene {
  readonly gateway: TestGateway;
  readonly user: TestUser;
  readonly plugin: Plugin;
  readonly order: HandedOrder;
}

async function resting(on = gateway): Promise<Scene> {
  return { gateway: on, ...(await on.resting()) };
}

const read = (scene: Scene): Promise<any> =>
  scene.gateway.execution(scene.user, scene.order.requestId);

/** Requests the cancel. @returns its frame at the plugin. */
async function cancelled(scene: Scene): Promise<Frame> {
  const answer = await scene.gateway.cancel(scene.user, scene.order.orderRef);
  if (answer.status !== 202) throw new Error(answer.text);
  return scene.plugin.next('cancel', { cancelRequestId: answer.body.cancelRequestId });
}

async function cancelBecomes(scene: Scene, status: string): Promise<any> {
  return eventually(async () => {
    const execution = await read(scene);
    return execution.cancel?.status === status && execution;
  });
}

t.test('the frame goes to the plugin that holds the order, and to no other', async (t) => {
  const scene = await resting();
  const sibling = await gateway.plugin(scene.user, { instanceId: 'desk-2' });
  const stranger = await gateway.plugin(await gateway.user());
  const frame = await cancelled(scene);
  const { executionId, orderRef } = scene.order;
  const { cancel } = await cancelBecomes(scene, 'dispatched');
  t.same(frame, {
    type: 'cancel',
    cancelRequestId: cancel.cancelRequestId,
    executionId,
    orderRef,
  });
  for (const other of [sibling, stranger]) {
    await barrier(other);
    t.notOk(other.frames.some(({ type }) => type === 'cancel'));
    other.close();
  }
  scene.plugin.close();
});

t.test('ack makes it pending, and a report cancels the order', async (t) => {
  const scene = await resting();
  const { cancelRequestId } = await cancelled(scene);
  scene.plugin.send({ type: 'ack', cancelRequestId });
  t.equal((await cancelBecomes(scene, 'pending')).status, 'working');
  const native = { state: 'Cancelled' };
  await tell(scene.plugin, cancelReport(2, cancelRequestId, 'cancelled', { native }));
  t.match(await read(scene), {
    status: 'cancelled',
    reasonCode: 'cancelled_by_api',
    native,
    cancel: { status: 'cancelled', reasonCode: null },
  });
  scene.plugin.close();
});

t.test('one ack may name the order and its cancel', async (t) => {
  const scene = await resting();
  const { cancelRequestId } = await cancelled(scene);
  scene.plugin.send({ type: 'ack', executionId: scene.order.executionId, cancelRequestId });
  await cancelBecomes(scene, 'pending');
  t.pass('although the order was confirmed before');
  scene.plugin.close();
});

t.test('a cancel that is not confirmed in time', async (t) => {
  const cancelConfirmTimeoutMs = 1_000;
  const hasty = await startTestGateway(t, { limits: { cancelConfirmTimeoutMs }, users: 5 });

  t.test('is unknown, and a late report corrects that', async (t) => {
    const correct = async (outcome: string): Promise<void> => {
      const scene = await resting(hasty);
      const { cancelRequestId } = await cancelled(scene);
      scene.plugin.send({ type: 'ack', cancelRequestId });
      const { status, cancel } = await cancelBecomes(scene, 'unknown');
      t.match({ status, cancel }, { status: 'working', cancel: { reasonCode: 'cancel_timeout' } });
      const took = Date.parse(cancel.updatedAt) - Date.parse(cancel.requestedAt);
      t.ok(took >= cancelConfirmTimeoutMs - 5, `called so after ${took} ms`);
      await tell(scene.plugin, cancelReport(2, cancelRequestId, outcome));
      if (outcome === 'pending') {
        const later = await eventually(async () => {
          const again = (await read(scene)).cancel;
          return again.status === 'unknown' && again.updatedAt !== cancel.updatedAt && again;
        });
        const took = Date.parse(later.updatedAt) - Date.parse(cancel.updatedAt);
        t.ok(took >= cancelConfirmTimeoutMs - 5, `its time begins anew: ${took} ms`);
      } else {
        t.equal((await read(scene)).cancel.status, outcome);
      }
      scene.plugin.close();
    };
    await Promise.all(['cancelled', 'rejected', 'too_late', 'pending'].map(correct));
  });

  t.test('is no obstacle to a new one then', async (t) => {
    const scene = await resting(hasty);
    await cancelled(scene);
    await cancelBecomes(scene, 'unknown');
    const { cancelRequestId } = await cancelled(scene);
    t.match(cancelRequestId, /_2$/);
    scene.plugin.close();
  });
});

t.test('a cancel is sent again after a reconnect until it is acknowledged', async (t) => {
  const scene = await resting();
  const frame = await cancelled(scene);
  scene.plugin.cut();
  const second = await gateway.plugin(scene.user);
  t.same(await second.next('cancel'), frame);
  second.send({ type: 'ack', cancelRequestId: frame['cancelRequestId'] });
  await cancelBecomes(scene, 'pending');
  second.cut();
  const third = await gateway.plugin(scene.user);
  await barrier(third);
  t.notOk(third.frames.some(({ type }) => type === 'cancel'));
  third.close();
});

t.test('a cancel whose target is lost before the frame could leave is not_sent', async (t) => {
  // A suspended process finds both when it is resumed: first the request, then the cut.
  const rounds = 20;
  for (let round = 0; round < rounds; round++) {
    const scene = await resting();
    const { user, order, plugin } = scene;
    const client = await RawClient.connect(gateway.url);
    const bytes = request('POST', `/api/v1/orders/${order.orderRef}/cancel`, [
      `Authorization: Bearer ${user.key}`,
      'Idempotency-Key: lost',
    ]);
    await client.send(request('GET', '/openapi.json'));
    await client.answer();
    const { pid } = gateway.process.process;
    process.kill(pid as number, 'SIGSTOP');
    await client.send(bytes);
    plugin.cut();
    process.kill(pid as number, 'SIGCONT');
    const answer = await client.answer();
    client.cut();
    if (answer?.status !== 202) continue;
    const { cancel } = await eventually(async () => {
      const execution = await read(scene);
      return execution.cancel.status !== 'requested' && execution;
    });
    if (cancel.status !== 'not_sent') continue;
    t.equal(cancel.reasonCode, 'terminal_lost_before_send');
    const back = await gateway.plugin(user);
    await barrier(back);
    t.notOk(
      back.frames.some(({ type }) => type === 'cancel'),
      'it is not sent later',
    );
    t.equal((await gateway.cancel(user, order.orderRef)).status, 202, 'a new one may be asked for');
    await back.next('cancel');
    back.close();
    return;
  }
  t.fail(`not seen in ${rounds} rounds`);
});

t.test('a fill against a cancel ends in one of both, never in both', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const seen: Record<string, number> = {};
  for (let round = 0; round < 40; round++) {
    const order = await gateway.order(user, plugin);
    const first = 10 * round + 1;
    await tell(plugin, report(first, order.executionId, 'working'));
    const asked = gateway.cancel(user, order.orderRef);
    if (round % 4 === 0) plugin.send(report(first + 1, order.executionId, 'filled'));
    const answer = await asked;
    if (round % 4 === 1) plugin.send(report(first + 1, order.executionId, 'filled'));
    if (answer.status === 202) {
      const { cancelRequestId } = answer.body;
      plugin.send(cancelReport(first + 2, cancelRequestId, 'cancelled'));
      if (round % 4 === 2) plugin.send(report(first + 3, order.executionId, 'filled'));
    } else {
      t.equal(answer.body.error.code, 'order_not_cancellable');
    }
    await barrier(plugin, first + 5);
    const { status, cancel } = await gateway.execution(user, order.requestId);
    const end = `${status} ${cancel?.status}`;
    seen[end] = (seen[end] ?? 0) + 1;
  }
  const allowed = ['filled undefined', 'filled too_late', 'cancelled cancelled'];
  t.same(
    Object.keys(seen).filter((end) => !allowed.includes(end)),
    [],
    JSON.stringify(seen),
  );
  t.ok(seen['filled too_late'] && seen['cancelled cancelled'], 'both were seen');
  plugin.close();
});
