import t, { type Test } from 'tap';
import { deleteUser } from '../../src/auth/accounts.js';
import { hourMs } from '../../src/lib/durations.js';
import { cancelRequestIdOf } from '../../src/lib/ids.js';
import { sourceKey } from '../../src/model/source-name.js';
import { cancelResendMs } from '../../src/model/cancellation.js';
import type { Execution } from '../../src/model/execution.js';
import type { BookEntry } from '../../src/signals/book-entry.js';
import { becomeUnknown, stopSending } from '../../src/signals/moves.js';
import { collectionsWith } from '../../src/store/key-layout.js';
import { createMemoryStore, type MemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import {
  SimulatedGateway,
  turns,
  user,
  dispatched,
  working,
} from '../support/simulated-gateway.js';
import { TickingClock } from '../support/ticking-clock.js';

t.test('what is not sent before its TTL expires, without ever having been sent', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  plugin.drop();
  const [id = ''] = await gateway.submit({ ttlMs: 5_000 });
  await gateway.pass(4_999);
  t.match(gateway.durable(id), { status: 'queued', delivery: 'not_sent' });
  await gateway.pass(1);
  t.match(gateway.durable(id), {
    status: 'expired',
    reasonCode: 'ttl_expired',
    delivery: 'not_sent',
    dispatchedAt: null,
  });
  t.equal(gateway.book.size, 0);
  t.equal(gateway.instruments.submitsSent.value, 0);
});

t.test(
  'sent and acknowledged but not reported within 60 s it is unknown: confirmation_timeout',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    t.match(gateway.durable(id), { status: 'dispatched', delivery: 'sent' });
    plugin.say({ type: 'ack', executionId: id });
    await turns();
    t.match(gateway.durable(id), { status: 'submitted', delivery: 'confirmed', confirmedAt: null });
    await heartbeats(gateway, plugin, 59_999);
    t.match(gateway.durable(id), { status: 'submitted' });
    await gateway.pass(1);
    t.match(gateway.durable(id), {
      status: 'unknown',
      reasonCode: 'confirmation_timeout',
      delivery: 'confirmed',
    });
  },
);

t.test('an order whose carrier is gone is unknown: disconnected_after_send', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.drop();
  await gateway.pass(60_000);
  t.match(gateway.durable(id), { status: 'unknown', reasonCode: 'disconnected_after_send' });
});

t.test('sent before a restart and not seen since, it is unknown: gateway_restarted', async (t) => {
  const { gateway: first, id } = await dispatched();
  await first.pass(20_000);
  const second = first.restart();
  await second.pass(39_999);
  t.match(second.durable(id), { status: 'dispatched' }, 'it keeps the time that it had left');
  await second.pass(1);
  t.match(second.durable(id), { status: 'unknown', reasonCode: 'gateway_restarted' });
});

t.test('what waits in a copy of the store counts as sent, and then as any other', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  const [id = ''] = await first.submit({ ttlMs: 5_000 });
  t.match(first.durable(id), { status: 'queued' });
  let isCopy = true;
  Object.assign(first.memory, { isCopy: () => isCopy, endCopy: () => (isCopy = false) });
  const second = first.restart();
  await turns();
  t.match(second.durable(id), { status: 'dispatched', delivery: 'sent' });
  t.equal(isCopy, false, 'for this start alone');
  await second.pass(60_000);
  t.match(second.durable(id), { status: 'unknown', reasonCode: 'gateway_restarted' });
});

t.test('a clock set back before a restart gives no life longer than the TTL', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  const [id = ''] = await first.submit({ ttlMs: 5_000 });
  first.clock.stepWall(-36_000_000);
  const second = first.restart();
  await second.pass(5_000);
  t.match(second.durable(id), { status: 'expired', reasonCode: 'ttl_expired' });
});

t.test('a clock set back before a restart makes no wait for a confirmation longer', async (t) => {
  const { gateway: first, id, other } = await oneSentAndOneCancelled();
  first.clock.stepWall(-3_600_000);
  const second = first.restart();
  await second.pass(30_000);
  t.match(second.durable(other), { cancel: { status: 'unknown' } });
  await second.pass(30_000);
  t.match(second.durable(id), { status: 'unknown' });
});

t.test('sent again after a restart, the new carrier decides the reason', async (t) => {
  const first = new SimulatedGateway();
  await first.plugin();
  const [id = ''] = await first.submit({ ttlMs: 300_000 });
  const second = first.restart();
  const plugin = await second.plugin();
  t.strictSame(plugin.submitted, ['s1']);
  await heartbeats(second, plugin, 60_000);
  t.match(second.durable(id), { status: 'unknown', reasonCode: 'confirmation_timeout' });
});

t.test('a report ends the wait for good', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const waiting = gateway.deadlines.size;
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'submitted' });
  await turns();
  t.equal(gateway.deadlines.size, waiting - 1);
  const cancelRequestId = await gateway.cancel(id);
  plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'rejected' });
  await turns();
  t.equal(gateway.deadlines.size, waiting - 1, 'so does one on its cancel');
  await gateway.pass(3_600_000, 600_000);
  t.match(gateway.durable(id), { status: 'submitted', delivery: 'confirmed' });
});

t.test(
  'who holds an entry that has left the book changes its execution as it is now',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const [id = ''] = await gateway.submit({ ttlMs: 5_000 });
    const [entry] = gateway.book.walk();
    await heartbeats(gateway, plugin, 60_000);
    t.equal(gateway.durable(id)?.status, 'unknown');
    t.equal(gateway.book.size, 0);
    plugin.say({ type: 'report', seq: 1, executionId: id, status: 'rejected' });
    await turns();
    // A stop that takes many turns may hold such an entry.
    gateway.book.apply(entry as BookEntry, stopSending('trading_halted'));
    await turns();
    t.match(gateway.durable(id), { status: 'rejected', delivery: 'confirmed' });
    t.equal(gateway.book.size, 0);
  },
);

t.test('evidence that comes late corrects unknown, also when memory has let it go', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const [id = ''] = await gateway.submit({ ttlMs: 90_000 });
  await heartbeats(gateway, plugin, 60_000);
  t.equal(gateway.durable(id)?.status, 'unknown');
  t.equal(gateway.book.size, 1, 'until its TTL it may be sent again');
  await heartbeats(gateway, plugin, 30_000);
  t.equal(gateway.book.size, 0);
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  await turns();
  t.match(gateway.durable(id), { status: 'working', reasonCode: null });
  t.equal(gateway.book.size, 1);
  t.equal(gateway.store.range('finalExecutions').length, 0, 'it moves again');
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled', filledQuantity: 10 });
  await turns();
  t.match(gateway.durable(id), { status: 'filled', filledQuantity: 10 });
  t.equal(gateway.store.range('openExecutions').length, 0);
  t.equal(gateway.book.size, 0);
});

t.test(
  'a correction that the disk refuses first leaves nothing among the unknown orders',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    plugin.say({ type: 'report', seq: 1, executionId: id, status: 'unknown' });
    await turns();
    t.same(gateway.store.keys('unknownOrders'), [['u1', id]]);
    gateway.memory.failNextCommits(1);
    plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
    await turns();
    t.equal(gateway.durable(id)?.status, 'unknown');
    gateway.writer.retry();
    await turns();
    t.equal(gateway.durable(id)?.status, 'filled');
    t.same(gateway.store.keys('unknownOrders'), []);
  },
);

t.test('a late fill corrects a cancelled order that memory has let go', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'cancelled' });
  await turns();
  t.equal(gateway.book.size, 0);
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled', filledQuantity: 10 });
  await turns();
  t.match(gateway.durable(id), { status: 'filled' });
  t.equal(gateway.book.size, 0);
});

t.test('memory lets go of all that is settled', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const before = gateway.deadlines.size;
  for (const [seq, status] of [
    'filled',
    'rejected',
    'cancelled',
    'expired',
    'completed',
  ].entries()) {
    const [id = ''] = await gateway.submit();
    plugin.say({ type: 'report', seq: seq + 1, executionId: id, status });
    await turns();
    t.match(gateway.durable(id), { status });
  }
  t.equal(gateway.book.size, 0);
  t.strictSame(gateway.book.sources(), []);
  t.equal(gateway.deadlines.size, before);
  t.equal(
    gateway.book.ofSource(
      'u1',
      sourceKey({ platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' }),
    ).length,
    0,
  );
});

/** Sends a cancel on a connection that then breaks. @returns its order. */
async function cancelOnBroken(gateway: SimulatedGateway): Promise<string> {
  const plugin = await gateway.plugin();
  const [id = ''] = await gateway.submit();
  plugin.say({ type: 'ack', executionId: id });
  await gateway.cancel(id);
  plugin.drop();
  return id;
}

/** A cancel that became unknown, as did its order. */
async function unansweredCancel() {
  const gateway = new SimulatedGateway();
  const id = await cancelOnBroken(gateway);
  await gateway.pass(60_000);
  return { gateway, id };
}

t.test(
  'memory lets go of a cancel nobody acknowledged, also when the clock steps back',
  async (t) => {
    const { gateway, id } = await unansweredCancel();
    t.match(gateway.durable(id), { status: 'unknown', cancel: { status: 'unknown' } });
    gateway.clock.stepWall(-5_000);
    await gateway.pass(cancelResendMs);
    t.equal(gateway.book.size, 0);
  },
);

t.test(
  'memory lets go of an unknown one, also when the clock was ahead while that was written',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const [id = ''] = await gateway.submit({ ttlMs: 180_000 });
    plugin.drop();
    const other = await cancelOnBroken(gateway);
    await gateway.pass(29_999);
    gateway.clock.stepWall(2 * cancelResendMs);
    gateway.clock.advance(30_001);
    gateway.clock.stepWall(-2 * cancelResendMs);
    await turns();
    t.match(gateway.durable(id), { status: 'unknown', delivery: 'sent' });
    t.match(gateway.durable(other), { status: 'unknown', cancel: { status: 'unknown' } });
    t.equal(gateway.book.size, 2, 'they may be sent again');
    await gateway.pass(120_000, 10_000);
    t.equal(gateway.book.size, 1);
    await gateway.pass(cancelResendMs, hourMs);
    t.equal(gateway.book.size, 0);
  },
);

t.test('memory lets go of what can be sent again no longer, however time passes', async (t) => {
  const { gateway, id } = await unansweredCancel();
  const sentAt = gateway.durable(id)?.cancel?.dispatchedAt ?? 0;
  for (let before = 0; before < 30; before++) {
    const clock = new TickingClock(sentAt + cancelResendMs - before);
    const next = new SimulatedGateway({ clock, store: gateway.memory });
    clock.advance(60_000);
    t.equal(next.book.size, 0, `${before} ms before`);
    await turns();
  }
});

t.test('a start takes what may have been sent as sent, and what was not as queued', async (t) => {
  const first = new SimulatedGateway();
  const plugin = await first.plugin();
  // An order that is accepted while connected is marked; the crash comes before it is stored as dispatched.
  first.accept({ signalId: 'marked', ttlMs: 100_000 }, () => undefined);
  await turns(1);
  const marked = first.store.range('openExecutions')[0]?.record;
  t.match(marked, { status: 'queued', maySend: true });
  const id = marked?.executionId ?? '';
  const crashed = copyOf(first);
  plugin.drop();
  const second = await crashed;
  t.match(second.execution(id), { status: 'dispatched', delivery: 'sent' });
  await turns();
  t.match(second.durable(id), { status: 'dispatched', dispatchedAt: marked?.createdAt });
  await second.pass(60_000);
  t.match(second.durable(id), { status: 'unknown', reasonCode: 'gateway_restarted' });
});

t.test('an import, too, takes what may have been sent as sent', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  const [id = ''] = await gateway.submit();
  const record = { ...(gateway.durable(id) as Execution), maySend: true };
  gateway.book.forget('u1');
  await rewrite(gateway, record);
  await gateway.core.adoptUser('u1');
  t.match(gateway.execution(id), { status: 'dispatched', delivery: 'sent' });
});

t.test('an import reads thousands of executions a few at a time', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  for (let i = 0; i < 1_000; i++) gateway.accept({}, () => undefined);
  await turns();
  gateway.book.forget('u1');
  const adopted = gateway.core.adoptUser('u1');
  t.ok(gateway.book.size < 500, `${gateway.book.size} in the first turn`);
  await adopted;
  t.equal(gateway.book.size, 1_000);
});

t.test(
  'what the book has by the time of the import stays the one entry of its execution',
  async (t) => {
    const gateway = new SimulatedGateway();
    (await gateway.plugin()).drop();
    const [id = ''] = await gateway.submit();
    const entry = gateway.entry(id);
    await gateway.core.adoptUser('u1');
    t.equal(gateway.book.size, 1);
    t.equal(gateway.entry(id), entry);
  },
);

t.test(
  'an unknown order that its terminal has acknowledged is not kept to be sent again',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const [id = ''] = await gateway.submit({ ttlMs: 300_000 });
    plugin.say({ type: 'ack', executionId: id });
    plugin.drop();
    await gateway.pass(60_000);
    t.match(gateway.durable(id), { status: 'unknown', delivery: 'confirmed' });
    t.equal(gateway.book.size, 0);
  },
);

t.test('a queued one that never left is still queued after a restart, and expires', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  const [id = ''] = await first.submit({ ttlMs: 10_000 });
  t.equal(first.book.openOrders.of(1), 1);
  await first.pass(4_000);
  const second = first.restart();
  t.match(second.execution(id), { status: 'queued', delivery: 'not_sent' });
  t.equal(second.book.openOrders.of(1), 1);
  await second.pass(5_999);
  t.match(second.durable(id), { status: 'queued' });
  await second.pass(1);
  t.match(second.durable(id), {
    status: 'expired',
    reasonCode: 'ttl_expired',
    delivery: 'not_sent',
  });
});

t.test('between the steps of a start timeouts fire, for what has been read and once', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  for (let i = 0; i < 800; i++)
    first.accept({ ttlMs: i % 2 === 0 ? 5_000 : 60_000 }, () => undefined);
  await turns();
  const second = first.restart({ isStarting: true });
  const sizes: number[] = [];
  while (second.loading.next().done !== true) {
    await second.pass(5_000);
    sizes.push(second.book.size);
  }
  t.strictSame(sizes, [127, 255, 383], 'the half of what was read has expired');
  await second.pass(1);
  const statuses = second.store.range('finalExecutions').map(({ record }) => record.status);
  t.strictSame([statuses.length, ...new Set(statuses)], [400, 'expired']);
  t.equal(second.changes.length, 400);
  t.equal(second.book.size, 400);
});

t.test('a step of a start, or of an import, reads the open executions at once', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  for (let i = 0; i < 800; i++) first.accept({}, () => undefined);
  await turns();
  let reads = 0;
  const store: MemoryStore = {
    ...first.memory,
    range(collection, range) {
      if (collection === 'openExecutions') reads++;
      return first.memory.range(collection, range);
    },
  };
  const { clock } = first;
  const started = new SimulatedGateway({ store, clock, isStarting: true });
  const empty = new SimulatedGateway({ store, clock, isStarting: true });
  for (const steps of [started.loading, empty.book.adopt('u1')]) {
    for (let isDone = false; !isDone;) {
      reads = 0;
      isDone = steps.next().done === true;
      t.ok(reads <= 1, `${reads} reads`);
    }
  }
  t.strictSame([started.book.size, empty.book.size], [800, 800]);
});

t.test('one whose TTL passed while the gateway was down expires at the start', async (t) => {
  const first = new SimulatedGateway();
  (await first.plugin()).drop();
  const [id = ''] = await first.submit({ ttlMs: 10_000 });
  first.clock.stepWall(60_000);
  const second = first.restart();
  const plugin = await second.plugin();
  await second.pass(1);
  t.match(second.durable(id), { status: 'expired' });
  t.strictSame(plugin.submitted, []);
});

t.test(
  'a cancel asked for before a crash is taken as sent: repeated, or unknown after 30 s',
  async (t) => {
    for (const returns of [true, false]) {
      const { gateway: first, id } = await working();
      first.core.cancels.accept(first.entry(id), 'key', 'cancel', () => undefined);
      await turns(1);
      t.match(first.durable(id), { cancel: { status: 'requested' } });
      const second = await copyOf(first);
      await turns();
      t.match(second.durable(id), { status: 'working', cancel: { status: 'dispatched' } });
      if (returns) {
        const back = await second.plugin();
        t.equal(back.of('cancel').length, 1);
        const { cancelRequestId } = back.of('cancel')[0]!;
        back.say({ type: 'cancel_report', seq: 9, cancelRequestId, status: 'cancelled' });
        await turns();
        t.match(second.durable(id), { status: 'cancelled', cancel: { status: 'cancelled' } });
        t.equal(second.book.size, 0);
      } else {
        await second.pass(29_999);
        t.match(second.durable(id), { cancel: { status: 'dispatched' } });
        await second.pass(1);
        t.match(second.durable(id), {
          status: 'working',
          cancel: { status: 'unknown', reasonCode: 'cancel_timeout' },
        });
        t.equal((await second.plugin()).of('cancel').length, 1, 'and repeated all the same');
      }
    }
  },
);

t.test(
  'a cancel that was asked for before a crash is not sent for an order that ended',
  async (t) => {
    const { gateway: first, id } = await working();
    await first.cancel(id);
    const second = first.restart();
    const back = await second.plugin({ executions: [{ executionId: id, status: 'filled' }] });
    t.equal(back.of('cancel').length, 0);
    t.match(second.durable(id), {
      status: 'filled',
      cancel: { status: 'too_late', reasonCode: 'already_filled' },
    });
  },
);

t.test('nothing is sent once either clock says that the TTL has passed', async (t) => {
  for (const step of [3_600_000, -3_600_000]) {
    const gateway = new SimulatedGateway();
    (await gateway.plugin()).drop();
    const [id = ''] = await gateway.submit({ ttlMs: 10_000 });
    gateway.clock.stepWall(step);
    t.equal(gateway.core.timeouts.maySend(gateway.entry(id)), step < 0);
    await gateway.pass(9_999);
    t.match(gateway.durable(id), { status: 'queued' }, 'a step expires nothing');
    const plugin = await gateway.plugin();
    t.equal(plugin.submitted.length, step < 0 ? 1 : 0);
    await gateway.pass(1);
    t.match(gateway.durable(id), { status: step < 0 ? 'dispatched' : 'expired' });
  }
});

t.test(
  'a wall clock that was set back does not lengthen the TTL of what is sent again',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    await gateway.submit({ ttlMs: 10_000 });
    plugin.drop();
    gateway.clock.stepWall(-3_600_000);
    await gateway.pass(9_999);
    const back = await gateway.plugin();
    t.strictSame(back.submitted, ['s1']);
    back.drop();
    await gateway.pass(1);
    t.strictSame((await gateway.plugin()).submitted, []);
  },
);

t.test('a cancel has its 30 s from the moment it was sent', async (t) => {
  const { gateway, id } = await working();
  gateway.core.cancels.accept(gateway.entry(id), 'key', 'cancel', () => undefined);
  gateway.clock.advance(5_000);
  await turns();
  await gateway.pass(29_999);
  t.match(gateway.durable(id), { cancel: { status: 'dispatched' } });
  await gateway.pass(1);
  t.match(gateway.durable(id), { cancel: { status: 'unknown' } });
});

t.test('an execution stays in memory until its last change is on disk', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled', filledQuantity: 10 });
  await turns(1);
  t.equal(gateway.durable(id)?.status, 'working', 'the second is on its way');
  plugin.say({ type: 'report', seq: 3, executionId: id, status: 'partially_filled' });
  await turns();
  t.match(gateway.durable(id), { status: 'filled', filledQuantity: 10 });
  t.equal(gateway.book.size, 0);
});

t.test('steps of the wall clock neither hasten nor delay the confirmation time-outs', async (t) => {
  for (const step of [3_600_000, -3_600_000]) {
    const { gateway, plugin, id, other } = await oneSentAndOneCancelled();
    gateway.clock.stepWall(step);
    plugin.say({ type: 'ack', executionId: id });
    const native = { text: 'a report that does not answer the cancel' };
    plugin.say({ type: 'report', seq: 2, executionId: other, status: 'working', native });
    await heartbeats(gateway, plugin, 29_999);
    t.match(gateway.durable(other), { cancel: { status: 'dispatched' } });
    await gateway.pass(1);
    t.match(gateway.durable(other), { cancel: { status: 'unknown' } });
    await heartbeats(gateway, plugin, 29_999);
    t.match(gateway.durable(id), { status: 'submitted' });
    await gateway.pass(1);
    t.match(gateway.durable(id), { status: 'unknown' });
  }
});

t.test('bots are told of a change after its flush, in order', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  gateway.memory.failNextCommits(1);
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  await turns();
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
  t.equal(gateway.durable(id)?.status, 'dispatched');
  t.strictSame(statuses(gateway), ['dispatched']);
  await gateway.pass(1_000);
  t.strictSame(statuses(gateway), ['dispatched', 'working', 'filled']);
  t.equal(gateway.durable(id)?.status, 'filled');
});

t.test('users cannot reach each other’s executions', async (t) => {
  const { gateway, id } = await dispatched();
  t.equal(gateway.book.find('u2', id), undefined);
  t.ok(gateway.book.find('u1', id));
});

t.test('forgetting a user drops the executions with their deadlines and their count', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const before = gateway.deadlines.size;
  await gateway.submit();
  const [executionId = ''] = await gateway.submit();
  plugin.say({ type: 'ack', executionId });
  await gateway.cancel(executionId);
  t.equal(gateway.deadlines.size, before + 3, 'one for the cancel, too');
  gateway.book.forget('u2');
  t.equal(gateway.book.size, 2);
  t.equal(gateway.book.openOrders.of(1), 2);
  gateway.book.forget('u1');
  t.equal(gateway.book.size, 0);
  t.equal(gateway.book.openOrders.of(1), 0);
  t.equal(gateway.deadlines.size, before);
});

t.test('a change that is on disk after its user was forgotten has no deadline', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const before = gateway.deadlines.size;
  await gateway.submit({ ttlMs: 180_000 });
  gateway.clock.advance(59_000);
  plugin.say({ type: 'heartbeat' });
  gateway.clock.advance(1_000);
  gateway.book.forget('u1');
  await turns();
  t.equal(gateway.deadlines.size, before);
});

/** @returns a gateway that starts on what is on disk now, while this one still has work under way. */
async function copyOf(gateway: SimulatedGateway): Promise<SimulatedGateway> {
  const store = createMemoryStore();
  const collections = ['requests', 'openExecutions', 'finalExecutions', 'sources'] as const;
  const rows = collections.map((name) => [name, gateway.store.range(name)] as const);
  await store.write((batch) => {
    for (const [name, entries] of rows) {
      for (const { key, record } of entries) batch.put(name, key, record);
    }
  });
  return new SimulatedGateway({ clock: new SimulatedClock(gateway.clock.now()), store });
}

async function heartbeats(
  gateway: SimulatedGateway,
  plugin: { say(frame: object): void },
  ms: number,
): Promise<void> {
  for (let left = ms; left > 0; left -= 30_000) {
    await gateway.pass(Math.min(left, 30_000));
    plugin.say({ type: 'heartbeat' });
  }
}

function statuses(gateway: SimulatedGateway): string[] {
  return gateway.changes
    .filter(([, before, after]) => before?.status !== after.status)
    .map(([, , after]) => after.status);
}

t.test(
  'what waits for its terminal is not held in memory: a reader gets what is on disk',
  async (t) => {
    const gateway = new SimulatedGateway();
    (await gateway.plugin()).drop();
    const [id = ''] = await gateway.submit();
    const record = gateway.durable(id);
    t.match(record, { status: 'queued' });
    if (record === undefined) return;
    await rewrite(gateway, { ...record, reasonCode: 'ttl_expired' });
    t.match(gateway.execution(id), { reasonCode: 'ttl_expired' }, 'at rest since its acceptance');

    const next = gateway.restart();
    await rewrite(next, { ...record, reasonCode: 'disconnected_after_send' });
    t.match(
      next.execution(id),
      { reasonCode: 'disconnected_after_send' },
      'at rest since the start',
    );
  },
);

t.test(
  'what has gone from the disk with its user is dropped by the first to meet it',
  async (t) => {
    for (const meets of ['its deadline', 'its terminal', 'a bot'] as const) {
      const gateway = new SimulatedGateway();
      (await gateway.plugin()).drop();
      const [id = ''] = await gateway.submit({ ttlMs: 5_000 });
      await gateway.store.write((batch) => batch.remove('openExecutions', ['u1', id]));
      if (meets === 'its deadline') await gateway.pass(5_000);
      else if (meets === 'a bot') t.equal(gateway.book.find('u1', id), undefined);
      else t.strictSame((await gateway.plugin()).submitted, []);
      t.equal(gateway.book.size, 0, meets);
      await gateway.pass(5_000);
      t.equal(gateway.durable(id), undefined, 'and not written again');
    }
  },
);

t.test(
  'an order is an open one of its key unless it is final, and again once it is known to live',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const [id = ''] = await gateway.submit({ ttlMs: 300_000 });
    t.equal(gateway.book.openOrders.of(1), 1);
    plugin.drop();
    await gateway.pass(60_000);
    t.match(gateway.durable(id), { status: 'unknown' });
    t.equal(gateway.book.size, 1, 'it may be sent again');
    t.equal(gateway.book.openOrders.of(1), 0);
    (await gateway.plugin()).say({ type: 'report', seq: 1, executionId: id, status: 'working' });
    t.equal(gateway.book.openOrders.of(1), 1);
  },
);

t.test('who watches a user sees what changes of that user, and of no other', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  const [own, other] = [gateway.book.watch('u1'), gateway.book.watch('u2')];
  const [id = ''] = await gateway.submit();
  t.strictSame([...own.changed], [id]);
  t.equal(other.changed.size, 0);
  own.end();
  await gateway.pass(60_000);
  t.equal(own.changed.size, 1, 'until its end');
});

t.test('what is not on disk yet is not let go', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  const [id = ''] = await gateway.submit();
  gateway.connect().hello();
  await turns(1);
  const entry = gateway.entry(id);
  t.equal(gateway.durable(id)?.maySend, false);
  entry.unload();
  t.equal(entry.execution.maySend, true);
});

/** One order waits for its confirmation, the other for the confirmation of its cancel. */
async function oneSentAndOneCancelled() {
  const { gateway, plugin, id } = await dispatched();
  const [other = ''] = await gateway.submit();
  plugin.say({ type: 'report', seq: 1, executionId: other, status: 'working' });
  await turns();
  await gateway.cancel(other);
  return { gateway, plugin, id, other };
}

function rewrite(gateway: SimulatedGateway, record: Execution): Promise<void> {
  const key: [string, string] = ['u1', record.executionId];
  return gateway.store.write((batch) => batch.put('openExecutions', key, record));
}

/** A deleted user with a working order, an armed switch and a cancel-all. */
async function ofDeletedUser(t: Test) {
  const gateway = new SimulatedGateway();
  const { userId, email } = user;
  await gateway.store.write((batch) => {
    batch.put('users', userId, user);
    batch.put('emails', email, userId);
  });
  const plugin = await gateway.plugin();
  const [executionId = ''] = await gateway.submit();
  plugin.say({ type: 'report', seq: 1, executionId, status: 'working' });
  await turns();
  plugin.drop();
  gateway.core.cancelAfter.set(userId, 1, 5_000, () => undefined);
  await turns();
  const id = cancelRequestIdOf(executionId, 1);
  await gateway.store.write((batch) =>
    batch.put('cancelAlls', [userId, 'cal_1'], {
      cause: 'cancelled_by_api',
      requestedAt: gateway.clock.now(),
      trail: {},
      orders: [id],
    }),
  );
  t.equal(gateway.book.size, 1);
  await deleteUser(gateway.store, email, gateway.clock.now());
  return { gateway, executionId };
}

t.test('what a deleted user has left is not read at the start, and stays removed', async (t) => {
  const { gateway } = await ofDeletedUser(t);
  const next = gateway.restart();
  await turns();
  t.equal(next.book.size, 0);
  const now = next.clock.now() + 2 * hourMs;
  const sweep = () => next.store.sweep({ cycle: 1, now, limits: next.limits });
  while (!(await sweep()).swept.hasEnded);
  // After an hour the gateway gives up open orders of terminals that it does not know.
  await next.pass(2 * hourMs, hourMs);
  for (const collection of collectionsWith('purged')) t.strictSame(next.store.keys(collection), []);
});

t.test('what was under way for a user that is deleted brings nothing of it back', async (t) => {
  const { gateway, executionId } = await ofDeletedUser(t);
  const entry = gateway.entry(executionId);
  gateway.core.userChanged(user.userId);
  t.equal(gateway.book.apply(entry, becomeUnknown('gateway_restarted')), undefined);
  t.equal(gateway.book.size, 0);
});
