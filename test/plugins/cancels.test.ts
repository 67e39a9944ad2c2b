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

/** A plugin that was sent an order and has not reported on it. */
async function handed(on: TestGateway): Promise<Scene> {
  const user = await on.user();
  const plugin = await on.plugin(user);
  const order = await on.order(user, plugin);
  return { gateway: on, user, plugin, order };
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

t.test('a report of the execution alone ends the cancel as well', async (t) => {
  const scene = await resting();
  await cancelled(scene);
  await tell(scene.plugin, report(2, scene.order.executionId, 'cancelled'));
  t.match(await read(scene), {
    status: 'cancelled',
    reasonCode: 'cancelled_by_api',
    cancel: { status: 'cancelled' },
  });
  scene.plugin.close();
});

t.test('rejected: the order lives on and another cancel may be asked for', async (t) => {
  const scene = await resting();
  const first = await cancelled(scene);
  const refused = await gateway.cancel(scene.user, scene.order.orderRef);
  t.equal(refused.body.error.code, 'cancel_already_in_progress');
  await tell(
    scene.plugin,
    cancelReport(2, first['cancelRequestId'], 'rejected', { reasonCode: 'unable_to_cancel' }),
  );
  t.match(await read(scene), {
    status: 'working',
    cancel: { status: 'rejected', reasonCode: 'unable_to_cancel' },
  });
  const second = await cancelled(scene);
  t.not(second['cancelRequestId'], first['cancelRequestId']);
  await tell(scene.plugin, cancelReport(3, second['cancelRequestId'], 'cancelled'));
  t.match(await read(scene), { status: 'cancelled', cancel: { status: 'cancelled' } });
  scene.plugin.close();
});

t.test('too_late: the order was filled', async (t) => {
  const scene = await resting();
  const { cancelRequestId } = await cancelled(scene);
  await tell(
    scene.plugin,
    cancelReport(2, cancelRequestId, 'too_late', { reasonCode: 'already_filled' }),
  );
  await tell(scene.plugin, report(3, scene.order.executionId, 'filled'));
  t.match(await read(scene), {
    status: 'filled',
    cancel: { status: 'too_late', reasonCode: 'already_filled' },
  });
  const again = await gateway.cancel(scene.user, scene.order.orderRef);
  t.equal(again.body.error.code, 'order_not_cancellable');
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

t.test('without the capability or the connection the terminal is unavailable', async (t) => {
  const scene = await resting();
  scene.plugin.cut();
  await eventually(async () => {
    const { body } = await gateway.cancel(scene.user, scene.order.orderRef);
    return body.error?.code === 'terminal_unavailable';
  });
  const unable = await gateway.plugin(scene.user, { capabilities: ['submit'] });
  const refused = await gateway.cancel(scene.user, scene.order.orderRef);
  t.equal(refused.status, 409);
  t.equal(refused.body.error.code, 'terminal_unavailable');
  t.equal(refused.body.requestId, scene.order.requestId);
  t.equal((await read(scene)).cancel, null, 'nothing is queued');
  unable.cut();
  const able = await gateway.plugin(scene.user);
  t.equal((await gateway.cancel(scene.user, scene.order.orderRef)).status, 202);
  await able.next('cancel');
  able.close();
});

t.test('only an order that a terminal may hold can be cancelled', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const codeOf = async (orderRef: string): Promise<string> =>
    (await gateway.cancel(user, orderRef)).body.error?.code;

  const order = await gateway.order(user, plugin);
  await gateway.becomes(user, order.requestId, 'dispatched');
  t.equal(await codeOf(order.orderRef), 'order_not_cancellable', 'dispatched');
  for (const [index, status] of ['filled', 'rejected', 'expired'].entries()) {
    const ended = await gateway.order(user, plugin);
    await tell(plugin, report(index + 1, ended.executionId, status));
    t.equal(await codeOf(ended.orderRef), 'order_not_cancellable', status);
  }
  const denied = await gateway.submit(user, { platform: 'terminal_b' });
  const { orderRef } = await gateway.execution(user, denied);
  t.equal(await codeOf(orderRef), 'order_not_cancellable', 'denied');

  const other = await gateway.user();
  t.equal(
    (await gateway.cancel(other, order.orderRef)).body.error.code,
    'order_not_found',
    'not ours',
  );
  for (const wrong of [
    'ord_1',
    order.executionId,
    order.orderRef.toLowerCase(),
    '%00',
    'x'.repeat(500),
  ]) {
    t.equal(await codeOf(wrong), 'order_not_found', wrong.slice(0, 20));
  }
  plugin.close();
});

t.test('an order of unknown fate', async (t) => {
  const limits = { cancelConfirmTimeoutMs: 300_000, executionConfirmTimeoutMs: 1_000 };
  const hasty = await startTestGateway(t, { limits, users: 2 });

  t.test('may be cancelled', async (t) => {
    const scene = await handed(hasty);
    await eventually(async () => (await read(scene)).status === 'unknown');
    const { cancelRequestId } = await cancelled(scene);
    await tell(scene.plugin, cancelReport(1, cancelRequestId, 'cancelled'));
    t.match(await read(scene), {
      status: 'cancelled',
      delivery: 'confirmed',
      cancel: { status: 'cancelled' },
    });
    scene.plugin.close();
  });

  t.test('whose cancel was asked for is not sent again, its cancel is', async (t) => {
    const scene = await handed(hasty);
    await eventually(async () => (await read(scene)).status === 'unknown');
    const frame = await cancelled(scene);
    scene.plugin.cut();
    const again = await hasty.plugin(scene.user);
    t.same(await again.next('cancel'), frame);
    await barrier(again);
    t.same(again.frames, [], 'a terminal that never had the order must not get it now');
    again.close();
  });
});

t.test('a retry of a cancel replays, byte for byte, and sends nothing', async (t) => {
  const scene = await resting();
  const first = await gateway.cancel(scene.user, scene.order.orderRef, 'same-cancel');
  t.equal(first.status, 202);
  const { cancelRequestId, requestedAt } = first.body;
  const { executionId, orderRef, requestId, frame } = scene.order;
  t.same(first.body, {
    cancelRequestId,
    orderRef,
    executionId,
    requestId,
    signalId: frame['signalId'],
    status: 'requested',
    requestedAt,
  });
  await scene.plugin.next('cancel');
  const again = await gateway.cancel(scene.user, orderRef, 'same-cancel');
  t.equal(again.text, first.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  await barrier(scene.plugin);
  t.notOk(scene.plugin.frames.some(({ type }) => type === 'cancel'));
  const other = await gateway.order(scene.user, scene.plugin);
  const conflict = await gateway.cancel(scene.user, other.orderRef, 'same-cancel');
  t.equal(conflict.body.error.code, 'idempotency_conflict');
  scene.plugin.close();
});

t.test('of cancels that come at once one is accepted and one frame leaves', async (t) => {
  const scene = await resting();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => gateway.cancel(scene.user, scene.order.orderRef)),
  );
  t.equal(answers.filter(({ status }) => status === 202).length, 1);
  t.equal(
    answers.filter(({ body }) => body.error?.code === 'cancel_already_in_progress').length,
    7,
  );
  await scene.plugin.next('cancel');
  await barrier(scene.plugin);
  t.notOk(scene.plugin.frames.some(({ type }) => type === 'cancel'));
  scene.plugin.close();
});

t.test('it is sent again after a reconnect until it is acknowledged', async (t) => {
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

t.test('its target lost before the frame could leave: not_sent', async (t) => {
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
