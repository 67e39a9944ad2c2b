import t from 'tap';
import { purgeKeyOf } from '../../src/store/key-layout.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';
import type { CancelAfterView } from '../../src/signals/cancel-after.js';

const keyId = 7;

/** A gateway with an order of the key, one of another key, and the switch armed for ten seconds. */
async function armed() {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const [own = ''] = await gateway.submit({ keyId });
  const [other = ''] = await gateway.submit({ keyId: 8 });
  for (const executionId of [own, other]) plugin.say({ type: 'ack', executionId });
  await turns();
  await set(gateway, 10_000);
  return { gateway, plugin, own, other };
}

async function set(
  gateway: SimulatedGateway,
  timeoutMs: number,
): Promise<CancelAfterView | undefined> {
  const views: (CancelAfterView | undefined)[] = [];
  gateway.core.cancelAfter.set('u1', keyId, timeoutMs, (view) => views.push(view));
  await turns();
  return views[0];
}

t.test('it cancels the open orders of its key when it is not called again in time', async (t) => {
  const { gateway, plugin, own, other } = await armed();
  await gateway.pass(9_999);
  t.equal(gateway.durable(own)?.cancel, null);
  await gateway.pass(1);
  t.match(gateway.durable(own)?.cancel, { status: 'dispatched', cause: 'cancel_after_expired' });
  t.equal(gateway.durable(other)?.cancel, null, 'those of other keys stay');
  t.equal(plugin.of('cancel').length, 1);
  t.strictSame(gateway.core.cancelAfter.read('u1', keyId), {
    armed: false,
    timeoutMs: 0,
    firesAt: null,
    lastFiredAt: '2026-01-15T12:00:10.000Z',
  });
  plugin.say({ type: 'report', seq: 1, executionId: own, status: 'cancelled' });
  await turns();
  t.match(gateway.durable(own), { status: 'cancelled', reasonCode: 'cancel_after_expired' });
  t.match(gateway.trail.of('cancel_after_fired'), [{ userId: 'u1', keyId, matched: 1 }]);
});

t.test('a call in time renews it, and 0 disarms it, after a restart as well', async (t) => {
  for (const restarts of [false, true]) {
    const { gateway: first, own } = await armed();
    await first.pass(9_000);
    const gateway = restarts ? first.restart() : first;
    t.strictSame(await set(gateway, 5_000), {
      armed: true,
      timeoutMs: 5_000,
      firesAt: '2026-01-15T12:00:14.000Z',
      lastFiredAt: null,
    });
    await gateway.pass(4_999);
    t.equal(gateway.durable(own)?.cancel, null);
    const disarmed = { armed: false, timeoutMs: 0, firesAt: null, lastFiredAt: null };
    t.strictSame(await set(gateway, 0), disarmed);
    await gateway.pass(600_000, 60_000);
    t.equal(gateway.durable(own)?.cancel, null);
    t.strictSame(gateway.core.cancelAfter.read('u1', keyId), disarmed);
  }
});

t.test('of orders that have become unknown, too, it cancels those of its key', async (t) => {
  const { gateway, own, other } = await armed();
  await set(gateway, 100_000);
  await gateway.pass(100_000, 10_000);
  t.match(gateway.durable(own), { status: 'unknown', cancel: { cause: 'cancel_after_expired' } });
  t.match(gateway.durable(other), { status: 'unknown', cancel: null });
});

t.test('it reads no order of another key', async (t) => {
  const { gateway, plugin, own } = await armed();
  plugin.drop();
  for (let i = 0; i < 200; i++) gateway.accept({ keyId: 8 }, () => undefined);
  await turns(20);
  const { book } = gateway;
  const find = book.find.bind(book);
  const found: string[] = [];
  book.find = (userId, executionId) => {
    found.push(executionId);
    return find(userId, executionId);
  };
  await gateway.pass(10_000);
  t.match(gateway.trail.of('cancel_after_fired'), [{ matched: 1 }]);
  t.strictSame([...new Set(found)], [own]);
});

t.test('one that is armed while its last fire waits stays armed', async (t) => {
  const { gateway, plugin } = await armed();
  plugin.drop();
  for (let i = 0; i < 1_000; i++) gateway.accept({ keyId: 8 }, () => undefined);
  await turns(20);
  // A user's cancel-alls run one after another, and this one takes many turns.
  const all = gateway.cancelAllNow();
  gateway.clock.advance(10_000);
  t.match(await set(gateway, 0), { armed: false, lastFiredAt: null });
  t.match(await set(gateway, 20_000), { armed: true });
  t.equal(gateway.trail.of('cancel_after_fired').length, 0, 'it waits');
  await turns(200);
  t.equal(all.length, 1);
  t.equal(gateway.trail.of('cancel_after_fired').length, 1);
  const state = { armed: true, lastFiredAt: '2026-01-15T12:00:10.000Z' };
  t.match(gateway.core.cancelAfter.read('u1', keyId), state);
  const next = gateway.restart();
  await next.pass(20_000);
  t.equal(next.trail.of('cancel_after_fired').length, 1, 'also after a restart');
});

t.test('it fires once: not again after it has fired, nor after a restart', async (t) => {
  const { gateway } = await armed();
  await gateway.pass(10_000);
  const [late = ''] = await gateway.submit({ keyId });
  await gateway.pass(60_000, 10_000);
  t.equal(gateway.durable(late)?.cancel, null);
  const next = gateway.restart();
  await next.pass(60_000, 10_000);
  t.equal(next.durable(late)?.cancel, null);
});

t.test('a deadline that passes while the gateway is down fires at its start', async (t) => {
  const { gateway, own } = await armed();
  gateway.clock.advance(9_000);
  gateway.deadlines.stop();
  gateway.clock.advance(5_000);
  const next = gateway.restart();
  t.equal(next.durable(own)?.cancel, null);
  await next.pass(0);
  await next.pass(1);
  t.match(next.durable(own)?.cancel, { status: 'requested', cause: 'cancel_after_expired' });
  const again = await next.plugin();
  t.equal(again.of('cancel').length, 1, 'and leaves when the terminal is there');
});

t.test('a crash before its flush loses nothing, and nothing fires twice', async (t) => {
  const { gateway, plugin, own } = await armed();
  gateway.memory.failNextCommits(1_000);
  await gateway.pass(10_000);
  t.equal(plugin.of('cancel').length, 0, 'nothing leaves before the flush');
  gateway.memory.failNextCommits(0);
  const next = gateway.restart();
  t.match(next.core.cancelAfter.read('u1', keyId), { armed: true });
  await next.pass(1);
  t.match(next.durable(own)?.cancel, { attempt: 1, status: 'requested' });
  t.match(next.core.cancelAfter.read('u1', keyId), { armed: false });
});

t.test('firing and disarming are one transaction with the orders', async (t) => {
  const { gateway } = await armed();
  const written: string[][] = [];
  const { store } = gateway;
  const write = store.write.bind(store);
  (store as { write: typeof write }).write = (fill) =>
    write((batch) => {
      const collections: string[] = [];
      written.push(collections);
      fill({
        put: (collection, key, record) => {
          collections.push(collection);
          batch.put(collection, key, record);
        },
        remove: (collection, key) => batch.remove(collection, key),
      });
    });
  await gateway.pass(10_000);
  t.same(written[0], ['cancelAfters', 'openExecutions']);
});

t.test('a step of the wall clock neither fires nor starves it', async (t) => {
  for (const stepMs of [-86_400_000, 86_400_000]) {
    const { gateway, own } = await armed();
    gateway.clock.stepWall(stepMs);
    await gateway.pass(9_999);
    t.equal(gateway.durable(own)?.cancel, null);
    await gateway.pass(1);
    t.ok(gateway.durable(own)?.cancel);
  }
});

t.test(
  'what was due while the computer slept fires at once, what was not keeps the rest',
  async (t) => {
    const { gateway, own } = await armed();
    sleep(gateway, 4_000);
    await gateway.pass(5_999);
    t.equal(gateway.durable(own)?.cancel, null);
    await gateway.pass(1);
    t.match(gateway.durable(own)?.cancel, { cause: 'cancel_after_expired' });
    await set(gateway, 600_000);
    sleep(gateway, 3_600_000);
    await gateway.pass(499);
    t.equal(
      gateway.trail.of('cancel_after_fired').length,
      1,
      'what lies in the sockets comes first',
    );
    await gateway.pass(1);
    t.equal(gateway.trail.of('cancel_after_fired').length, 2);
  },
);

t.test('one that is armed after a sleep, and before that is noticed, keeps its time', async (t) => {
  const { gateway, own } = await armed();
  gateway.clock.stepWall(3_600_000);
  await set(gateway, 10_000);
  await gateway.pass(900);
  gateway.core.cancelAfter.slept(3_600_000);
  await gateway.pass(9_099);
  t.equal(gateway.durable(own)?.cancel, null);
  await gateway.pass(1);
  t.match(gateway.durable(own)?.cancel, { cause: 'cancel_after_expired' });
});

t.test(
  'a wall clock that was set before a sleep makes it neither longer nor due at once',
  async (t) => {
    for (const step of [3_600_000, -3_600_000]) {
      const { gateway, own } = await armed();
      gateway.clock.stepWall(step);
      sleep(gateway, 2_000);
      await gateway.pass(7_999);
      t.equal(gateway.durable(own)?.cancel, null);
      await gateway.pass(2_001);
      t.match(gateway.durable(own)?.cancel, { cause: 'cancel_after_expired' });
    }
  },
);

/** Suspends the machine: the wall clock and the uptime count that time, the monotonic clock does not. */
function sleep(gateway: SimulatedGateway, ms: number): void {
  gateway.clock.stepWall(ms);
  gateway.core.cancelAfter.slept(ms);
}

t.test('a clock set back before a restart does not extend it', async (t) => {
  const { gateway, own } = await armed();
  gateway.clock.stepWall(-3_600_000);
  const next = gateway.restart();
  await next.pass(10_000);
  t.ok(next.durable(own)?.cancel);
});

t.test('a switch that is armed anew when it is due stays armed', async (t) => {
  const { gateway } = await armed();
  await gateway.pass(9_999);
  // Firing waits for the commit of this order.
  gateway.accept({ keyId }, () => undefined);
  gateway.clock.advance(1);
  await set(gateway, 20_000);
  t.match(gateway.core.cancelAfter.read('u1', keyId), {
    armed: true,
    lastFiredAt: '2026-01-15T12:00:10.000Z',
  });
  const [late = ''] = await gateway.submit({ keyId });
  const next = gateway.restart();
  await next.pass(20_001);
  t.match(next.core.cancelAfter.read('u1', keyId), { armed: false });
  t.ok(next.durable(late)?.cancel ?? next.durable(late)?.reasonCode);
});

t.test('an order of the key whose commit is under way is among them', async (t) => {
  const { gateway } = await armed();
  await gateway.pass(9_999);
  const before = gateway.store.keys('openExecutions').map(([, id]) => id);
  gateway.accept({ keyId }, () => undefined);
  gateway.clock.advance(1);
  await turns();
  const after = gateway.store.keys('openExecutions').map(([, id]) => id);
  const [id = ''] = after.filter((each) => !before.includes(each));
  t.ok(gateway.durable(id)?.cancel);
});

t.test('a switch that is armed anew while it is disarmed is one switch', async (t) => {
  const { gateway, own } = await armed();
  void set(gateway, 0);
  await set(gateway, 10_000);
  await set(gateway, 20_000);
  await gateway.pass(19_999);
  t.equal(gateway.durable(own)?.cancel, null);
  await gateway.pass(1);
  t.ok(gateway.durable(own)?.cancel);
});

t.test('a commit that succeeds is told once', async (t) => {
  const gateway = new SimulatedGateway();
  const views: (CancelAfterView | undefined)[] = [];
  gateway.core.cancelAfter.set('u1', keyId, 60_000, (view) => views.push(view));
  await gateway.pass(10_000, 1_000);
  t.strictSame(
    views.map((view) => view?.armed),
    [true],
  );
});

t.test('a failed commit is told at once, and the switch counts all the same', async (t) => {
  const { gateway, own } = await armed();
  gateway.memory.failNextCommits(1);
  const views: (CancelAfterView | undefined)[] = [];
  gateway.core.cancelAfter.set('u1', keyId, 5_000, (view) => views.push(view));
  await turns();
  t.strictSame(views, [undefined]);
  await gateway.pass(5_000, 1_000);
  t.ok(gateway.durable(own)?.cancel);
});

t.test('the switches of a deleted user are forgotten, and no others', async (t) => {
  const { gateway } = await armed();
  gateway.core.cancelAfter.set('u2', keyId, 10_000, () => undefined);
  await turns();
  gateway.core.cancelAfter.forget('u1');
  await gateway.pass(20_000);
  t.match(gateway.core.cancelAfter.read('u1', keyId), { lastFiredAt: null });
  t.match(gateway.core.cancelAfter.read('u2', keyId), { lastFiredAt: '2026-01-15T12:00:10.000Z' });
});

t.test('a start fires no switch of a user whose rows are being removed', async (t) => {
  const { gateway } = await armed();
  await gateway.store.write((batch) => batch.put('meta', purgeKeyOf('u1'), 0));
  const next = gateway.restart();
  await next.pass(20_000);
  t.match(next.core.cancelAfter.read('u1', keyId), { lastFiredAt: null });
});
