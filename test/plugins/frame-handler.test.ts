import t from 'tap';
import { seqJumpMax } from '../../src/plugins/protocol.js';
import { HeldCommits } from '../support/held-commits.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import {
  publishedEvents,
  SimulatedGateway,
  turns,
  dispatched,
  working,
} from '../support/simulated-gateway.js';

t.test(
  'an ack makes an execution submitted and confirmed, and says nothing of its outcome',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    plugin.say({ type: 'ack', executionId: id });
    await turns();
    t.match(gateway.durable(id), { status: 'submitted', delivery: 'confirmed', confirmedAt: null });
    const told = gateway.changes.length;
    plugin.say({ type: 'ack', executionId: id });
    await turns();
    t.equal(gateway.changes.length, told, 'a repeat changes nothing');
  },
);

t.test('an ack that comes after unknown confirms the delivery and proves no outcome', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  await gateway.pass(60_000);
  plugin.say({ type: 'ack', executionId: id });
  await turns();
  t.match(gateway.durable(id), { status: 'unknown', delivery: 'confirmed' });
});

t.test('a report takes effect and is acknowledged once it is on disk', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const fill = { fillId: 'f1', price: 100.5, quantity: 4, filledAt: '2026-01-15T13:00:01+01:00' };
  gateway.memory.failNextCommits(1);
  plugin.say({
    type: 'report',
    seq: 1,
    executionId: id,
    status: 'partially_filled',
    fill,
    native: { orderId: 'A1', code: 7 },
    occurredAt: '2026-01-15T12:00:01Z',
  });
  await turns();
  t.equal(plugin.lastAck, undefined);
  t.equal(gateway.durable(id)?.status, 'dispatched');
  await gateway.pass(1_000);
  t.equal(plugin.lastAck, 1);
  t.match(gateway.durable(id), {
    status: 'partially_filled',
    filledQuantity: 4,
    remainingQuantity: 6,
    averageFillPrice: 100.5,
    fills: [{ ...fill, filledAt: '2026-01-15T12:00:01.000Z' }],
    native: { orderId: 'A1', state: null, code: 7, text: null },
  });
});

t.test('a heartbeat gets no answer, and takes no seq', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  plugin.say({ type: 'event', seq: 1, event: 'order_update' });
  await turns();
  const before = plugin.frames.length;
  plugin.say({ type: 'heartbeat' });
  await turns();
  t.equal(plugin.frames.length, before);
  plugin.say({ type: 'event', seq: 1, event: 'order_update' });
  plugin.say({ type: 'event', seq: 2, event: 'account_update' });
  await turns();
  t.equal(publishedEvents(gateway).filter(({ name }) => name === 'order_update').length, 1);
  t.equal(plugin.lastAck, 2);
});

t.test('each seq takes effect once; a repeat is acknowledged again', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const report = { type: 'report', seq: 5, executionId: id, status: 'working' };
  plugin.say(report);
  await turns();
  plugin.say({ ...report, status: 'filled' });
  plugin.say({ ...report, seq: 3, status: 'filled' });
  await turns();
  t.equal(gateway.durable(id)?.status, 'working');
  t.strictSame(
    plugin.of('ack').map(({ seq }) => seq),
    [5, 5, 5],
  );
});

t.test('a number that the welcome did not count may be used for another frame', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  gateway.memory.failNextCommits(1_000);
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  plugin.say({ type: 'event', seq: 2, event: 'order_update' });
  plugin.drop();
  const back = await gateway.plugin();
  t.match(back.of('welcome'), [{ lastSeq: 0 }]);
  back.say({ type: 'event', seq: 1, event: 'order_update' });
  back.say({ type: 'report', seq: 2, executionId: id, status: 'rejected' });
  back.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
  gateway.memory.failNextCommits(0);
  await gateway.pass(2_000, 1_000);
  t.equal(gateway.durable(id)?.status, 'rejected', 'of two on one connection the first counts');
  t.equal(back.lastAck, 2);
  t.equal(publishedEvents(gateway).filter(({ name }) => name === 'order_update').length, 2);
});

t.test('two long events are different if only names deep in their data are', async (t) => {
  const { gateway, plugin } = await dispatched();
  const event = (...names: string[]) => {
    const orders = names.map((name) => ({ [name]: 'x'.repeat(1_000) }));
    return { type: 'event', seq: 1, event: 'state_snapshot', data: { orders } };
  };
  gateway.memory.failNextCommits(1_000);
  plugin.say(event('one', 'two'));
  plugin.drop();
  const back = await gateway.plugin();
  back.say(event('one', 'two'));
  back.drop();
  const other = await gateway.plugin();
  other.say(event('one', 'six'));
  gateway.memory.failNextCommits(0);
  await gateway.pass(2_000, 1_000);
  const told = publishedEvents(gateway).filter(({ name }) => name === 'state_snapshot');
  t.equal(told.length, 2);
});

t.test('an event is told once, also when the welcome did not count it', async (t) => {
  const { gateway, plugin } = await dispatched();
  const event = (seq: number, name: string) => ({ type: 'event', seq, event: name });
  gateway.memory.failNextCommits(1_000);
  plugin.say(event(1, 'order_update'));
  plugin.drop();
  const back = await gateway.plugin();
  back.say(event(1, 'order_update'));
  back.say(event(2, 'position_update'));
  back.drop();
  const other = await gateway.plugin();
  t.match(other.of('welcome'), [{ lastSeq: 0 }]);
  other.say(event(1, 'account_update'));
  other.say(event(2, 'position_update'));
  gateway.memory.failNextCommits(0);
  await gateway.pass(2_000, 1_000);
  const told = publishedEvents(gateway).map(({ name }) => name);
  t.strictSame(
    told.filter((name) => name?.endsWith('_update')),
    ['order_update', 'position_update', 'account_update'],
  );
  t.equal(other.lastAck, 2);
});

t.test('while the disk refuses, the events of a connection wait in one write', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  gateway.memory.failNextCommits(1);
  plugin.say({ type: 'event', seq: 1, event: 'order_update' });
  await turns();
  plugin.say({ type: 'event', seq: 2, event: 'order_update' });
  const { backlog } = gateway.writer;
  for (let seq = 3; seq < 200; seq++) plugin.say({ type: 'event', seq, event: 'order_update' });
  t.equal(gateway.writer.backlog, backlog);
  plugin.say({ type: 'report', seq: 200, executionId: id, status: 'working' });
  plugin.say({ type: 'event', seq: 201, event: 'order_update' });
  await turns();
  t.equal(plugin.lastAck, undefined);
  await gateway.pass(1_000);
  t.equal(plugin.lastAck, 201);
  t.match(gateway.durable(id), { status: 'working' });
  t.equal(gateway.store.get('sources', ['u1', 'terminal_a', 'desk-1', 'Sim101'])?.lastSeq, 201);
});

t.test('a report under a number that the welcome counted has no effect', async (t) => {
  const { gateway, plugin, id } = await working();
  plugin.drop();
  const back = await gateway.plugin();
  t.match(back.of('welcome'), [{ lastSeq: 1 }]);
  back.say({ type: 'report', seq: 1, executionId: id, status: 'filled' });
  await turns();
  t.equal(gateway.durable(id)?.status, 'working');
  t.strictSame(back.errors, ['seq_repeated']);
});

t.test('very many events that the welcome did not count are told once', async (t) => {
  const { gateway, plugin } = await dispatched();
  const events = Array.from({ length: 1_200 }, (_, i) => ({
    type: 'event',
    seq: i + 1,
    event: 'order_update',
    data: { state: `${i}` },
  }));
  const { lastSeq } = gateway.hub.ringOf('u1');
  gateway.memory.failNextCommits(1_000);
  for (const each of events) plugin.say(each);
  plugin.drop();
  const back = await gateway.plugin();
  t.match(back.of('welcome'), [{ lastSeq: 0 }]);
  for (const each of events) back.say(each);
  const sourceStatuses = 2;
  t.equal(gateway.hub.ringOf('u1').lastSeq, lastSeq + events.length + sourceStatuses);
});

t.test('a report takes effect once, also when the welcome did not count it', async (t) => {
  for (const [first, second] of [
    ['unknown', 'working'],
    ['working', 'unknown'],
  ]) {
    const { gateway, plugin, id } = await dispatched();
    const reports = [first, second].map((status, i) => ({
      type: 'report',
      seq: i + 1,
      executionId: id,
      status,
    }));
    gateway.memory.failNextCommits(1_000);
    for (const each of reports) plugin.say(each);
    plugin.drop();
    const back = await gateway.plugin();
    t.match(back.of('welcome'), [{ lastSeq: 0 }]);
    back.say(reports[0] as object);
    gateway.memory.failNextCommits(0);
    await gateway.pass(2_000, 1_000);
    t.equal(gateway.durable(id)?.status, second);
    t.equal(back.lastAck, 1, 'what came on this connection is durable');
    back.say(reports[1] as object);
    await turns();
    t.equal(gateway.durable(id)?.status, second);
  }
});

t.test(
  'acknowledgements are cumulative: none overtakes an earlier frame’s failed write',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    gateway.memory.failNextCommits(2);
    plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
    await turns();
    plugin.say({ type: 'event', seq: 2, event: 'order_update' });
    plugin.say({ type: 'report', seq: 3, executionId: 'exe_x', status: 'working' });
    await turns();
    t.equal(plugin.lastAck, undefined);
    await gateway.pass(2_000, 1_000);
    t.strictSame(
      plugin.of('ack').map(({ seq }) => seq),
      [3],
      'and one covers all that came to the disk together',
    );
    t.equal(gateway.durable(id)?.status, 'working');
  },
);

t.test('an acknowledgement counts no frame that is not on disk', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const commits = new HeldCommits(gateway);
  plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
  await commits.releaseOne();
  t.equal(plugin.lastAck, 1);
  await commits.releaseAll();
  t.equal(plugin.lastAck, 2);
});

t.test(
  'neither an acknowledgement nor a welcome counts a number for the frame of an earlier connection',
  async (t) => {
    const { gateway, plugin, id } = await dispatched();
    const commits = new HeldCommits(gateway);
    for (const seq of [1, 2]) plugin.say({ type: 'event', seq, event: 'order_update' });
    plugin.drop();
    const back = await gateway.plugin();
    t.match(back.of('welcome'), [{ lastSeq: 0 }]);
    back.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
    await commits.releaseOne();
    back.say({ type: 'report', seq: 2, executionId: id, status: 'filled' });
    await commits.releaseOne();
    t.equal(back.lastAck, 1, 'the commit of the second report is under way');
    back.drop();
    const third = await gateway.plugin();
    t.match(third.of('welcome'), [{ lastSeq: 1 }]);
    await commits.releaseAll();
    t.match(gateway.durable(id), { status: 'filled' });
  },
);

t.test('after a crash the welcome counts no number of an earlier connection', async (t) => {
  const { gateway, plugin } = await dispatched();
  gateway.memory.failNextCommits(1_000);
  for (const seq of [1, 2]) plugin.say({ type: 'event', seq, event: 'order_update' });
  plugin.drop();
  const back = await gateway.plugin();
  back.say({ type: 'event', seq: 1, event: 'account_update' });
  gateway.memory.failNextCommits(0);
  await gateway.pass(2_000, 1_000);
  t.equal(back.lastAck, 1);
  t.equal(gateway.store.range('sources')[0]?.record.lastSeq, 1);
});

t.test('seq and its effect are on disk together, so that a crash loses neither', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({ type: 'report', seq: 9, executionId: id, status: 'filled', filledQuantity: 10 });
  let commits = 0;
  while (gateway.store.range('sources')[0]?.record.lastSeq !== 9 && commits++ < 20) {
    t.equal(gateway.durable(id)?.status, 'dispatched');
    await turns(1);
  }
  t.equal(gateway.durable(id)?.status, 'filled');
});

const foreign: [string, (gateway: SimulatedGateway) => Promise<ScriptedPlugin>][] = [
  ['another terminal of the user', (gateway) => gateway.plugin({ instanceId: 'desk-2' })],
  ['another account of the terminal', (gateway) => gateway.plugin({ accountName: 'Sim102' })],
  ['another user’s terminal of that name', (gateway) => gateway.plugin({}, 'u2')],
];
for (const [name, connect] of foreign) {
  t.test(`words on an execution are refused without effect from ${name}`, async (t) => {
    const { gateway, plugin, id } = await dispatched();
    plugin.say({ type: 'report', seq: 1, executionId: id, status: 'working' });
    await turns();
    const cancelRequestId = await gateway.cancel(id);
    const before = gateway.durable(id);
    const stranger = await connect(gateway);
    stranger.say({ type: 'ack', executionId: id });
    stranger.say({ type: 'report', seq: 1, executionId: id, status: 'filled' });
    stranger.say({ type: 'ack', cancelRequestId });
    stranger.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
    await turns();
    t.strictSame(stranger.errors, [
      'unknown_execution',
      'unknown_execution',
      'unknown_cancel',
      'unknown_cancel',
    ]);
    t.equal(stranger.lastAck, 2, 'it need not say so again');
    t.strictSame(gateway.durable(id), before);
  });
}

t.test('what has not the form of an executionId is not looked for', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const asked: unknown[] = [];
  const find = gateway.book.find.bind(gateway.book);
  gateway.book.find = (userId, executionId) => {
    asked.push(executionId);
    return find(userId, executionId);
  };
  const unlike = ['x', `${id}0`.padEnd(100, '0'), id.replace('exe_', 'ord_')];
  for (const executionId of [...unlike, id]) plugin.say({ type: 'ack', executionId });
  await turns();
  t.strictSame(plugin.errors, Array(unlike.length).fill('unknown_execution'));
  t.strictSame(new Set(asked), new Set([id]));
});

t.test('words on what was never sent to the terminal are refused without effect', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  const [expired = ''] = await gateway.submit({ ttlMs: 1_000 });
  await gateway.pass(1_000);
  const plugin = await gateway.plugin();
  for (const status of ['expired', 'filled', 'unknown']) {
    plugin.say({
      type: 'report',
      seq: plugin.of('error').length + 1,
      executionId: expired,
      status,
    });
  }
  plugin.say({ type: 'ack', executionId: expired });
  await turns();
  t.strictSame(plugin.errors, Array(4).fill('unknown_execution'));
  t.match(gateway.durable(expired), { status: 'expired', delivery: 'not_sent', confirmedAt: null });
});

t.test('an ack of what is still queued does not keep it from being sent', async (t) => {
  const gateway = new SimulatedGateway();
  (await gateway.plugin()).drop();
  const [id = ''] = await gateway.submit();
  const plugin = gateway.connect();
  plugin.hello();
  plugin.say({ type: 'ack', executionId: id });
  await turns();
  t.strictSame(plugin.errors, ['unknown_execution']);
  t.strictSame(plugin.submitted, ['s1']);
});

t.test('a known fill is counted, also when its report brings a new status', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const fill = { fillId: 'f1', price: 1, quantity: 2, filledAt: '2026-01-15T12:00:00Z' };
  const report = { type: 'report', executionId: id, fill };
  plugin.say({ ...report, seq: 1, status: 'partially_filled' });
  plugin.say({ ...report, seq: 2, status: 'filled' });
  await turns();
  t.equal(gateway.instruments.fillsDuplicate.value, 1);
  t.equal(gateway.instruments.reportsIgnored.value, 0);
});

t.test('what is ignored is acknowledged and counted, duplicate fills apart', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const fill = { fillId: 'f1', price: 1, quantity: 2, filledAt: '2026-01-15T12:00:00Z' };
  const report = { type: 'report', executionId: id, status: 'partially_filled', fill };
  plugin.say({ ...report, seq: 1 });
  plugin.say({ ...report, seq: 2 });
  plugin.say({ type: 'report', seq: 3, executionId: id, status: 'working' });
  await turns();
  t.equal(plugin.lastAck, 3);
  t.equal(gateway.instruments.reportsIgnored.value, 2);
  t.equal(gateway.instruments.fillsDuplicate.value, 1);
  t.match(gateway.durable(id), { filledQuantity: 2, status: 'partially_filled' });
});

t.test('what a plugin knows at hello counts as reports, and is not sent again', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const [other = ''] = await gateway.submit();
  plugin.drop();
  const back = await gateway.plugin({
    executions: [
      { executionId: id, status: 'working', filledQuantity: 0 },
      { executionId: 'exe_nothing', status: 'filled' },
    ],
  });
  t.match(gateway.durable(id), { status: 'working', delivery: 'confirmed' });
  t.ok(gateway.durable(id)?.confirmedAt);
  t.strictSame(back.submitted, ['s2']);
  t.equal(gateway.durable(other)?.status, 'dispatched');
  t.equal(gateway.instruments.reportsIgnored.value, 1);
});

t.test('a cancel report moves the cancel, and its success ends the order', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  t.match(plugin.of('cancel'), [
    { cancelRequestId, executionId: id, orderRef: `ord${id.slice(3)}` },
  ]);
  plugin.say({ type: 'ack', cancelRequestId });
  await turns();
  t.match(gateway.durable(id), { status: 'working', cancel: { status: 'pending' } });
  const native = { state: 'Cancelled' };
  plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled', native });
  await turns();
  t.match(gateway.durable(id), {
    status: 'cancelled',
    reasonCode: 'cancelled_by_api',
    native: { state: 'Cancelled' },
    cancel: { status: 'cancelled' },
  });
  t.equal(plugin.lastAck, 2);
});

t.test('a rejected cancel leaves the order as it is, and another may follow', async (t) => {
  const { gateway, plugin, id } = await working();
  const first = await gateway.cancel(id, 'k1');
  const reasonCode = 'unable_to_cancel';
  plugin.say({
    type: 'cancel_report',
    seq: 2,
    cancelRequestId: first,
    status: 'rejected',
    reasonCode,
  });
  await turns();
  t.match(gateway.durable(id), { status: 'working', cancel: { status: 'rejected', reasonCode } });
  const second = await gateway.cancel(id, 'k2');
  t.not(second, first);
  t.equal(plugin.of('cancel').length, 2);
  t.match(gateway.durable(id), { cancel: { status: 'dispatched', attempt: 2 } });
});

t.test(
  'an order that ends by itself after a rejected cancel was not cancelled by the API',
  async (t) => {
    const { gateway, plugin, id } = await working();
    const cancelRequestId = await gateway.cancel(id);
    plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'rejected' });
    plugin.say({ type: 'report', seq: 3, executionId: id, status: 'cancelled' });
    await turns();
    t.match(gateway.durable(id), {
      status: 'cancelled',
      reasonCode: null,
      cancel: { status: 'rejected' },
    });
  },
);

t.test(
  'an order that ends as cancelled while a cancel is open was cancelled by the API',
  async (t) => {
    const { gateway, plugin, id } = await working();
    await gateway.cancel(id);
    plugin.say({ type: 'report', seq: 2, executionId: id, status: 'cancelled' });
    await turns();
    t.match(gateway.durable(id), {
      status: 'cancelled',
      reasonCode: 'cancelled_by_api',
      cancel: { status: 'cancelled' },
    });
  },
);

t.test(
  'a cancel called unknown that the terminal takes up after all gets its 30 s anew',
  async (t) => {
    const { gateway, plugin, id } = await working();
    const cancelRequestId = await gateway.cancel(id);
    await gateway.pass(30_000);
    t.match(gateway.durable(id), { cancel: { status: 'unknown', reasonCode: 'cancel_timeout' } });
    plugin.say({ type: 'ack', cancelRequestId });
    await gateway.pass(29_999);
    t.match(gateway.durable(id), { cancel: { status: 'pending' } });
    await gateway.pass(1);
    t.match(gateway.durable(id), { cancel: { status: 'unknown' } });
  },
);

t.test('a late outcome corrects a cancel called unknown', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  await gateway.pass(30_000);
  plugin.say({ type: 'cancel_report', seq: 3, cancelRequestId, status: 'cancelled' });
  await turns();
  t.match(gateway.durable(id), { status: 'cancelled', cancel: { status: 'cancelled' } });
});

t.test(
  'the late success of an earlier cancel ends the order, and the newer cancel with it',
  async (t) => {
    const { gateway, plugin, id } = await working();
    const first = await gateway.cancel(id, 'k1');
    await gateway.pass(30_000);
    await gateway.cancel(id, 'k2');
    plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId: first, status: 'rejected' });
    await turns();
    t.match(gateway.durable(id), {
      status: 'working',
      cancel: { status: 'dispatched', attempt: 2 },
    });
    plugin.say({ type: 'cancel_report', seq: 3, cancelRequestId: first, status: 'cancelled' });
    await turns();
    t.match(gateway.durable(id), {
      status: 'cancelled',
      reasonCode: 'cancelled_by_api',
      cancel: { status: 'cancelled', attempt: 2 },
    });
  },
);

t.test('cancelled after rejected, of one cancel, ends the order all the same', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'rejected' });
  plugin.say({ type: 'cancel_report', seq: 3, cancelRequestId, status: 'cancelled' });
  await turns();
  t.match(gateway.durable(id), { status: 'cancelled', cancel: { status: 'rejected' } });
});

t.test('words on a cancel that has not left are refused', async (t) => {
  const { gateway, plugin, id } = await working();
  gateway.core.cancels.accept(gateway.entry(id), 'k', 'cancel', () => undefined);
  const cancelRequestId = gateway.execution(id).cancel?.cancelRequestId;
  plugin.say({ type: 'ack', cancelRequestId });
  plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
  await turns();
  t.strictSame(plugin.errors, ['unknown_cancel', 'unknown_cancel']);
  t.match(gateway.durable(id), { status: 'working', cancel: { status: 'dispatched' } });
});

t.test('a cancel report for an order that is filled by then changes nothing', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  plugin.say({ type: 'report', seq: 2, executionId: id, status: 'filled', filledQuantity: 10 });
  plugin.say({ type: 'cancel_report', seq: 3, cancelRequestId, status: 'cancelled' });
  await turns();
  t.match(gateway.durable(id), {
    status: 'filled',
    cancel: { status: 'too_late', reasonCode: 'already_filled' },
  });
  t.equal(plugin.lastAck, 3, 'acknowledged all the same');
  t.equal(gateway.instruments.reportsIgnored.value, 1);
});

t.test('a late fill undoes a cancel: it was too late', async (t) => {
  const { gateway, plugin, id } = await working();
  const cancelRequestId = await gateway.cancel(id);
  plugin.say({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
  plugin.say({ type: 'report', seq: 3, executionId: id, status: 'filled', filledQuantity: 10 });
  await turns();
  t.match(gateway.durable(id), { status: 'filled', cancel: { status: 'too_late' } });
});

t.test('an event is published with what is known of its execution, and acknowledged', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  plugin.say({
    type: 'event',
    seq: 1,
    event: 'order_update',
    occurredAt: '2026-01-15T14:00:00+02:00',
    data: { state: 'Working' },
    rawText: 'x'.repeat(8_193),
    orderRef: `ord${id.slice(3)}`,
  });
  plugin.say({ type: 'event', seq: 2, event: 'terminal_message', executionId: 'exe_nothing' });
  await turns();
  t.equal(plugin.lastAck, 2);
  const [named, bare] = publishedEvents(gateway).slice(-2);
  t.match(named, {
    name: 'order_update',
    data: {
      occurredAt: '2026-01-15T12:00:00.000Z',
      receivedAt: '2026-01-15T12:00:00.000Z',
      platform: 'terminal_a',
      instanceId: 'desk-1',
      accountName: 'Sim101',
      signalId: 's1',
      executionId: id,
      orderRef: `ord${id.slice(3)}`,
      rawText: 'x'.repeat(8_192),
      rawTextTruncated: true,
      data: { state: 'Working' },
    },
  });
  t.match(bare, { data: { executionId: null, rawText: null, rawTextTruncated: false, data: {} } });
});

t.test('an event’s execution is named only for the terminal that has it', async (t) => {
  const { gateway, id } = await dispatched();
  const other = await gateway.plugin({ instanceId: 'desk-2' });
  other.say({ type: 'event', seq: 1, event: 'order_update', executionId: id });
  await turns();
  t.match(publishedEvents(gateway, 'desk-2').at(-1), {
    data: { executionId: null, signalId: null },
  });
});

t.test('an event is published once however often it is sent', async (t) => {
  const { gateway, plugin } = await dispatched();
  const before = publishedEvents(gateway).length;
  for (let i = 0; i < 3; i++) plugin.say({ type: 'event', seq: 1, event: 'order_update' });
  await turns();
  t.equal(publishedEvents(gateway).length, before + 1);
});

t.test('a step of the wall clock makes no confirmation longer', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  gateway.clock.advance(5_000);
  const ids = [...(await gateway.submit()), ...(await gateway.submit())];
  gateway.clock.advance(2_000);
  gateway.clock.stepWall(36_000_000);
  plugin.say({ type: 'report', seq: 1, executionId: ids[0], status: 'working' });
  gateway.clock.stepWall(-72_000_000);
  plugin.say({ type: 'report', seq: 2, executionId: ids[1], status: 'working' });
  t.strictSame(
    [gateway.instruments.confirmLatency.count, gateway.instruments.confirmLatency.sum],
    [2, 4],
  );
});

t.test(
  'of what an earlier process sent, nobody knows how long its confirmation took',
  async (t) => {
    const first = new SimulatedGateway();
    const plugin = await first.plugin();
    const [executionId = ''] = await first.submit();
    plugin.drop();
    const [waiting] = await first.submit();
    const next = first.restart();
    const again = await next.plugin();
    again.say({ type: 'report', seq: 1, executionId, status: 'working' });
    t.match(next.execution(executionId), { status: 'working' });
    t.equal(next.instruments.confirmLatency.count, 0);
    again.say({ type: 'report', seq: 2, executionId: waiting, status: 'working' });
    t.equal(next.instruments.confirmLatency.count, 1, 'what waited was sent by this process');
  },
);

t.test('a plugin that begins its numbers anew is told, and counted', async (t) => {
  const gateway = new SimulatedGateway();
  const first = await gateway.plugin();
  first.say({ type: 'event', seq: 41, event: 'order_update' });
  await turns();
  first.say({ type: 'event', seq: 41, event: 'order_update' });
  await turns();
  t.strictSame(first.errors, [], 'a repeat within the connection is no error');
  first.drop();
  const anew = await gateway.plugin();
  for (const seq of [1, 2, 3, 4]) anew.say({ type: 'event', seq, event: 'order_update' });
  await turns();
  t.strictSame(
    anew.errors,
    Array.from({ length: 4 }, () => 'seq_repeated'),
  );
  t.equal(anew.closed, undefined);
  t.equal(anew.lastAck, 41);
  t.equal(gateway.instruments.framesRepeated.value, 4);
  anew.say({ type: 'event', seq: 42, event: 'order_update' });
  await turns();
  t.equal(anew.lastAck, 42);
});

t.test('a frame that was received but not on disk may come again', async (t) => {
  const gateway = new SimulatedGateway();
  const first = await gateway.plugin();
  gateway.memory.failNextCommits(1);
  first.say({ type: 'event', seq: 1, event: 'order_update' });
  const second = await gateway.plugin();
  t.equal(second.of('welcome')[0]?.['lastSeq'], 0);
  second.say({ type: 'event', seq: 1, event: 'order_update' });
  await gateway.pass(1_000);
  t.strictSame(second.errors, []);
  t.equal(second.lastAck, 1);
});

t.test('an absurd jump is refused, so that the source can go on', async (t) => {
  const { gateway, plugin, id } = await dispatched();
  const report = { type: 'report', executionId: id, status: 'working' };
  plugin.say({ ...report, seq: Number.MAX_SAFE_INTEGER });
  plugin.say({ ...report, seq: seqJumpMax + 1 });
  await turns();
  t.strictSame(plugin.errors, ['seq_jump', 'seq_jump']);
  t.equal(gateway.durable(id)?.status, 'dispatched');
  plugin.say({ ...report, seq: Date.UTC(2026, 0, 15) });
  await turns();
  t.equal(gateway.durable(id)?.status, 'working', 'milliseconds may number them');
  plugin.say({ ...report, seq: Date.UTC(2026, 0, 15) + seqJumpMax, status: 'filled' });
  await turns();
  t.equal(gateway.durable(id)?.status, 'filled');
});
