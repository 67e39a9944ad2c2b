import t from 'tap';
import { limits } from '../../src/limits.js';
import { Budgets, executionsPerFrame, framesPerUpgrade } from '../../src/plugins/budget.js';
import { shippedLimits } from '../support/shipped-limits.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const shipped = shippedLimits();
const frames = limits.pluginFramesPerSecond.value;
const bytes = limits.pluginBytesPerSecond.value;

function setUp() {
  const clock = new SimulatedClock();
  const budgets = new Budgets({ clock, limits: shipped });
  /** @returns how many frames of this size pass, one after another. */
  const pass = (size: number): number => {
    let count = 0;
    while (count <= 20 * frames && budgets.of('u1').spend(size)) count++;
    return count;
  };
  return { clock, budgets, budget: budgets.of('u1'), pass };
}

t.test('ten seconds’ worth of frames passes at once, then the rate', (t) => {
  const { clock, pass } = setUp();
  t.equal(pass(0), 10 * frames);
  clock.advance(1_000);
  t.equal(pass(0), frames);
  clock.advance(3_600_000);
  t.equal(pass(0), 10 * frames, 'a long silence saves up no more than the burst');
  t.end();
});

t.test('bytes are counted as well', (t) => {
  const { clock, pass } = setUp();
  t.equal(pass(bytes), 10);
  clock.advance(2_000);
  t.equal(pass(bytes), 2);
  t.end();
});

t.test('who stays within the rate is never stopped', (t) => {
  const { clock, budget } = setUp();
  let stopped = 0;
  for (let second = 0; second < 60; second++) {
    for (let frame = 0; frame < frames; frame++) {
      if (!budget.spend(Math.floor(bytes / frames))) stopped++;
    }
    clock.advance(1_000);
  }
  t.equal(stopped, 0);
  t.equal(budget.barredMs, 0);
  t.end();
});

t.test('who has sent too much waits, and then has room for a redelivery', (t) => {
  const { clock, budgets, budget, pass } = setUp();
  pass(0);
  t.equal(budget.barredMs, 5_000);
  t.equal(budgets.of('u2').barredMs, 0, 'nobody else waits');
  clock.advance(4_999);
  t.equal(budget.barredMs, 1);
  clock.advance(1);
  t.equal(budget.barredMs, 0);
  t.ok(budget.spend(0, framesPerUpgrade));
  const redelivered = limits.outgoingQueueEventsMax.value;
  t.ok(pass(500) > redelivered, 'the whole queue of a plugin and more');
  t.end();
});

const heartbeat = { type: 'heartbeat' };

function flood(plugin: ScriptedPlugin, frame: object, count: number): void {
  for (let left = count; left > 0 && plugin.closed === undefined; left--) plugin.say(frame);
}

t.test('at the lowest rate, too, who comes back when told may connect', (t) => {
  const clock = new SimulatedClock();
  const pluginFramesPerSecond = limits.pluginFramesPerSecond.min;
  const budgets = new Budgets({ clock, limits: { ...shipped, pluginFramesPerSecond } });
  const budget = budgets.of('u1');
  while (budget.spend(0));
  clock.advance(budget.barredMs);
  t.ok(budget.spendUpgrade());
  t.ok(budget.spend(0), 'the frame of its hello');
  t.ok(budget.spendHello(1_000, limits.openExecutionsPerUser.max));
  t.end();
});

t.test('a hello counts for each execution that it tells of', async (t) => {
  const { budget } = setUp();
  t.ok(budget.spendHello(4 * 1_000, 0));
  t.ok(budget.spend(0, 10 * frames - 1_000));
  t.notOk(budget.spend(0));
});

t.test('a hello counts for what the gateway has to look through', async (t) => {
  const gateway = new SimulatedGateway({ limits: { pluginFramesPerSecond: 2 } });
  (await gateway.plugin()).drop();
  for (let i = 0; i < 2 * executionsPerFrame.open; i++) gateway.accept({}, () => undefined);
  await turns();
  const budget = gateway.core.terminals.budgets.of('u1');
  await gateway.plugin({ instanceId: 'desk-2' });
  t.ok(budget.spend(0, 18 - 5), 'two frames for the hellos of sources that have nothing');
  const busy = await gateway.plugin();
  t.equal(busy.closed, undefined, 'one frame, and two for its executions');
  const second = await gateway.plugin();
  t.strictSame(second.errors, ['too_fast'], 'two frames are left, of three');
  t.strictSame(second.closed, { code: 4004, reason: 'too_fast' });
  t.equal(busy.closed, undefined, 'it is not replaced');
  t.equal(gateway.instruments.framesRejected.value, 1);
  t.not(budget.barredMs, 0);
});

t.test('a connection that is beyond the budget is told, and closed with 4004', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const other = await gateway.plugin({ instanceId: 'desk-2' });
  const neighbour = await gateway.plugin({}, 'u2');
  flood(plugin, heartbeat, 10 * frames - 2);
  t.equal(plugin.closed, undefined, 'the whole burst, the two hellos included');
  plugin.say(heartbeat);
  t.strictSame(plugin.errors, ['too_fast']);
  t.strictSame(plugin.closed, { code: 4004, reason: 'too_fast' });
  t.equal(gateway.instruments.connectionsClosed.counters.too_fast.value, 1);
  t.equal(gateway.instruments.framesRejected.value, 1);

  gateway.clock.advance(1_000);
  other.say(heartbeat);
  neighbour.say(heartbeat);
  t.equal(other.closed, undefined, 'the user’s other terminal speaks when there is budget again');
  t.equal(neighbour.closed, undefined);
});

t.test(
  'nothing is admitted behind the end of a connection, though there is budget again',
  async (t) => {
    const gateway = new SimulatedGateway();
    const tooFast = await gateway.plugin();
    const closed = await gateway.plugin({ instanceId: 'desk-2' });
    tooFast.endBehind = () => undefined;
    flood(tooFast, heartbeat, 10 * frames);
    gateway.clock.advance(10_000);
    t.equal(tooFast.closed, undefined, 'frames that came before are waiting');
    t.equal(tooFast.connection.admit(1), false);
    closed.connection.close('server_draining');
    t.equal(closed.connection.admit(1), false);
  },
);

t.test('the budget is the user’s, over all its connections', async (t) => {
  const gateway = new SimulatedGateway();
  const plugins = [];
  for (let index = 0; index < 10; index++) {
    plugins.push(await gateway.plugin({ instanceId: `desk-${index}` }));
  }
  for (const plugin of plugins) flood(plugin, heartbeat, frames);
  t.strictSame(
    plugins.map(({ closed }) => closed?.code),
    [...Array.from({ length: 9 }, () => undefined), 4004],
  );
});

t.test('frames of every kind count, bad ones too', async (t) => {
  const gateway = new SimulatedGateway({ limits: { pluginFramesPerSecond: 1 } });
  const plugin = await gateway.plugin();
  flood(plugin, { type: 'ack', executionId: 'exe_of_nobody' }, 20);
  t.strictSame(plugin.closed, { code: 4004, reason: 'too_fast' });
  t.equal(plugin.errors.filter((code) => code === 'unknown_execution').length, 9);
});

t.test('a queue of 2000 events after a reconnect passes and is acknowledged', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const count = limits.outgoingQueueEventsMax.value;
  for (let seq = 1; seq <= count; seq++) {
    plugin.say({ type: 'event', seq, event: 'order_update', data: { orderId: `N-${seq}` } });
  }
  await turns();
  t.equal(plugin.closed, undefined);
  t.equal(plugin.lastAck, count);
});

t.test('reports that wait for the disk hold their place in the burst', async (t) => {
  const gateway = new SimulatedGateway({ limits: { pluginFramesPerSecond: 2 } });
  const plugin = await gateway.plugin();
  const [executionId] = await gateway.submit();
  let seq = 0;
  const report = async (to: ScriptedPlugin): Promise<void> => {
    const filledAt = '2026-01-15T12:00:01Z';
    const fill = { fillId: `f${++seq}`, price: 100, quantity: 0.1, filledAt };
    to.say({ type: 'report', seq, executionId, status: 'partially_filled', fill });
    await gateway.pass(1_000);
  };
  gateway.memory.failNextCommits(1_000);
  while (seq < 60 && plugin.closed === undefined) await report(plugin);
  t.equal(plugin.closed?.code, 4004, 'though it sends half as many as it may');
  t.equal(seq, 21, 'ten seconds’ worth waits, and one more is not taken');
  const budget = gateway.core.terminals.budgets.of('u1');
  t.not(budget.barredMs, 0);
  gateway.clock.advance(60_000);
  t.notOk(budget.spend(0), 'no time makes room');

  gateway.memory.failNextCommits(0);
  await gateway.pass(5_000, 1_000);
  t.equal(budget.barredMs, 0);
  const back = await gateway.plugin();
  t.match(back.of('welcome'), [{ lastSeq: 20 }], 'nothing that was taken is lost');
  seq = 20;
  while (seq < 60) await report(back);
  t.equal(back.closed, undefined);
  t.equal(back.lastAck, 60);
});

t.test('what a hello changes holds its place in the burst until it is on disk', async (t) => {
  const gateway = new SimulatedGateway({ limits: { pluginFramesPerSecond: 2 } });
  await gateway.plugin();
  const ids = [...(await gateway.submit()), ...(await gateway.submit())];
  gateway.memory.failNextCommits(1_000);
  let hellos = 0;
  let plugin: ScriptedPlugin;
  do {
    const native = { state: `${++hellos}` };
    const executions = ids.map((executionId) => ({ executionId, status: 'working', native }));
    plugin = await gateway.plugin({ executions });
    await gateway.pass(1_000);
  } while (hellos < 60 && plugin.closed === undefined);
  t.equal(plugin.closed?.code, 4004, 'though it sends half as many as it may');
  t.equal(hellos, 11);
  const budget = gateway.core.terminals.budgets.of('u1');
  t.equal(budget.reportsWaiting, 20);

  gateway.memory.failNextCommits(0);
  await gateway.pass(5_000, 1_000);
  t.equal(budget.reportsWaiting, 0);
  t.match(gateway.durable(ids[1] ?? ''), { native: { state: '10' } });
});

t.test('connections are counted until they end', async (t) => {
  const gateway = new SimulatedGateway({ limits: { pluginConnectionsPerUser: 2 } });
  const budget = gateway.core.terminals.budgets.of('u1');
  const first = await gateway.plugin();
  t.ok(budget.hasFreeConnection);
  const second = await gateway.plugin({ instanceId: 'desk-2' });
  t.notOk(budget.hasFreeConnection);
  t.ok(gateway.core.terminals.budgets.of('u2').hasFreeConnection);
  first.drop();
  t.ok(budget.hasFreeConnection);
  gateway.presence.drain();
  t.equal(second.closed?.code, 4001);
  t.equal(budget.connections, 0);
});
