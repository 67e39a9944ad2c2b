import t, { type Test } from 'tap';
import {
  createPaperTerminal,
  type Activity,
  type PaperTerminalOptions,
} from '../../src/terminal/paper-terminal.js';
import { startFakeGateway, type FakeGateway } from '../support/fake-gateway.js';
import { eventually } from '../support/eventually.js';
import { Inbox } from '../support/inbox.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { source, startTime, submitFrame } from './desk.js';

interface Setting extends Partial<PaperTerminalOptions> {
  readonly gateway?: FakeGateway;
  readonly onActivity?: (activity: Activity) => void;
}

async function setUp(t: Test, options: Setting = {}) {
  const gateway = options.gateway ?? (await startFakeGateway());
  const clock = new SimulatedClock(startTime);
  const activities = new Inbox<Activity>();
  const terminal = createPaperTerminal({
    url: gateway.url,
    token: () => 'sbs_token',
    source,
    clock,
    observer(activity) {
      activities.put(activity);
      options.onActivity?.(activity);
    },
    random: () => 0,
    ...options,
  });
  t.teardown(async () => {
    await terminal.stop();
    await gateway.close();
  });
  terminal.start();
  const connection = await gateway.connection();
  connection.acknowledges = true;
  const hello = await connection.welcome();
  const seen = (kind: Activity['kind']) => activities.take((activity) => activity.kind === kind);
  await seen('connected');
  return { gateway, clock, terminal, connection, hello, seen };
}

const limitOrder = { instrument: 'ES', side: 'buy', executionType: 'limit', limitPrice: 4_990 };

t.test('a terminal tells its state when it connects', async (t) => {
  const { connection, hello } = await setUp(t);
  t.strictSame(hello.capabilities, ['submit', 'cancel', 'snapshot']);
  for (const name of ['connection_status', 'account_status', 'state_snapshot']) {
    t.equal((await connection.next('event')).event, name);
  }
});

t.test('a terminal that is asked tells what it holds', async (t) => {
  const { connection } = await setUp(t);
  connection.send({ type: 'snapshot', snapshotId: 'snp_1' });
  t.match(await connection.next('event', ({ data = {} }) => 'snapshotId' in data), {
    event: 'state_snapshot',
    data: { snapshotId: 'snp_1', positions: [], orders: [] },
  });
});

t.test('an order is acknowledged, filled and told', async (t) => {
  const { connection, seen } = await setUp(t);
  connection.send(submitFrame('exe_1'));
  t.match(await connection.next('ack'), { executionId: 'exe_1' });
  t.match(await connection.next('report'), { executionId: 'exe_1', status: 'filled' });
  t.match(await connection.next('event', ({ event }) => event === 'execution_update'), {
    executionId: 'exe_1',
    data: { instrument: 'ES', quantity: 2 },
  });
  t.match(await seen('submit'), { command: { executionId: 'exe_1' } });
  t.match(await seen('report'), { evidence: { status: 'filled' } });
});

t.test('a resting order is cancelled', async (t) => {
  const { connection, seen } = await setUp(t);
  connection.send(submitFrame('exe_1', { payload: { ...limitOrder, quantity: 1 } }));
  t.match(await connection.next('report'), { status: 'working' });
  connection.send({
    type: 'cancel',
    cancelRequestId: 'can_1',
    executionId: 'exe_1',
    orderRef: 'o',
  });
  t.match(await connection.next('ack'), { cancelRequestId: 'can_1' });
  t.match(await connection.next('report'), { status: 'cancelled', reasonCode: 'cancelled_by_api' });
  t.match(await connection.next('cancel_report'), { status: 'cancelled' });
  await seen('cancel');
  await seen('cancel_report');
});

t.test('a price that is set reaches the orders', async (t) => {
  const { connection, terminal } = await setUp(t);
  connection.send(submitFrame('exe_1', { payload: { ...limitOrder, quantity: 1 } }));
  await connection.next('report');
  t.ok(terminal.setPrice('ES', 4_989));
  t.notOk(terminal.setPrice('GME', 1));
  t.match(await connection.next('report'), { status: 'filled', averageFillPrice: 4_989 });
});

t.test('prices walk when they have a tick', async (t) => {
  const { connection, clock } = await setUp(t, { tickMs: 10, seed: 4 });
  clock.advance(1_000);
  connection.send(submitFrame('exe_1'));
  const { averageFillPrice } = await connection.next('report');
  t.not(averageFillPrice, 5_000);

  const again = await setUp(t, { tickMs: 10, seed: 4 });
  again.clock.advance(1_000);
  again.connection.send(submitFrame('exe_1'));
  t.equal((await again.connection.next('report')).averageFillPrice, averageFillPrice);
});

for (const [platform, accountName, kept] of [
  ['terminal_a', 'Sim101', false],
  ['terminal_b', '5001@Paper', true],
] as const) {
  t.test(`${platform} ${kept ? 'keeps' : 'loses'} events while it is cut off`, async (t) => {
    const { gateway, connection, clock, terminal, seen } = await setUp(t, {
      source: { platform, instanceId: 'desk-1', accountName },
    });
    connection.send(submitFrame('exe_1', { payload: { ...limitOrder, quantity: 1 } }));
    const events = ['order_update', 'order_update'];
    for (const name of events) await connection.next('event', ({ event }) => event === name);
    const lastSeq = Math.max(...connection.frames.map((frame) => ('seq' in frame ? frame.seq : 0)));
    connection.socket.terminate();
    await seen('disconnected');
    terminal.setPrice('ES', 4_990);
    clock.advance(1_000);
    const back = await gateway.connection();
    const hello = await back.welcome({ lastSeq });
    t.match(hello.executions, []);
    t.match(await back.next('report'), { status: 'filled', seq: lastSeq + 1 });
    t.equal((await back.next('event')).event, kept ? 'order_update' : 'connection_status');
  });
}

t.test('with a journal, a resting order goes on after a restart', async (t) => {
  const journalDir = t.testdir();
  const first = await setUp(t, { journalDir });
  first.connection.send(submitFrame('exe_1', { payload: { ...limitOrder, quantity: 1 } }));
  const { seq } = await first.connection.next('report');
  await first.terminal.stop();

  const second = await setUp(t, { journalDir });
  t.match(await second.connection.next('report'), { seq, status: 'working' });
  second.connection.send(submitFrame('exe_1', { payload: { ...limitOrder, quantity: 1 } }));
  await second.connection.next('ack');
  const again = await second.connection.next('report', (report) => report.seq > seq);
  t.match(again, { status: 'working' });
  second.terminal.setPrice('ES', 4_990);
  t.match(await second.connection.next('report'), { status: 'filled', filledQuantity: 1 });
});

t.test('a stopped terminal can be stopped again', async (t) => {
  const { terminal, clock } = await setUp(t, { tickMs: 10 });
  await terminal.stop();
  await terminal.stop();
  t.equal(clock.timerCount, 0);
});

t.test('an order that was taken at the very end fills no further after it', async (t) => {
  const reports: Activity[] = [];
  let stopped: Promise<void> | undefined;
  const { connection, clock, terminal } = await setUp(t, {
    partialFills: 2,
    onActivity(activity) {
      if (activity.kind === 'report') reports.push(activity);
      if (activity.kind === 'repeated') stopped = terminal.stop();
    },
  });
  connection.send(submitFrame('exe_1'));
  connection.send(submitFrame('exe_1'));
  await eventually(() => stopped !== undefined);
  await stopped;
  const before = reports.length;
  clock.advance(1_000);
  t.equal(reports.length, before);
});
