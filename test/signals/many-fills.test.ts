import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import type { Static } from 'typebox';
import { executionIdOf } from '../../src/lib/ids.js';
import type { Execution, Fill } from '../../src/model/execution.js';
import type { SignalRequest } from '../../src/model/records.js';
import { HeldCommits } from '../support/held-commits.js';
import { helloFrame, type ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';
import { readExecution } from '../support/read-execution.js';
import { heldBy, putFills, toRecord } from '../../src/signals/stored-execution.js';
import { fillsPerFrame } from '../../src/plugins/budget.js';
import { SignalPage } from '../../src/signals/signal-page.js';
import { type ReadSignal, SignalReader } from '../../src/signals/signal-reader.js';
import { purgeKeyOf } from '../../src/store/key-layout.js';
import type { Reader } from '../../src/store/store.js';
import { type signalSchema, toExecutionView } from '../../src/signals/signal-view.js';
import { anExecution, aFill } from './an-execution.js';

async function resting(fillsPerExecution = 10_000, openExecutionsPerUser = 200_000) {
  const gateway = new SimulatedGateway({ limits: { fillsPerExecution, openExecutionsPerUser } });
  const plugin = await gateway.plugin();
  const [id = ''] = await gateway.submit({ payload: '{"quantity":1000000}' });
  plugin.say({ type: 'ack', executionId: id });
  await turns();
  return { gateway, plugin, id };
}

let seq = 0;

function tell(
  plugin: ScriptedPlugin,
  executionId: string,
  fill: Fill,
  status = 'partially_filled',
): void {
  plugin.say({ type: 'report', seq: ++seq, executionId, status, fill });
}

const read = (gateway: SimulatedGateway, id: string) => readExecution(gateway.store, 'u1', id);

t.test('a fill that waits for the disk keeps no long list of the fills before it', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { gateway, plugin, id } = await resting();
  const before = Array.from({ length: 16 }, (_, i) => `before${i}`);
  for (const fillId of before) tell(plugin, id, aFill(fillId, 2));
  await turns();
  const held = new HeldCommits(gateway);
  const listWith = (fillId: string, n: number): WeakRef<object> => {
    // Reports that change the status, which is announced, and reports that do not.
    tell(plugin, id, aFill(fillId, 2), n === 1 ? 'unknown' : 'partially_filled');
    return new WeakRef(gateway.book.find('u1', id)?.execution.fills as object);
  };
  const fillIds = ['f1', 'f2', 'f3', 'f4'];
  const lists = fillIds.map(listWith);
  await turns();
  collect();
  const isKept = lists.map((list) => list.deref() !== undefined);
  t.strictSame(isKept, [false, false, false, true]);
  await held.releaseAll();
  const durable = read(gateway, id);
  t.strictSame(
    durable?.fills.map(({ fillId }) => fillId),
    [...before, ...fillIds],
  );
});

t.test(
  'of the open executions of a user and their fills, so many are held in memory',
  async (t) => {
    const { gateway, plugin, id } = await resting(10_000, 3);
    for (const n of [1, 2, 3, 4]) tell(plugin, id, aFill(`f${n}`, 1));
    await turns();
    const { fills, filledQuantity } = read(gateway, id) as Execution;
    t.strictSame(
      [fills.length, filledQuantity],
      [2, 4],
      'further fills are counted, and not listed',
    );
    const [denied = ''] = await gateway.submit();
    t.match(read(gateway, denied), { status: 'denied', reasonCode: 'too_many_executions' });
    t.equal(gateway.book.roomOf('u1'), 0);
    t.equal(gateway.book.roomOf('u2'), 3, 'another user has room');

    plugin.say({ type: 'report', seq: ++seq, executionId: id, status: 'cancelled' });
    await turns();
    t.equal(gateway.book.roomOf('u1'), 3, 'a final one is not held');
    const [next = ''] = await gateway.submit();
    t.match(read(gateway, next), { status: 'dispatched' });
    const [ended] = await gateway.submit();
    plugin.say({ type: 'report', seq: ++seq, executionId: ended, status: 'cancelled' });
    await turns();
    t.equal(gateway.book.roomOf('u1'), 2, 'nor is one that ends beside an open one');
  },
);

t.test('a record has the first fills; each further one has a row of its own', async (t) => {
  const { gateway, plugin, id } = await resting();
  let rows = 0;
  const { memory } = gateway;
  const write = memory.write.bind(memory);
  memory.write = (fill) =>
    write((batch) =>
      fill({
        put: (collection, key, record) => {
          if (collection === 'fills') rows++;
          batch.put(collection, key, record);
        },
        remove: (collection, key) => batch.remove(collection, key),
      }),
    );
  for (let i = 1; i <= 50; i++) {
    tell(plugin, id, aFill(`f${i}`, 2));
    if (i % 5 === 0) await turns();
  }
  t.ok(rows < 2 * 34, 'not again once it is flushed');
  t.match(gateway.durable(id), { filledQuantity: 100, fillRows: 34 });
  t.equal(gateway.durable(id)?.fills.length, 16);
  const ids = (gateway: SimulatedGateway) => read(gateway, id)?.fills.map(({ fillId }) => fillId);
  const expected = Array.from({ length: 50 }, (_, i) => `f${i + 1}`);
  t.same(ids(gateway), expected);
  const next = gateway.restart();
  t.same(ids(next), expected);
  const again = await next.plugin();
  rows = 0;
  await next.cancel(id);
  tell(again, id, aFill('f30', 2));
  tell(again, id, aFill('f51', 2));
  await turns();
  t.equal(rows, 1, 'nor after a restart and a cancel');
  t.same(ids(next), [...expected, 'f51'], 'a known one is told from a new one after a restart');
  t.match(read(next, id), { filledQuantity: 102 });
});

t.test('fills that a failed commit has lost are written with the next', async (t) => {
  const { gateway, plugin, id } = await resting();
  gateway.memory.failNextCommits(3);
  for (let i = 1; i <= 40; i++) tell(plugin, id, aFill(`f${i}`, 1));
  await gateway.pass(10_000, 1_000);
  t.equal(read(gateway.restart(), id)?.fills.length, 40);
});

t.test('beyond the limit a fill is counted, and no longer listed', async (t) => {
  const { gateway, plugin, id } = await resting(20);
  for (let i = 1; i <= 30; i++) tell(plugin, id, aFill(`f${i}`, 2, i <= 20 ? 100 : 400));
  tell(plugin, id, aFill('f25', 2));
  await turns();
  const next = gateway.restart();
  const again = await next.plugin({
    executions: [{ executionId: id, status: 'partially_filled', fill: aFill('f30', 2) }],
  });
  tell(again, id, aFill('f31', 2, 400));
  await turns();
  const execution = read(next, id);
  t.match(execution, { filledQuantity: 62, remainingQuantity: 999_938 });
  t.equal(execution?.averageFillPrice, Number(((20 * 100 + 11 * 400) / 31).toPrecision(15)));
  const view = execution && toExecutionView(execution);
  t.equal(view?.fills.length, 20);
  t.equal(view?.fillsTruncated, true);
});

t.test(
  'an answer lists as many fills as one execution may have, of all its executions',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugins = [await gateway.plugin(), await gateway.plugin({ instanceId: 'desk-2' })];
    const ids = await gateway.submit({ payload: '{"quantity":1000000}' });
    for (const [index, plugin] of plugins.entries()) {
      const id = ids[index] as string;
      plugin.say({ type: 'ack', executionId: id });
      for (let i = 1; i <= 50; i++) tell(plugin, id, aFill(`f${i}`, 2));
    }
    await turns();
    const { requestId } = gateway.execution(ids[0] as string);
    const { store } = gateway;
    for (const [fillsMax, listed] of [
      [100, [50, 50]],
      [99, [50, 49]],
      [66, [50, 16]],
      [50, [50, 0]],
      [8, [8, 0]],
    ] as const) {
      const text =
        new SignalReader({ store, fillsMax }).read('u1', requestId)?.json().toString() ?? '{}';
      const { executions } = JSON.parse(text) as Static<typeof signalSchema>;
      const shown = executions.map(({ fills }) => fills.length);
      t.same(shown, listed, `${fillsMax} at most`);
      const truncated = executions.map(({ fillsTruncated = false }) => fillsTruncated);
      t.same(
        truncated,
        listed.map((count) => count < 50),
      );
      t.match(executions, [{ filledQuantity: 100 }, { filledQuantity: 100 }]);
    }
  },
);

t.test('a step of a long answer reads a part of the fills, for a status and a list', async (t) => {
  const { gateway, plugin, id } = await resting();
  for (let i = 1; i <= 600; i++) tell(plugin, id, aFill(`f${i}`, 1));
  await turns();
  const first = read(gateway, id) as Execution;
  const { requestId } = first;
  const request = gateway.store.get('requests', ['u1', requestId]) as SignalRequest;
  await gateway.store.write((batch) => {
    batch.put('requests', ['u1', requestId], { ...request, executionCount: 5 });
    for (const index of [1, 2, 3, 4]) {
      const executionId = executionIdOf(requestId, index);
      const execution = { ...first, executionId, fills: first.fills.slice(0, 100) };
      batch.put('openExecutions', ['u1', executionId], toRecord(execution));
      putFills(batch, 'u1', execution, 0);
    }
  });
  let reads = 0;
  let rows = 0;
  const store: Reader = {
    ...gateway.store,
    range(collection, wanted) {
      const found = gateway.store.range(collection, wanted);
      if (collection === 'fills') {
        reads++;
        rows += found.length;
      }
      return found;
    },
  };
  const reader = new SignalReader({ store, fillsMax: 10_000 });
  const signal = reader.read('u1', requestId) as ReadSignal;
  t.ok(signal.isLong);
  const query = { userId: 'u1', filter: 'all', limit: 50, before: undefined } as const;
  const page = new SignalPage(reader, query, gateway.clock);
  const texts = { status: '', list: '' };
  for (const [kind, steps] of [
    ['status', signal.steps()],
    ['list', page.steps()],
  ] as const) {
    for (let isDone = false; !isDone;) {
      reads = rows = 0;
      const { value, done = false } = steps.next();
      texts[kind] = String(value);
      isDone = done;
      t.ok(rows <= 200, `${rows} fills in a step of the ${kind}`);
      // While the index is far behind, each read takes milliseconds.
      t.ok(reads <= 1, `${reads} reads of fills in a step of the ${kind}`);
    }
  }
  const { executions } = JSON.parse(texts.status) as Static<typeof signalSchema>;
  t.strictSame(
    executions.map(({ fills }) => fills.length),
    [600, 100, 100, 100, 100],
  );
  t.equal(signal.json().toString(), texts.status);
  t.equal(texts.list, `{"signals":[${texts.status}],"next":null}`);
});

/** A gateway that has found a record of an earlier version, with thirty fills in it. */
async function startedOnOlder(openExecutionsPerUser: number) {
  const { gateway, plugin, id } = await resting(10_000, openExecutionsPerUser);
  const fills = Array.from({ length: 30 }, (_, i) => aFill(`f${i}`, 1));
  const record = gateway.durable(id) ?? anExecution('working');
  const old = { ...record, status: 'partially_filled', fills, filledQuantity: 30 } as const;
  await gateway.store.write((batch) => batch.put('openExecutions', ['u1', id], old));
  plugin.drop();
  const next = gateway.restart();
  t.equal(read(next, id)?.fills.length, 30);
  return { next, plugin: await next.plugin(), id };
}

t.test('a record of an earlier version, with all fills in it, is read and goes on', async (t) => {
  const { next, plugin, id } = await startedOnOlder(200_000);
  tell(plugin, id, aFill('f30', 1));
  await turns();
  t.equal(next.durable(id)?.fills.length, 16);
  t.equal(read(next.restart(), id)?.fills.length, 31);
});

t.test('the fills of such a record are held, without room, until they have rows', async (t) => {
  const { next, plugin, id } = await startedOnOlder(20);
  tell(plugin, id, aFill('f29', 1));
  t.equal(next.execution(id).fills.length, 30);
  tell(plugin, id, aFill('f30', 1));
  await turns();
  t.equal(next.entry(id).record.fills.length, 16);
  t.match(read(next.restart(), id), { filledQuantity: 31, fills: { length: 30 } });
});

/** Counts the rows of fills that are read from now on. */
function watchFills(gateway: SimulatedGateway) {
  const reads = { rows: 0 };
  const store = gateway.store as { range: Reader['range'] };
  const { range } = store;
  store.range = (collection, wanted) => {
    const found = range(collection, wanted);
    if (collection === 'fills') reads.rows += found.length;
    return found;
  };
  return reads;
}

/** Says a frame to its end, and judges that each step reads few fills. @returns how many it read. */
function fillsRead(
  t: Test,
  gateway: SimulatedGateway,
  plugin: ScriptedPlugin,
  frame: object,
): number {
  const reads = watchFills(gateway);
  let [before, isDone] = [0, false];
  const steps = plugin.stepsOf(JSON.stringify(frame));
  for (;;) {
    t.ok(reads.rows - before <= 200, `${reads.rows - before} fills in a step`);
    before = reads.rows;
    if (isDone) return before;
    isDone = steps?.next().done !== false;
  }
}

t.test(
  'a step of a late frame, or of a hello, reads a part of a final order’s fills',
  async (t) => {
    const { gateway, plugin, id } = await resting();
    for (let i = 1; i <= 600; i++) tell(plugin, id, aFill(`f${i}`, 1));
    tell(plugin, id, aFill('f600', 1), 'cancelled');
    await turns();
    const ended = { executionId: id, status: 'cancelled' };
    const late = (fillId: string) => ({ ...ended, fill: aFill(fillId, 1) });
    const said = async (frame: object): Promise<number> => {
      const rows = fillsRead(t, gateway, plugin, { seq: ++seq, ...frame });
      await turns();
      return rows;
    };
    t.equal(await said({ type: 'event', event: 'order_update', executionId: id }), 0);
    t.equal(await said({ type: 'report', ...ended }), 0, 'a report without a fill');
    t.equal(await said({ type: 'report', ...late('late1') }), 600 - 16);
    t.ok(
      (await said({ type: 'report', ...late('late2') })) < 200,
      'the next of that order reads few',
    );
    await said({ type: 'report', ...late('f599') });
    t.match(read(gateway, id), { status: 'cancelled', filledQuantity: 602 });

    const [small = ''] = await gateway.submit();
    const next = gateway.restart();
    const executions = [late('late3'), { executionId: small, status: 'working' }, late('late4')];
    const rows = fillsRead(t, next, next.connect(), { ...helloFrame, executions });
    t.equal(rows, 602 - 16);
    await turns();
    t.match(read(next, id), { status: 'cancelled', filledQuantity: 604 });
    t.match(read(next, small), { status: 'working' });
    const last = next.restart();
    t.equal(read(last, id)?.fills.length, 604);
    fillsRead(t, last, last.connect(), { ...helloFrame, executions: [late('late5')] });
    await turns();
    t.match(read(last, id), { filledQuantity: 605 }, 'a hello that knows of nothing else');
    const again = last.restart();
    const back = await again.plugin();
    fillsRead(t, again, back, { type: 'report', seq: 1, ...late('late5') });
    t.strictSame(back.errors, ['seq_repeated'], 'a frame that is rejected after its steps');
  },
);

t.test('a long text of a terminal counts as fills, and is cut when there is no room', async (t) => {
  const { gateway, plugin, id } = await resting(10_000, 5);
  const say = async (text: string) => {
    const native = { orderId: 'B1', text };
    plugin.say({ type: 'report', seq: ++seq, executionId: id, status: 'working', native });
    await turns();
    return [read(gateway, id)?.native?.text?.length, gateway.book.roomOf('u1')];
  };
  t.strictSame(await say('x'.repeat(511)), [511, 4], 'a short one does not count');
  t.strictSame(await say('x'.repeat(1_024)), [1_024, 2]);
  t.strictSame(await say('x'.repeat(8_192)), [2_559, 0], 'all of the room');
  t.strictSame(await say('y'.repeat(2_000)), [2_000, 1]);
  const [other = ''] = await gateway.submit();
  t.match(read(gateway, other), { status: 'dispatched' });
  t.strictSame(await say('x'.repeat(8_192)), [2_047, 0]);
  const cancelRequestId = await gateway.cancel(id);
  const native = { text: 'z'.repeat(8_192) };
  plugin.say({ type: 'cancel_report', seq: ++seq, cancelRequestId, status: 'rejected', native });
  await turns();
  t.equal(read(gateway, id)?.native?.text, native.text.slice(0, 2_047));
});

t.test('ids of unlisted fills count, too: without room an execution keeps four', async (t) => {
  const { gateway, plugin, id } = await resting(1, 80);
  const ids = [id, ...(await gateway.submit()), ...(await gateway.submit())];
  const kept: unknown[] = [];
  for (const executionId of ids) {
    for (let i = 1; i <= 60; i++) tell(plugin, executionId, aFill(`f${i}`, 1));
    tell(plugin, executionId, aFill('f60', 1));
    await turns();
    const { fills, unlistedFills, filledQuantity } = read(gateway, executionId) as Execution;
    kept.push([fills.length, unlistedFills?.lastIds.length, gateway.book.roomOf('u1')]);
    t.equal(filledQuantity, 60, 'the latest one is known');
  }
  t.strictSame(kept, [
    [1, 59, 17],
    [1, 16, 0],
    [0, 4, 0],
  ]);
});

t.test('an ack of an order or of its cancel reads none of its fills', async (t) => {
  const { gateway, plugin, id: first } = await resting();
  const [second = ''] = await gateway.submit({ payload: '{"quantity":1000000}' });
  for (const id of [first, second]) {
    for (let i = 1; i <= 600; i++) tell(plugin, id, aFill(`f${i}`, 1));
  }
  await turns();
  const cancelRequestId = await gateway.cancel(second);
  plugin.say({ type: 'cancel_report', seq: ++seq, cancelRequestId, status: 'cancelled' });
  tell(plugin, first, aFill('f600', 1), 'cancelled');
  await turns();
  t.equal(fillsRead(t, gateway, plugin, { type: 'ack', executionId: first, cancelRequestId }), 0);
  t.strictSame(plugin.errors, []);
});

/** Orders that are unknown with this many fills each. */
async function unknownWith(fills: number, orders: number, openExecutionsPerUser = 200_000) {
  const { gateway, plugin, id } = await resting(10_000, openExecutionsPerUser);
  const ids = [id];
  while (ids.length < orders) ids.push(...(await gateway.submit({ payload: '{"quantity":1e6}' })));
  for (const each of ids) {
    for (let i = 1; i <= fills; i++) tell(plugin, each, aFill(`f${i}`, 1));
    plugin.say({ type: 'report', seq: ++seq, executionId: each, status: 'unknown' });
    await turns();
  }
  return { gateway, plugin, ids };
}

/** What a user's entries hold in memory, as `openExecutionsPerUser` counts it. */
function heldIn({ book }: SimulatedGateway): number {
  return [...book.walk('u1')].reduce((sum, { record }) => sum + 1 + heldBy(record), 0);
}

t.test('fills that are read for a report, or for a hello, count against the budget', async (t) => {
  const { gateway, plugin, ids } = await unknownWith(16 + 10 * fillsPerFrame, 3);
  const [first = '', second = '', third = ''] = ids;
  const budget = gateway.core.terminals.budgets.of('u1');
  const burst = 10 * gateway.limits.pluginFramesPerSecond;
  const reportOf = (executionId: string) =>
    ({ executionId, status: 'unknown', fill: aFill('more', 1) }) as const;
  const again = (executionId: string) => ({ type: 'report', seq: ++seq, ...reportOf(executionId) });

  gateway.clock.advance(10_000);
  plugin.say(again(first));
  await turns();
  t.ok(budget.spend(0, burst - 11), 'one for the frame, and ten');
  t.notOk(budget.spend(0));

  gateway.clock.advance(10_000);
  const other = await gateway.plugin({ instanceId: 'desk-2' });
  t.ok(budget.spend(0, burst - 6));
  t.equal(fillsRead(t, gateway, plugin, again(second)), 0);
  t.strictSame(plugin.closed, { code: 4004, reason: 'too_fast' });
  t.equal(other.closed, undefined);
  await turns();
  t.equal(gateway.durable(second)?.fillRows, 10 * fillsPerFrame, 'the terminal sends it again');

  gateway.clock.advance(10_000);
  t.ok(budget.spend(0, burst - 6));
  const back = gateway.connect();
  const hello = { ...helloFrame, executions: [reportOf(third)] };
  t.equal(fillsRead(t, gateway, back, hello), 0);
  t.strictSame(back.closed, { code: 4004, reason: 'too_fast' });
});

t.test('a cancel, or one of all orders, reads no fills of unknown orders', async (t) => {
  const { gateway, plugin, ids } = await unknownWith(300, 3);
  t.equal(gateway.book.size, 0);
  const reads = watchFills(gateway);
  const one = await gateway.cancel(ids[0] as string);
  const { orders } = await gateway.cancelAll();
  t.strictSame(
    orders.map(({ outcome }) => outcome),
    ['already_requested', 'requested', 'requested'],
  );
  await gateway.pass(30_000);
  t.match(gateway.durable(ids[0] as string), { cancel: { status: 'unknown' }, fillRows: 284 });
  t.equal(reads.rows, 0);
  t.equal(plugin.of('cancel').length, 3);

  plugin.say({ type: 'cancel_report', seq: ++seq, cancelRequestId: one, status: 'cancelled' });
  await turns();
  t.match(read(gateway, ids[0] as string), { status: 'cancelled', fills: { length: 300 } });
});

t.test('unknown orders that come back hold no more than their user may', async (t) => {
  const { gateway, plugin, ids } = await unknownWith(150, 8, 600);
  const held = (): number => heldIn(gateway);
  for (const executionId of ids) {
    tell(plugin, executionId, aFill('f20', 1));
    await turns();
  }
  t.equal(gateway.book.size, 8);
  t.ok(held() <= 675, `${held()} held`);
  for (const executionId of ids) tell(plugin, executionId, aFill('f20', 1));
  t.ok(held() <= 675, `${held()} held after fills that were known`);
  for (const executionId of ids) tell(plugin, executionId, aFill('f151', 1));
  await turns();
  t.ok(held() <= 675, `${held()} held after a further fill`);
  for (const each of ids) t.match(read(gateway, each), { filledQuantity: 151 });
  t.equal(gateway.book.roomOf('u1'), 600 - held(), 'the count is that of memory');
});

t.test('an order that has filled its user’s room reads none of its fills again', async (t) => {
  const { gateway, plugin, id } = await resting(10_000, 40);
  const reads = watchFills(gateway);
  for (let i = 1; i <= 60; i++) {
    tell(plugin, id, aFill(`f${i}`, 1));
    await turns();
  }
  t.equal(reads.rows, 0);
  t.match(read(gateway, id), { filledQuantity: 60, unlistedFills: { lastIds: { length: 4 } } });
});

t.test('a start reads no fills; an order’s are read, in steps, with its next report', async (t) => {
  const { gateway, plugin, id } = await resting();
  for (let i = 1; i <= 600; i++) tell(plugin, id, aFill(`f${i}`, 1));
  await turns();
  const next = gateway.restart();
  t.equal(heldIn(next), 17);
  const again = await next.plugin();
  const late = { type: 'report', seq: ++seq, executionId: id, status: 'partially_filled' };
  t.equal(fillsRead(t, next, again, { ...late, fill: aFill('f600', 1) }), 600 - 16);
  await turns();
  t.match(read(next, id), { filledQuantity: 600 });
  t.equal(next.book.roomOf('u1'), 200_000 - 601, 'then they count');
});

t.test('what a hello tells twice of an order with many fills is taken in its order', async (t) => {
  const { gateway, plugin, id } = await resting();
  for (let i = 1; i <= 200; i++) tell(plugin, id, aFill(`f${i}`, 1));
  await turns();
  const next = gateway.restart();
  const known = { executionId: id, status: 'partially_filled' };
  await next.plugin({
    executions: [
      { ...known, fill: aFill('f201', 1), native: { state: 'first' } },
      { ...known, native: { state: 'second' } },
    ],
  });
  t.match(read(next, id), { filledQuantity: 201, native: { state: 'second' } });
});

t.test('a late fill changes nothing if its order or user is gone between two steps', async (t) => {
  for (const isUser of [true, false]) {
    const { gateway, plugin, id } = await resting();
    for (let i = 1; i <= 600; i++) tell(plugin, id, aFill(`f${i}`, 1));
    tell(plugin, id, aFill('f600', 1), 'cancelled');
    await turns();
    const late = { executionId: id, status: 'cancelled', fill: aFill('late', 1) };
    const steps = plugin.stepsOf(JSON.stringify({ type: 'report', seq: ++seq, ...late }));
    for (let i = 0; i < 3; i++) t.equal(steps?.next().done, false);
    await gateway.store.write((batch) => {
      if (isUser) batch.put('meta', purgeKeyOf('u1'), gateway.clock.now());
      else batch.remove('finalExecutions', ['u1', id]);
      for (const { key } of gateway.store.range('fills', { prefix: ['u1', id] }))
        batch.remove('fills', key);
    });
    if (isUser) gateway.core.userChanged('u1');
    while (steps?.next().done === false);
    await turns();
    t.strictSame(gateway.store.range('fills'), []);
    t.equal(gateway.book.size, 0);
    t.equal(gateway.durable(id)?.filledQuantity, isUser ? 600 : undefined);
    if (isUser) t.match(plugin.closed, { code: 4503 });
    else t.strictSame([plugin.errors, plugin.lastAck], [['unknown_execution'], seq]);
  }
});
