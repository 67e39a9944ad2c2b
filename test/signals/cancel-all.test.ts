import t from 'tap';
import { every } from '../../src/lib/clock.js';
import { takeAll } from '../../src/lib/turn.js';
import type { Execution } from '../../src/model/execution.js';
import { cancelledOrders, type CancelledOrders } from '../../src/signals/cancelled-orders.js';
import { type PageFilter, SignalPage } from '../../src/signals/signal-page.js';
import { SignalReader } from '../../src/signals/signal-reader.js';
import { commitLookMs } from '../../src/store/storage-health.js';
import { HeldCommits } from '../support/held-commits.js';
import {
  type Life,
  ofBot,
  SimulatedGateway,
  turns,
  user,
  dispatched,
} from '../support/simulated-gateway.js';
import { writtenBy } from '../support/written-by.js';
import { aCancel } from './an-execution.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';

const hourMs = 3_600_000;

/** A gateway with an order that its terminal has acknowledged. */
async function submitted() {
  const { gateway, plugin, id } = await dispatched();
  await acknowledge(plugin, id);
  return { gateway, plugin, id };
}

async function acknowledge(plugin: ScriptedPlugin, executionId: string): Promise<void> {
  plugin.say({ type: 'ack', executionId });
  await turns();
}

/** A gateway with orders that the terminal has acknowledged, was sent, or has yet to get. */
async function withOrders(count: number, state: 'acknowledged' | 'sent' | 'queued' = 'queued') {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  if (state === 'queued') plugin.drop();
  for (let i = 0; i < count; i++) gateway.accept({}, () => undefined);
  await turns();
  const ids = gateway.store.keys('openExecutions').map(([, id]) => id);
  if (state === 'acknowledged') {
    for (const executionId of ids) plugin.say({ type: 'ack', executionId });
    await turns();
  }
  return { gateway, plugin, ids };
}

function readerOf({ store, core }: SimulatedGateway): SignalReader {
  return new SignalReader({ store, owed: core.owed, fillsMax: 10_000 });
}

/** @returns a gateway that starts on what the commits until now have left. */
function killed(gateway: SimulatedGateway, life?: Pick<Life, 'isStarting'>): SimulatedGateway {
  gateway.memory.failNextCommits(Infinity);
  const next = gateway.restart(life);
  gateway.memory.failNextCommits(0);
  return next;
}

function cancelsSent(plugin: ScriptedPlugin): string[] {
  return plugin.of('cancel').map((frame) => String(frame['cancelRequestId']));
}

t.test(
  'an operator is told that a cancel waits for one that the disk refuses, and it is done',
  async (t) => {
    const { gateway, plugin, id } = await submitted();
    const { core, memory } = gateway;
    const all = { userId: 'u1', isMeant: () => true, cause: 'cancelled_by_operator' } as const;
    memory.failNextCommits(Infinity);
    await t.rejects(core.cancelOrders(all), /not on disk yet/);
    const waiting = t.rejects(core.cancelOrders(all), /not on disk yet/);
    await gateway.pass(3_000, 1_000);
    await waiting;
    memory.failNextCommits(0);
    await gateway.pass(3_000, 1_000);
    t.match(gateway.durable(id)?.cancel, { cause: 'cancelled_by_operator' });
    t.match(plugin.of('cancel'), [{ executionId: id }]);
    t.match(await core.cancelOrders(all), { counts: { already_requested: 1 } });
  },
);

t.test(
  'each order gets what its state asks for, in one transaction before the answer',
  async (t) => {
    const { gateway, plugin, id: resting } = await submitted();
    const [busy = ''] = await gateway.submit();
    await acknowledge(plugin, busy);
    const busyCancel = await gateway.cancel(busy);
    const mute = await gateway.plugin({ instanceId: 'mute', capabilities: ['submit'] });
    const [deaf = ''] = await gateway.submit({ instanceId: 'mute' });
    await acknowledge(mute, deaf);
    const away = await gateway.plugin({ instanceId: 'away' });
    away.drop();
    const [queued = ''] = await gateway.submit({ instanceId: 'away' });
    const [filled = ''] = await gateway.submit({ instanceId: 'desk-1' });
    plugin.say({ type: 'report', seq: 1, executionId: filled, status: 'filled' });
    await gateway.submit({ type: 'position', cmd: 'close', instanceId: 'away' });
    await turns();

    const answers = gateway.cancelAllNow({}, 'k');
    t.strictSame(answers, []);
    t.equal(gateway.durable(queued)?.status, 'queued');
    await turns();
    const body = JSON.parse(answers[0] ?? '') as Awaited<ReturnType<typeof gateway.cancelAll>>;
    const names = new Map([
      [resting, 'resting'],
      [busy, 'busy'],
      [deaf, 'deaf'],
      [queued, 'queued'],
    ]);
    t.match(body, { cancelAllId: /^cal_/, matched: 4, truncated: false });
    t.strictSame(
      body.orders.map((order) => [names.get(order.executionId), order.outcome]),
      [
        ['resting', 'requested'],
        ['busy', 'already_requested'],
        ['deaf', 'not_sent'],
        ['queued', 'denied'],
      ],
    );
    t.equal(body.orders[1]?.cancelRequestId, busyCancel);
    t.match(gateway.durable(resting)?.cancel, {
      status: 'dispatched',
      cause: 'cancelled_by_api',
      ...ofBot,
    });
    t.match(
      gateway.trail.of('cancel_all'),
      [{ ...ofBot, cancelAllId: body.cancelAllId, userId: 'u1', matched: 4, by: 'user' }],
      'and the trail has a line',
    );
    t.match(gateway.durable(queued), { status: 'denied', reasonCode: 'cancelled_by_api' });
    t.match(gateway.durable(deaf)?.cancel, {
      status: 'not_sent',
      reasonCode: 'terminal_capability_missing',
    });
    t.same(cancelsSent(plugin), [busyCancel, body.orders[0]?.cancelRequestId]);
    t.match(
      gateway.idempotency.lookUp('u1', 'k', () => 'cancel-all', gateway.clock.now()),
      {
        kind: 'replay',
        record: { answer: answers[0], requestId: body.cancelAllId },
      },
    );
    t.ok(gateway.store.range('cancelKeys').some(({ record }) => record === 'k'));
    const again = await gateway.cancelAll();
    t.strictSame(
      again.orders.map(({ outcome }) => outcome),
      ['already_requested', 'already_requested', 'not_sent'],
    );
    t.equal(gateway.durable(deaf)?.cancel?.attempt, 1, 'a refusal is written once');
  },
);

t.test('what the filter does not mean stays as it is', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  await gateway.plugin({ accountName: 'Sim102' });
  const order = (instrument: string) => ({ payload: JSON.stringify({ instrument }) });
  await gateway.submit(order('ES'));
  await gateway.submit(order('NQ'));
  const matched = async (filter: object) => (await gateway.cancelAll(filter)).matched;
  t.equal(await matched({ instrument: 'YM' }), 0);
  t.equal(await matched({ platform: 'terminal_b' }), 0);
  t.equal(await matched({ instanceId: 'desk-2' }), 0);
  t.equal(await matched({ instrument: 'ES', accountName: 'Sim102' }), 1);
  t.equal(await matched({ platform: 'terminal_b, terminal_a' }), 4);
});

t.test('an order whose commit is under way is among them', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  gateway.accept({}, () => undefined);
  const { orders } = await gateway.cancelAll();
  t.match(orders, [{ outcome: 'requested' }], 'it was sent right after its flush');
  t.strictSame(cancelsSent(plugin), [], 'and the cancel waits for its acknowledgement');
  await acknowledge(plugin, orders[0]?.executionId ?? '');
  t.same(cancelsSent(plugin), [orders[0]?.cancelRequestId]);
});

t.test('every acceptance of the user that is under way is waited for', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  const commits = new HeldCommits(gateway);
  for (let i = 0; i < 2; i++) gateway.accept({}, () => undefined);
  const answers = gateway.cancelAllNow();
  await commits.releaseOne();
  await commits.releaseAll();
  t.match(JSON.parse(answers[0] ?? ''), { matched: 2 });
});

t.test('acceptances of other users are not waited for', async (t) => {
  const gateway = new SimulatedGateway();
  gateway.memory.failNextCommits(1);
  gateway.accept({}, () => undefined, { ...user, userId: 'u2' });
  await turns();
  const answers = gateway.cancelAllNow();
  await turns();
  t.equal(answers.length, 1);
});

t.test('of an order in doubt the answer waits until it is known', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  gateway.memory.failNextCommits(1);
  gateway.accept({}, () => undefined);
  const answers = gateway.cancelAllNow();
  await turns();
  t.strictSame(answers, []);
  await gateway.pass(3_000, 1_000);
  t.equal(answers.length, 1);
});

t.test(
  'when the commit fails the outcome is unknown, and the orders are cancelled later',
  async (t) => {
    const { gateway, plugin, id } = await submitted();
    gateway.memory.failNextCommits(2);
    const answers = gateway.cancelAllNow({}, 'k');
    await turns();
    t.strictSame(answers, [undefined]);
    t.strictSame(cancelsSent(plugin), []);
    t.equal(gateway.keyState('cancel-all'), 'idempotency_outcome_unknown');
    await gateway.pass(3_000, 1_000);
    t.equal(cancelsSent(plugin).length, 1);
    t.match(gateway.durable(id)?.cancel, { status: 'dispatched' });
    t.equal(gateway.keyState('cancel-all'), 'replay');
  },
);

t.test('a disk that fails is not waited for either', async (t) => {
  const { gateway } = await withOrders(1);
  gateway.memory.failNextCommits(Infinity);
  gateway.accept({}, () => undefined);
  const answers = gateway.cancelAllNow({}, 'k');
  await gateway.pass(2_999, 1_000);
  t.strictSame(answers, []);
  await gateway.pass(1);
  t.strictSame(answers, [undefined]);
});

t.test('while orders are judged no commit is late', async (t) => {
  const { gateway } = await withOrders(500);
  const answers = gateway.cancelAllNow({}, 'k');
  for (let i = 0; i < 3; i++) {
    await turns(1);
    gateway.clock.advance(4_000);
  }
  t.strictSame(answers, []);
  t.equal(gateway.keyState('cancel-all'), 'request_in_progress');
  await turns(100);
  t.match(JSON.parse(answers[0] ?? ''), { matched: 500 });
  await gateway.pass(3_000);
  t.equal(answers.length, 1, 'no deadline of its commit is left');
});

t.test('an operator’s cancel-all is not late while one before it is applied', async (t) => {
  const { gateway } = await withOrders(500);
  const all = { userId: 'u1', isMeant: () => true, cause: 'cancelled_by_operator' } as const;
  const results = Promise.all([1, 2].map(() => gateway.core.cancelOrders(all)));
  for (let i = 0; i < 3; i++) {
    await turns(1);
    gateway.clock.advance(4_000);
  }
  t.match(await results, [{ cancelled: { matched: 500 } }, { cancelled: { matched: 0 } }]);
});

t.test('the time for its commit begins with the write', async (t) => {
  const { gateway } = await withOrders(500);
  const release = gateway.memory.hang();
  const answers = gateway.cancelAllNow({}, 'k');
  gateway.clock.advance(2_000);
  await turns(100);
  await gateway.pass(2_999);
  t.strictSame(answers, []);
  await gateway.pass(1);
  t.strictSame(answers, [undefined]);
  t.equal(gateway.keyState('cancel-all'), 'request_in_progress');
  await gateway.pass(5 * 60_000 - 3_000);
  t.equal(gateway.keyState('cancel-all'), 'idempotency_outcome_unknown');
  release();
  await turns(100);
  t.match(JSON.parse(answers.at(-1) ?? ''), { matched: 500 });
  t.equal(gateway.keyState('cancel-all'), 'replay');
});

t.test('a disk that hangs while orders are judged is not waited for', async (t) => {
  // The time of the decision is looked at every 3 s, and a disk counts as hanging after 2 s.
  for (const [judgedMs, hangsMs] of [
    [0, 3_000],
    [4_000, 5_000],
  ] as const) {
    const { gateway } = await withOrders(500);
    const look = every(gateway.clock, commitLookMs, () => gateway.health.look());
    t.teardown(() => look.cancel());
    const answers = gateway.cancelAllNow();
    await turns(1);
    gateway.clock.advance(judgedMs);
    const release = gateway.memory.hang();
    void gateway.store.write((batch) => batch.put('meta', 'probe', 1));
    await turns(1);
    gateway.clock.advance(hangsMs);
    t.strictSame(answers, [undefined], `judged for ${judgedMs} ms before`);
    release();
    await turns(100);
    t.match(JSON.parse(answers.at(-1) ?? ''), { matched: 500 }, 'it is decided all the same');
  }
});

t.test('what a process has not decided when it ends has not happened', async (t) => {
  const { gateway, ids } = await withOrders(500);
  const answers = gateway.cancelAllNow({}, 'k');
  await turns(1);
  gateway.core.drain();
  await gateway.core.stop();
  await turns(100);
  t.strictSame(answers, []);
  const next = gateway.restart();
  t.equal(next.keyState('cancel-all'), 'free');
  t.ok(ids.every((id) => next.durable(id)?.status === 'queued'));
  t.equal((await next.cancelAll({}, 'k')).matched, 500);
});

t.test('a cancel waits for its terminal, and its 30 s count from the dispatch', async (t) => {
  const { gateway, plugin, id } = await submitted();
  plugin.drop();
  await gateway.cancelAll();
  await gateway.pass(5 * hourMs, hourMs);
  t.match(gateway.durable(id)?.cancel, { status: 'requested', dispatchedAt: null });
  const again = await gateway.plugin();
  t.equal(cancelsSent(again).length, 1);
  t.match(gateway.durable(id)?.cancel, { status: 'dispatched', dispatchedAt: gateway.clock.now() });
  await gateway.pass(29_999);
  t.equal(gateway.durable(id)?.cancel?.status, 'dispatched');
  await gateway.pass(1);
  t.match(gateway.durable(id)?.cancel, { status: 'unknown', reasonCode: 'cancel_timeout' });
});

t.test('after 24 hours it is not sent, be there a restart or not', async (t) => {
  for (const restarts of [false, true]) {
    const { gateway, plugin, id } = await submitted();
    plugin.drop();
    await gateway.cancelAll();
    await gateway.pass(10 * hourMs, hourMs);
    const later = restarts ? gateway.restart() : gateway;
    await later.pass(14 * hourMs - 1, hourMs);
    t.equal(later.durable(id)?.cancel?.status, 'requested');
    await later.pass(1);
    t.match(later.durable(id)?.cancel, {
      status: 'not_sent',
      reasonCode: 'terminal_lost_before_send',
    });
    const again = await later.plugin();
    t.strictSame(cancelsSent(again), []);
  }
});

t.test(
  'a report on a cancel that left before a crash counts before it is sent again',
  async (t) => {
    const answers = [
      [{ type: 'cancel_report', seq: 1, status: 'cancelled' }, 'cancelled', 'cancelled'],
      [{ type: 'cancel_report', seq: 1, status: 'rejected' }, 'working', 'rejected'],
      [{ type: 'ack' }, 'working', 'pending'],
    ] as const;
    for (const [answer, status, cancelStatus] of answers) {
      const { gateway, plugin, id } = await submitted();
      gateway.cancelAllNow();
      while (cancelsSent(plugin).length === 0) await turns(1);
      gateway.memory.failNextCommits(1);
      await turns();
      t.match(gateway.durable(id)?.cancel, { status: 'requested' }, 'that it left is not on disk');
      const later = gateway.restart();
      const back = later.connect();
      // The cancel waits until what the hello tells is on disk.
      back.hello({ executions: [{ executionId: id, status: 'working' }] });
      back.say({ ...answer, cancelRequestId: cancelsSent(plugin)[0] });
      await turns();
      t.strictSame(back.errors, []);
      t.match(later.durable(id), { status, cancel: { status: cancelStatus } });
      t.strictSame(cancelsSent(back), []);
    }
  },
);

t.test('a cancel that waits while a hello is written leaves after it', async (t) => {
  const { gateway, plugin, id } = await submitted();
  plugin.drop();
  await gateway.cancelAll();
  const back = gateway.connect();
  back.hello({ executions: [{ executionId: id, status: 'submitted', native: { orderId: '7' } }] });
  t.strictSame(back.errors, []);
  t.strictSame(cancelsSent(back), []);
  await turns();
  t.match(gateway.durable(id), { native: { orderId: '7' }, cancel: { status: 'dispatched' } });
  t.equal(cancelsSent(back).length, 1);
});

t.test('an order that was not acknowledged is not sent again: its cancel is', async (t) => {
  for (const restarts of [false, true]) {
    const { gateway, plugin, id } = await dispatched();
    await gateway.cancelAll();
    t.strictSame(cancelsSent(plugin), []);
    plugin.drop();
    const later = restarts ? gateway.restart() : gateway;
    const again = await later.plugin();
    t.strictSame(again.submitted, []);
    t.equal(cancelsSent(again).length, 1);
    again.say({ type: 'report', seq: 1, executionId: id, status: 'cancelled' });
    await turns();
    t.match(later.durable(id), {
      status: 'cancelled',
      reasonCode: 'cancelled_by_api',
      cancel: { status: 'cancelled' },
    });
  }
});

t.test('an order that becomes unknown meanwhile is cancelled all the same', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  await gateway.cancelAll();
  for (let seconds = 0; seconds < 60; seconds += 20) {
    plugin.say({ type: 'heartbeat' });
    await gateway.pass(20_000);
  }
  t.match(gateway.durable(id), { status: 'unknown', cancel: { status: 'dispatched' } });
  t.equal(cancelsSent(plugin).length, 1);
});

t.test('unknown orders that were sent are among the open ones, after a restart too', async (t) => {
  for (const restarts of [false, true]) {
    const { gateway, plugin, id } = await submitted();
    plugin.drop();
    await gateway.pass(60_000);
    t.equal(gateway.durable(id)?.status, 'unknown');
    const later = restarts ? gateway.restart() : gateway;
    t.match(await later.cancelAll(), { matched: 1, orders: [{ executionId: id }] });
    const again = await later.plugin();
    t.equal(cancelsSent(again).length, 1);
    again.say({ type: 'report', seq: 1, executionId: id, status: 'filled' });
    await turns();
    t.match(later.durable(id), { status: 'filled', cancel: { status: 'too_late' } });
    t.equal((await later.cancelAll()).matched, 0);
    t.same(later.store.keys('unknownOrders'), []);
  }
});

t.test('an order that fills meanwhile ends its cancel, which never leaves', async (t) => {
  const { gateway, plugin, id } = await submitted();
  plugin.drop();
  await gateway.cancelAll();
  const again = gateway.connect();
  again.hello({ executions: [{ executionId: id, status: 'filled' }] });
  await turns();
  t.strictSame(cancelsSent(again), []);
  t.match(gateway.durable(id), { status: 'filled', cancel: { status: 'too_late' } });
});

t.test('many cancels that leave at once pause under backpressure', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) ids.push(...(await gateway.submit()));
  for (const executionId of ids) plugin.say({ type: 'ack', executionId });
  await turns();
  plugin.room = 3;
  await gateway.cancelAll();
  t.equal(cancelsSent(plugin).length, 3);
  let looks = 0;
  plugin.isCongested = () => {
    looks++;
    return plugin.room <= 0;
  };
  await turns();
  t.equal(looks, 0, 'nothing is tried until it drains');
  plugin.drain(4);
  await turns();
  t.equal(cancelsSent(plugin).length, 7);
  plugin.drain(Infinity);
  await turns();
  t.equal(new Set(cancelsSent(plugin)).size, 10);
  t.equal(cancelsSent(plugin).length, 10, 'each once');
});

t.test('an answer lists a thousand orders and counts all', async (t) => {
  const { gateway } = await withOrders(1_001);
  const { matched, truncated, orders } = await gateway.cancelAll();
  t.strictSame([matched, truncated, orders.length], [1_001, true, 1_000]);
  await turns(200);
  t.equal(gateway.store.keys('openExecutions').length, 0, 'all are denied');
});

t.test('thousands are changed a few at a time, by one decision', async (t) => {
  const { gateway, plugin } = await withOrders(1_000, 'acknowledged');
  const written = writtenBy(gateway.memory);
  const { matched } = await gateway.cancelAll();
  await turns(200);
  t.equal(matched, 1_000);
  t.equal(cancelsSent(plugin).length, 1_000);
  t.ok(Math.max(...written.map((each) => each.openExecutions ?? 0)) < 300);
  t.equal(written.filter((each) => each.cancelAlls !== undefined).length, 1, 'decided once');
  t.same(gateway.store.keys('cancelAlls'), [], 'and forgotten when it is done');
});

t.test('what was decided is done after a kill, and once', async (t) => {
  const { gateway, plugin, ids } = await withOrders(500, 'acknowledged');
  const answers = gateway.cancelAllNow({}, 'k');
  while (answers.length === 0) await turns(1);
  const changed = () => ids.filter((id) => gateway.durable(id)?.cancel !== null);
  t.ok(changed().length < 500, 'the answer comes before the last order is changed');
  gateway.memory.failNextCommits(Infinity);
  await turns();
  gateway.memory.failNextCommits(0);
  const left = changed().length;
  const next = gateway.restart();
  const late = await next.submit();
  await turns(100);
  t.ok(left < 500, `${left} were changed before`);
  for (const id of ids) {
    t.match(next.durable(id)?.cancel, { attempt: 1, cause: 'cancelled_by_api' });
  }
  t.match(next.durable(late[0] ?? '')?.cancel ?? null, null, 'a later order is not touched');
  t.same(next.store.keys('cancelAlls'), []);
  t.equal(new Set(cancelsSent(plugin)).size, cancelsSent(plugin).length);
});

t.test('what is queued never leaves once it is decided, be there a kill or not', async (t) => {
  for (const isKilled of [false, true]) {
    const { gateway } = await withOrders(500);
    const answers = gateway.cancelAllNow();
    while (answers.length === 0) await turns(1);
    if (isKilled) gateway.memory.failNextCommits(Infinity);
    const later = isKilled ? gateway.restart() : gateway;
    gateway.memory.failNextCommits(0);
    const plugin = await later.plugin();
    await turns(100);
    t.strictSame(plugin.submitted, []);
    t.equal(later.store.keys('openExecutions').length, 0);
  }
});

t.test('nothing overtakes the orders of a decision that is not on disk', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  const [order = ''] = await gateway.submit({ signalId: 'order' });
  await gateway.submit({ signalId: 'command', type: 'position', cmd: 'close' });
  const plugin = gateway.connect();
  plugin.room = 1;
  plugin.hello();
  await turns();
  const release = gateway.memory.hang();
  gateway.cancelAllNow();
  await turns(100);
  plugin.drain(Infinity);
  await turns();
  t.strictSame(plugin.submitted, [], 'after a kill now, the order would follow the command');
  release();
  await turns(100);
  t.strictSame(plugin.submitted, ['command']);
  t.match(gateway.durable(order), { status: 'denied', reasonCode: 'cancelled_by_api' });
});

t.test('what is accepted meanwhile does not overtake a decision either', async (t) => {
  const { gateway, plugin } = await submitted();
  gateway.memory.failNextCommits(1);
  gateway.cancelAllNow();
  await turns();
  // As if the disk’s health had not yet heard of the success.
  Object.assign(gateway.health, { noteCommit: () => undefined });
  await gateway.submit();
  t.strictSame(plugin.submitted, ['s1']);
  gateway.writer.retry();
  await turns();
  t.strictSame(plugin.submitted, ['s1', 's3']);
});

t.test('what was sent and not acknowledged is not sent again once it is decided', async (t) => {
  for (const isKilled of [false, true]) {
    const { gateway, plugin } = await withOrders(500, 'sent');
    plugin.drop();
    const answers = gateway.cancelAllNow();
    while (answers.length === 0) await turns(1);
    const later = isKilled ? killed(gateway) : gateway;
    const again = await later.plugin();
    await turns(100);
    t.strictSame(again.submitted, []);
    t.equal(cancelsSent(again).length, 500);
  }
});

t.test('a start applies what was decided a few orders at a time', async (t) => {
  for (const state of ['acknowledged', 'queued'] as const) {
    const { gateway, ids } = await withOrders(1_000, state);
    const answers = gateway.cancelAllNow();
    while (answers.length === 0) await turns(1);
    const written = writtenBy(gateway.memory);
    const next = killed(gateway);
    const counts = () => written.map((each) => each.openExecutions ?? each.finalExecutions ?? 0);
    t.ok(
      counts().every((count) => count === 0),
      'nothing of it while the book is loaded',
    );
    await turns(400);
    t.ok(Math.max(...counts()) <= 64, `${Math.max(...counts())} by one write`);
    t.same(next.store.keys('cancelAlls'), []);
    const isDone = (id: string): boolean =>
      state === 'queued'
        ? next.durable(id)?.status === 'denied'
        : next.durable(id)?.cancel?.attempt === 1;
    t.ok(ids.every(isDone));
  }
});

t.test('what was decided is applied when the start has read the last order', async (t) => {
  const { gateway, ids } = await withOrders(1_000);
  const answers = gateway.cancelAllNow();
  while (answers.length === 0) await turns(1);
  const written = writtenBy(gateway.memory);
  const next = killed(gateway, { isStarting: true });
  let steps = 0;
  for (; next.loading.next().done !== true; steps++) await turns();
  t.ok(steps >= 3, `${steps} steps`);
  t.strictSame(written, []);
  await turns(400);
  t.ok(ids.every((id) => next.durable(id)?.status === 'denied'));
  t.equal(next.book.size, 0, 'the book holds no order twice');
  t.equal(next.changes.length, 1_000 - 64);
});

t.test('a start counts as sent what no decision denies, and denies what one does', async (t) => {
  const { gateway, ids } = await withOrders(3);
  const [denied = '', cancelled = '', other = ''] = ids;
  await gateway.store.write((batch) => {
    // All are marked as perhaps sent; of the denied one no frame has left.
    for (const id of ids) {
      batch.put('openExecutions', ['u1', id], { ...gateway.execution(id), maySend: true });
    }
    batch.put('cancelAlls', ['u1', 'cal_1'], {
      cause: 'cancelled_by_api',
      requestedAt: gateway.clock.now(),
      trail: {},
      orders: [denied, `can_${cancelled.slice(4)}_1`],
    });
  });
  const next = gateway.restart();
  const plugin = await next.plugin();
  await turns(100);
  t.match(next.durable(denied), { status: 'denied', delivery: 'not_sent' });
  for (const id of [cancelled, other]) {
    t.match(next.durable(id), { status: 'dispatched', delivery: 'sent' });
  }
  t.strictSame(plugin.submitted, ['s3'], 'it may have been lost, and is sent again');
  t.same(cancelsSent(plugin), [`can_${cancelled.slice(4)}_1`]);
});

t.test('a cancel that may have been sent counts as sent, its order decided or not', async (t) => {
  const { gateway, ids } = await withOrders(2, 'acknowledged');
  const orders = ids.map((id) => `can_${id.slice(4)}_1`);
  const requestedAt = gateway.clock.now();
  await gateway.store.write((batch) => {
    const decision = { cause: 'cancelled_by_api', requestedAt, trail: {}, orders } as const;
    batch.put('cancelAlls', ['u1', 'cal_1'], decision);
    // The decided cancels were sent and rejected; then the bot requested a second one of each order.
    for (const id of ids) {
      const cancel = aCancel('requested', { cancelRequestId: `can_${id.slice(4)}_2`, attempt: 2 });
      batch.put('openExecutions', ['u1', id], { ...gateway.execution(id), cancel });
    }
  });
  const next = gateway.restart();
  await turns(100);
  for (const id of ids) t.match(next.durable(id)?.cancel, { attempt: 2, status: 'dispatched' });
});

t.test('a TTL that passes after the decision changes nothing', async (t) => {
  const { gateway, ids } = await withOrders(500);
  const answers = gateway.cancelAllNow();
  while (answers.length === 0) await turns(1);
  await gateway.pass(60_000);
  await turns(100);
  const statuses = new Set(ids.map((id) => gateway.durable(id)?.status));
  t.strictSame([...statuses], ['denied']);
});

t.test('readers see a decision as soon as it is on disk, and not before', async (t) => {
  const { gateway, ids } = await withOrders(500);
  const id = ids.at(-1) ?? '';
  const { requestId } = gateway.execution(id);
  const reader = readerOf(gateway);
  const status = () => reader.read('u1', requestId)?.records[0]?.status;
  const release = gateway.memory.hang();
  const answers = gateway.cancelAllNow();
  await turns(100);
  t.equal(status(), 'queued');
  release();
  while (answers.length === 0) await turns(1);
  t.equal(gateway.durable(id)?.status, 'queued', 'its record is changed later');
  t.match(reader.read('u1', requestId), {
    isCompleted: true,
    records: [{ status: 'denied', reasonCode: 'cancelled_by_api' }],
  });
  t.equal(reader.read('u1', requestId), reader.read('u1', requestId), 'and its text is kept');
  const listed = (filter: PageFilter): boolean => {
    const query = { userId: 'u1', filter, limit: 200, before: undefined };
    return takeAll(new SignalPage(reader, query, gateway.clock).steps()).includes(id);
  };
  t.strictSame([listed('open'), listed('completed')], [false, true]);

  const next = gateway.restart();
  const later = readerOf(next);
  t.equal(later.read('u1', requestId)?.records[0]?.status, 'denied', 'after a kill, too');
  await turns(200);
  t.strictSame(later.read('u1', requestId)?.records[0], next.durable(id));
});

t.test('between the decision and the change an order is as if it had been changed', async (t) => {
  const { gateway, plugin, ids } = await withOrders(500, 'acknowledged');
  const answers = gateway.cancelAllNow();
  while (answers.length === 0) await turns(1);
  const [filled = '', single = ''] = ids.slice(-2);
  t.equal(gateway.durable(filled)?.cancel, null);
  t.match(gateway.execution(single).cancel, { status: 'requested', attempt: 1 });
  plugin.say({ type: 'report', seq: 1, executionId: filled, status: 'filled' });
  const again = gateway.cancelAllNow();
  await turns(200);
  t.match(gateway.durable(filled), { status: 'filled', cancel: { status: 'too_late' } });
  const { matched, orders } = JSON.parse(again[0] ?? '') as CancelledOrders;
  t.equal(matched, 499);
  t.ok(orders.every(({ outcome }) => outcome === 'already_requested'));
});

t.test('what changes while it is judged is judged by what it has become', async (t) => {
  const { gateway, plugin, ids } = await withOrders(500, 'acknowledged');
  const answers = gateway.cancelAllNow();
  t.strictSame(answers, []);
  const [first = ''] = ids;
  plugin.say({ type: 'report', seq: 1, executionId: first, status: 'filled' });
  await turns(100);
  const { matched } = JSON.parse(answers[0] ?? '') as CancelledOrders;
  t.equal(matched, 499);
  t.match(gateway.durable(first), { status: 'filled', cancel: null });
});

t.test('what changes while it is judged is counted once', async (t) => {
  const { gateway, plugin, ids } = await withOrders(100, 'acknowledged');
  let counts: object | undefined;
  const changed: ReadonlySet<string>[] = [];
  const watch = gateway.book.watch.bind(gateway.book);
  gateway.book.watch = (userId) => {
    const begun = watch(userId);
    changed.push(begun.changed);
    return begun;
  };
  gateway.core.cancelAll.run(
    { userId: 'u1', isMeant: () => true, cause: 'cancelled_by_operator' },
    (result) => {
      ({ counts } = result);
      return {};
    },
  );
  plugin.say({ type: 'report', seq: 1, executionId: ids[0], status: 'working' });
  await turns(100);
  t.match(counts, { requested: 100 });
  t.strictSame(
    changed.map(({ size }) => size),
    [1],
    'and watched no longer than that',
  );
});

t.test('an answer lists what it has room for, in the order of acceptance', (t) => {
  const order = (n: number) => ({
    orderRef: `ord_${n}`,
    executionId: `exe_${n}`,
    requestId: 'req_1',
    outcome: 'denied' as const,
    cancelRequestId: null,
  });
  const all = Array.from({ length: 1_001 }, (_, i) => order(9_000 - i));
  const answer = cancelledOrders('cal_1', 0, all.slice(0, 1_000));
  t.match(answer, { matched: 1_000, truncated: false });
  t.strictSame(answer.orders[0], order(8_001));
  t.match(cancelledOrders('cal_1', 0, all), { matched: 1_001, truncated: true });
  t.end();
});

t.test('decisions of a user follow one another, and an export waits for all', async (t) => {
  const { gateway } = await withOrders(500, 'acknowledged');
  const bodies = [gateway.cancelAllNow(), gateway.cancelAllNow()];
  while (bodies[0]?.length === 0) await turns(1);
  for (let i = 0; i < 200; i++) gateway.accept({}, () => undefined);
  while (gateway.store.keys('cancelAlls').length > 0) await turns(1);
  // The first has ended, and the second has begun.
  const before = gateway.store.range('openExecutions').at(-1)?.record as Execution;
  bodies.push(gateway.cancelAllNow());
  await gateway.core.settled();
  const outcomes = bodies.map(([body]) => {
    const { orders } = JSON.parse(body ?? '') as CancelledOrders;
    return [...new Set(orders.map(({ outcome }) => outcome))];
  });
  t.strictSame(outcomes, [
    ['requested'],
    ['already_requested', 'requested'],
    ['already_requested'],
  ]);
  t.equal(gateway.core.owed.decided('u1', before), before, 'memory lets go of them');
  t.same(gateway.store.keys('cancelAlls'), []);
});
