import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import type { PluginFrameOf, SubmitFrame, WelcomeFrame } from '../../src/plugins/protocol.js';
import { openJournal } from '../../src/terminal/journal-file.js';
import { Journal } from '../../src/terminal/journal.js';
import type { FakeConnection } from '../support/fake-gateway.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import {
  journalIn,
  setUpDesk,
  source,
  startTime,
  submitFrame,
  type Desk,
  type DeskOptions,
} from './desk.js';

const iso = (unixMs: number): string => new Date(unixMs).toISOString();

async function connect(desk: Desk, welcome: Partial<WelcomeFrame> = {}): Promise<FakeConnection> {
  const connection = await desk.gateway.connection();
  await connection.welcome(welcome);
  await desk.notice('connected');
  return connection;
}

async function startDesk(
  t: Test,
  options: DeskOptions = {},
  welcome: Partial<WelcomeFrame> = {},
): Promise<[Desk, FakeConnection]> {
  const desk = await setUpDesk(t, options);
  desk.client.start();
  return [desk, await connect(desk, welcome)];
}

/** With exe_1, which the client has acknowledged. */
async function startWithOrder(t: Test): Promise<[Desk, FakeConnection]> {
  const [desk, connection] = await startDesk(t);
  connection.send(submitFrame('exe_1'));
  await connection.next('ack');
  await settled(connection);
  return [desk, connection];
}

/** Cuts the connection and lets the client come back. */
async function reconnect(desk: Desk, lost: FakeConnection, lastSeq = 0): Promise<FakeConnection> {
  await cut(desk, lost);
  desk.clock.advance(1_000);
  return connect(desk, { lastSeq });
}

async function cut(desk: Desk, connection: FakeConnection): Promise<void> {
  connection.socket.terminate();
  await desk.notice('disconnected');
}

/** @returns all numbered frames that have come by the time the client answers a probe. */
async function settled(connection: FakeConnection): Promise<PluginFrameOf<'report' | 'event'>[]> {
  connection.send({ type: 'cancel', cancelRequestId: 'probe', executionId: 'x', orderRef: 'x' });
  await connection.next('ack', ({ cancelRequestId }) => cancelRequestId === 'probe');
  return connection.frames.filter((frame) => 'seq' in frame) as never;
}

const order = (client: Desk['client'], executionId: string, filled: number): void =>
  client.report(executionId, {
    status: filled === 3 ? 'filled' : 'partially_filled',
    filledQuantity: filled,
    remainingQuantity: 3 - filled,
    fill: { fillId: `f${filled}`, price: 5_000, quantity: 1, filledAt: iso(startTime) },
  });

t.test('the hello names the source, and the token goes into the header', async (t) => {
  const desk = await setUpDesk(t);
  desk.client.start();
  const connection = await desk.gateway.connection();
  const hello = await connection.welcome();
  t.match(hello, {
    ...source,
    capabilities: ['submit', 'cancel', 'snapshot'],
    software: { name: 'test', version: '1' },
    executions: [],
  });
  t.equal(connection.authorization, 'Bearer sbs_token');
  t.match(await desk.notice('connected'), { connectionId: 'con_1', lastSeq: 0 });
});

t.test('a path prefix is kept, and ws:// works as well', async (t) => {
  const desk = await setUpDesk(t);
  const other = await setUpDesk(t, {
    gateway: desk.gateway,
    url: `ws://127.0.0.1:${desk.gateway.port}/desk/`,
  });
  other.client.start();
  t.equal((await desk.gateway.connection()).path, '/desk/plugin/v1');
});

t.test('a submit is noted, acknowledged and then carried out', async (t) => {
  const [desk, connection] = await startDesk(t);
  connection.send(submitFrame('exe_1'));
  t.match(await connection.next('ack'), { executionId: 'exe_1' });
  await settled(connection);
  t.strictSame(desk.asked.slice(0, 1), ['exe_1']);
  t.ok(desk.journal.execution('exe_1'));
});

t.test('a submit that is repeated is acknowledged again and not carried out again', async (t) => {
  const [desk, connection] = await startDesk(t);
  connection.send(submitFrame('exe_1'));
  connection.send(submitFrame('exe_1'));
  await connection.next('ack');
  await connection.next('ack');
  await settled(connection);
  t.strictSame(desk.asked, ['exe_1', 'probe']);
  t.match(await desk.notice('repeated'), { id: 'exe_1' });
});

t.test('a submit that is repeated after a reconnect gets the state again', async (t) => {
  const [desk, first] = await startWithOrder(t);
  order(desk.client, 'exe_1', 3);
  const { seq } = await first.next('report');
  const second = await reconnect(desk, first, seq);
  second.send(submitFrame('exe_1'));
  t.match(await second.next('ack'), { executionId: 'exe_1' });
  const again = await second.next('report');
  t.match(again, { executionId: 'exe_1', status: 'filled', filledQuantity: 3 });
  t.ok(again.seq > seq, 'as news with a number of its own');
  t.notOk('fill' in again);
  t.equal(desk.asked.filter((id) => id === 'exe_1').length, 1);
});

t.test('a terminal that was killed after the ack carries the command out, once', async (t) => {
  const directory = t.testdir();
  const before = await setUpDesk(t);
  const journal = journalIn(directory, before.clock);
  journal.noteSubmit(submitFrame('exe_1'));
  journal.noteSubmit(submitFrame('exe_2'));
  journal.noteReport({ type: 'report', executionId: 'exe_2', status: 'working' }, 4);
  journal.noteCancel('can_1', 'exe_2');
  journal.flush();
  journal.close();

  const reopened = journalIn(directory, before.clock);
  t.teardown(() => reopened.close());
  const desk = await setUpDesk(t, { journal: reopened });
  desk.client.start();
  t.strictSame(
    desk.restored.map(({ executionId }) => executionId),
    ['exe_2'],
  );
  const connection = await desk.gateway.connection();
  const hello = await connection.welcome({ lastSeq: 0 });
  t.strictSame(hello.executions, [], 'what is known of exe_2 is in a report that comes again');
  connection.send(submitFrame('exe_1'));
  await connection.next('ack', ({ executionId }) => executionId === 'exe_1');
  await settled(connection);
  t.strictSame(desk.asked, ['exe_1', 'can_1', 'probe']);
  const [resent] = await settled(connection);
  t.match(resent, { type: 'report', executionId: 'exe_2', seq: 4 });
});

t.test(
  'a hello says nothing of a command that was not reported on, which may come again',
  async (t) => {
    const [desk, first] = await startWithOrder(t);
    await cut(desk, first);
    desk.clock.advance(1_000);
    const second = await desk.gateway.connection();
    t.strictSame((await second.welcome({ lastSeq: 0 })).executions, []);
    second.send(submitFrame('exe_1'));
    t.match(await second.next('ack'), { executionId: 'exe_1' });
    t.strictSame(await settled(second), []);
    t.strictSame(desk.asked, ['exe_1', 'probe']);
  },
);

t.test('nothing is carried out after it has expired, on the time of the gateway', async (t) => {
  const [desk, connection] = await startDesk(t, {}, { serverTime: iso(startTime + 3_600_000) });
  desk.clock.stepWall(-7_200_000);
  desk.clock.advance(500);
  connection.send(submitFrame('late', { expiresAt: iso(startTime + 3_600_500) }));
  t.match(await connection.next('ack'), { executionId: 'late' });
  t.match(await connection.next('report'), {
    executionId: 'late',
    status: 'expired',
    reasonCode: 'ttl_expired',
  });
  connection.send(submitFrame('early', { expiresAt: iso(startTime + 3_600_501) }));
  await connection.next('ack');
  await settled(connection);
  t.strictSame(desk.asked, ['early', 'probe']);
});

t.test('what expired while the welcome was on its way is not carried out', async (t) => {
  const desk = await setUpDesk(t);
  desk.client.start();
  const connection = await desk.gateway.connection();
  await connection.next('hello');
  desk.clock.advance(10_000);
  connection.sendWelcome({ serverTime: iso(startTime) });
  await desk.notice('connected');
  connection.send(submitFrame('late', { expiresAt: iso(startTime + 10_000) }));
  t.match(await connection.next('report'), { executionId: 'late', reasonCode: 'ttl_expired' });
  connection.send(submitFrame('early', { expiresAt: iso(startTime + 10_001) }));
  await connection.next('ack', ({ executionId }) => executionId === 'early');
  await settled(connection);
  t.strictSame(desk.asked, ['early', 'probe']);
});

t.test('a cancel is carried out once and reported again when repeated', async (t) => {
  const [desk, connection] = await startDesk(t);
  const cancel = { type: 'cancel', cancelRequestId: 'can_1', executionId: 'exe_1', orderRef: 'o' };
  connection.send(cancel as never);
  t.match(await connection.next('ack'), { cancelRequestId: 'can_1' });
  await settled(connection);
  desk.client.cancelReport('can_1', { status: 'too_late', reasonCode: 'already_filled' });
  const first = await connection.next('cancel_report');
  connection.send(cancel as never);
  t.match(await connection.next('ack'), { cancelRequestId: 'can_1' });
  const second = await connection.next('cancel_report');
  t.match(second, { cancelRequestId: 'can_1', status: 'too_late', reasonCode: 'already_filled' });
  t.ok(second.seq > first.seq);
  t.strictSame(desk.asked, ['can_1', 'probe']);
});

t.test('reports that are not acknowledged come again, in order, with their old seq', async (t) => {
  const [desk, first] = await startWithOrder(t);
  order(desk.client, 'exe_1', 1);
  order(desk.client, 'exe_1', 2);
  const [one, two] = [await first.next('report'), await first.next('report')];
  first.send({ type: 'ack', seq: one.seq });
  await settled(first);
  await cut(desk, first);
  order(desk.client, 'exe_1', 3);
  desk.clock.advance(1_000);
  const second = await desk.gateway.connection();
  const hello = await second.welcome({ lastSeq: 0 });
  t.match(hello.executions, [], 'a finished one is not named: its last report is still to come');
  const resent = await settled(second);
  t.match(resent, [
    { seq: two.seq, filledQuantity: 2, fill: { fillId: 'f2' }, occurredAt: two.occurredAt },
    { seq: two.seq + 1, status: 'filled', fill: { fillId: 'f3' } },
  ]);
  t.equal(resent.length, 2);
});

t.test('an acknowledgement of what was never sent is none', async (t) => {
  const [desk, first] = await startWithOrder(t);
  order(desk.client, 'exe_1', 1);
  const { seq } = await first.next('report');
  first.send({ type: 'ack', seq: Number.MAX_SAFE_INTEGER });
  first.send({ type: 'ack', seq: 2 ** 53 });
  await settled(first);
  order(desk.client, 'exe_1', 2);
  t.match(await first.next('report'), { seq: seq + 1 });
  await cut(desk, first);
  desk.clock.advance(1_000);
  const second = await desk.gateway.connection();
  await second.welcome({ lastSeq: 0 });
  t.match(await settled(second), [{ seq }, { seq: seq + 1 }]);
});

t.test('hello leaves out an execution on which a report is on its way', async (t) => {
  const [desk, first] = await startDesk(t);
  first.send(submitFrame('exe_1'));
  first.send(submitFrame('exe_2'));
  await settled(first);
  order(desk.client, 'exe_1', 1);
  const { seq } = await first.next('report');
  first.send({ type: 'ack', seq });
  order(desk.client, 'exe_2', 1);
  await settled(first);
  await cut(desk, first);
  desk.clock.advance(1_000);
  const hello = await (await desk.gateway.connection()).welcome({ lastSeq: seq });
  t.strictSame(
    hello.executions?.map(({ executionId, filledQuantity }) => [executionId, filledQuantity]),
    [['exe_1', 1]],
  );
});

t.test('a fill that is reported again and again keeps the hello valid', async (t) => {
  const [desk, first] = await startWithOrder(t);
  await cut(desk, first);
  // Reports the fill again, as a terminal does that learns of its orders anew after a restart.
  for (let time = 0; time < 3; time++) order(desk.client, 'exe_1', 1);
  desk.clock.advance(1_000);
  const second = await desk.gateway.connection();
  const hello = await second.welcome();
  t.equal(decodeFrame(Buffer.from(JSON.stringify(hello))).error, undefined);
  t.match(await settled(second), [{ fill: { fillId: 'f1' } }]);
});

t.test('hello tells no quantity that was not told', async (t) => {
  const [desk, first] = await startWithOrder(t);
  const fill = { fillId: 'f1', price: 5_000, quantity: 1, filledAt: iso(startTime) };
  desk.client.report('exe_1', { status: 'partially_filled', fill });
  const { seq } = await first.next('report');
  first.send({ type: 'ack', seq });
  await settled(first);
  await cut(desk, first);
  desk.clock.advance(1_000);
  const hello = await (await desk.gateway.connection()).welcome({ lastSeq: seq });
  t.strictSame(hello.executions, [{ executionId: 'exe_1', status: 'partially_filled' }]);
});

t.test('hello tells of an order that was unknown only what holds now', async (t) => {
  const [desk, first] = await startWithOrder(t);
  const native = { orderId: 'N-1', state: 'Lost', code: 7, text: 'look at the broker' };
  desk.client.report('exe_1', { status: 'unknown', reasonCode: 'plugin_error', native });
  desk.client.report('exe_1', { status: 'working', native: { state: 'Working' } });
  await settled(first);
  first.send({ type: 'ack', seq: 2 });
  await settled(first);
  await cut(desk, first);
  desk.clock.advance(1_000);
  const hello = await (await desk.gateway.connection()).welcome({ lastSeq: 2 });
  t.strictSame(hello.executions, [
    { executionId: 'exe_1', status: 'working', native: { orderId: 'N-1', state: 'Working' } },
  ]);
});

t.test('hello fits into a frame however much is unfinished', async (t) => {
  const desk = await setUpDesk(t);
  for (let n = 1; n <= 1_500; n++) {
    const executionId = `exe_${String(n).padStart(100, '0')}`;
    desk.journal.noteSubmit(submitFrame(executionId));
    desk.journal.noteReport(
      { type: 'report', executionId, status: 'working', native: { text: 'x'.repeat(100) } },
      n,
    );
  }
  desk.journal.noteAcknowledged(1_500);
  desk.client.start();
  const connection = await desk.gateway.connection();
  const hello = await connection.next('hello');
  t.ok(Buffer.byteLength(JSON.stringify(hello)) < 128 * 1024);
  t.ok((hello.executions?.length ?? 0) > 300);
  t.match(hello.executions?.at(-1)?.executionId, /1500$/, 'the newest are named');
});

t.test('seq goes on above what the gateway has and above what was used', async (t) => {
  const [desk, first] = await startDesk(t, {}, { lastSeq: 41 });
  desk.client.event({ event: 'terminal_message', data: {} });
  t.equal((await first.next('event')).seq, 42);
  first.send({ type: 'ack', seq: 42 });
  await settled(first);
  const second = await reconnect(desk, first, 7);
  desk.client.event({ event: 'terminal_message', data: {} });
  t.equal((await second.next('event')).seq, 43);
});

t.test('what the gateway says it has is not sent again', async (t) => {
  const [desk, first] = await startDesk(t);
  desk.client.event({ event: 'terminal_message', data: { n: 1 } });
  desk.client.event({ event: 'terminal_message', data: { n: 2 } });
  await first.next('event', ({ seq }) => seq === 2);
  const second = await reconnect(desk, first, 1);
  t.match(await settled(second), [{ seq: 2, data: { n: 2 } }]);
  t.equal((await settled(second)).length, 1);
});

t.test(
  'without a queue, events are lost while the gateway is away, and reports are not',
  async (t) => {
    const [desk, first] = await startWithOrder(t);
    await cut(desk, first);
    t.notOk(desk.client.event({ event: 'order_update', data: {} }));
    order(desk.client, 'exe_1', 1);
    desk.clock.advance(1_000);
    const second = await connect(desk);
    t.strictSame(
      (await settled(second)).map(({ type }) => type),
      ['report'],
    );
  },
);

const queue = { eventsMax: 5, ageMs: 60_000 };

t.test('a queue keeps events in order, between the reports', async (t) => {
  const [desk, first] = await startDesk(t, { outgoingQueue: queue });
  first.send(submitFrame('exe_1'));
  await settled(first);
  await cut(desk, first);
  t.ok(desk.client.event({ event: 'order_update', data: { n: 1 } }));
  order(desk.client, 'exe_1', 1);
  desk.client.event({ event: 'order_update', data: { n: 2 } });
  desk.clock.advance(1_000);
  const second = await connect(desk, { lastSeq: 9 });
  t.match(await settled(second), [
    { type: 'event', seq: 10, data: { n: 1 } },
    { type: 'report', seq: 11 },
    { type: 'event', seq: 12, data: { n: 2 } },
  ]);
});

t.test('a full queue drops the oldest events, and tells how many', async (t) => {
  const [desk, first] = await startDesk(t, { outgoingQueue: queue });
  first.send(submitFrame('exe_1'));
  await settled(first);
  await cut(desk, first);
  order(desk.client, 'exe_1', 1);
  for (let n = 1; n <= 8; n++) desk.client.event({ event: 'order_update', data: { n } });
  desk.clock.advance(1_000);
  const second = await connect(desk);
  const frames = await settled(second);
  t.match(frames, [
    { event: 'terminal_message', data: { dropped: 3, reason: 'queue_full' } },
    { type: 'report' },
    { data: { n: 4 } },
    { data: { n: 5 } },
    { data: { n: 6 } },
    { data: { n: 7 } },
    { data: { n: 8 } },
  ]);
  t.equal(frames.length, 7);

  second.send({ type: 'ack', seq: frames.at(-1)?.seq ?? 0 });
  await settled(second);
  const third = await reconnect(desk, second);
  t.strictSame(await settled(third), [], 'it is told once');
});

t.test('what was acknowledged takes no room in the queue', async (t) => {
  const [desk, first] = await startDesk(t, { outgoingQueue: queue });
  for (let n = 1; n <= 5; n++) desk.client.event({ event: 'order_update', data: { n } });
  await first.next('event', ({ seq }) => seq === 5);
  first.send({ type: 'ack', seq: 5 });
  await settled(first);
  await cut(desk, first);
  for (let n = 6; n <= 10; n++) desk.client.event({ event: 'order_update', data: { n } });
  desk.clock.advance(1_000);
  const second = await connect(desk, { lastSeq: 5 });
  const frames = await settled(second);
  t.match(frames[0], { seq: 6, data: { n: 6 } });
  t.equal(frames.length, 5);
});

t.test('a queue drops what is too old, and tells how many', async (t) => {
  const [desk, first] = await startDesk(t, { outgoingQueue: queue });
  desk.client.event({ event: 'order_update', data: { n: 1 } });
  await settled(first);
  desk.gateway.status = 503;
  await cut(desk, first);
  desk.client.event({ event: 'order_update', data: { n: 2 } });
  desk.clock.advance(59_000);
  desk.client.event({ event: 'order_update', data: { n: 3 } });
  await desk.notice('disconnected');
  desk.gateway.status = 101;
  desk.clock.advance(2_000);
  const second = await connect(desk);
  t.match(await settled(second), [
    { event: 'terminal_message', data: { dropped: 2, reason: 'too_old' } },
    { data: { n: 3 } },
  ]);
});

t.test(
  'events that a dead connection swallowed are told, and so is a report that it swallowed',
  async (t) => {
    const [desk, first] = await startDesk(t, { outgoingQueue: queue });
    // The gateway acknowledges none of them: 1 to 3 are dropped while the connection seems to live.
    for (let n = 1; n <= 8; n++) desk.client.event({ event: 'order_update', data: { n } });
    await first.next('event', ({ seq }) => seq === 8);
    const second = await reconnect(desk, first, 2);
    t.match((await settled(second))[5], { seq: 9, data: { dropped: 1, reason: 'queue_full' } });

    // The report of the drop is dropped, too: the next one counts its event with those of this connection.
    for (let n = 9; n <= 14; n++) desk.client.event({ event: 'order_update', data: { n } });
    await second.next('event', ({ seq }) => seq === 15);
    const third = await reconnect(desk, second, 2);
    const [last] = (await settled(third)).slice(-1);
    t.match(last, { data: { dropped: 7, reason: 'queue_full' } });
  },
);

t.test('events that were dropped and then acknowledged are not told', async (t) => {
  const [desk, first] = await startDesk(t, { outgoingQueue: queue });
  for (let n = 1; n <= 8; n++) desk.client.event({ event: 'order_update', data: { n } });
  await first.next('event', ({ seq }) => seq === 8);
  first.send({ type: 'ack', seq: 8 });
  await settled(first);
  const second = await reconnect(desk, first, 8);
  t.strictSame(await settled(second), []);
});

t.test('the bounds of the queue are those of the gateway', async (t) => {
  const [desk, first] = await startDesk(
    t,
    { outgoingQueue: queue },
    { outgoingQueue: { eventsMax: 2, ageMs: 1_000_000 } },
  );
  await cut(desk, first);
  for (let n = 1; n <= 3; n++) desk.client.event({ event: 'order_update', data: { n } });
  desk.clock.advance(1_000);
  const second = await connect(desk);
  t.match(await settled(second), [
    { data: { dropped: 1 } },
    { data: { n: 2 } },
    { data: { n: 3 } },
  ]);
});

t.test('an event larger than a frame is not sent', async (t) => {
  const [desk, connection] = await startDesk(t);
  t.notOk(desk.client.event({ event: 'terminal_message', data: {}, rawText: 'é'.repeat(65_500) }));
  t.ok(desk.client.event({ event: 'terminal_message', data: {}, rawText: 'é'.repeat(65_400) }));
  await connection.next('event');
});

t.test('heartbeats come as often as the gateway asks', async (t) => {
  const [desk, connection] = await startDesk(t, {}, { heartbeatMs: 7_000 });
  for (const beat of [1, 2, 3]) {
    desk.clock.advance(6_999);
    await settled(connection);
    t.equal(connection.frames.filter(({ type }) => type === 'heartbeat').length, beat - 1);
    desk.clock.advance(1);
    await connection.next('heartbeat');
  }
});

t.test('a gateway that has gone silent is left', async (t) => {
  const [desk, connection] = await startDesk(t);
  connection.socket.pause();
  desk.clock.advance(90_000);
  t.match(await desk.notice('disconnected'), { message: /silent/ });
  desk.clock.advance(1_000);
  await connect(desk);
});

t.test('a gateway that says no welcome is left', async (t) => {
  const desk = await setUpDesk(t);
  desk.client.start();
  await (await desk.gateway.connection()).next('hello');
  desk.clock.advance(15_000);
  t.match(await desk.notice('disconnected'), { message: /welcome/ });
});

t.test(
  'a welcome that came during a pause of the terminal is read before it is missed',
  async (t) => {
    const desk = await setUpDesk(t);
    desk.client.start();
    const connection = await desk.gateway.connection();
    await connection.welcome();
    desk.clock.elapse(60_000);
    desk.clock.advance(0);
    const first = await desk.notices.take(({ kind }) => kind !== 'connecting');
    t.equal(first.kind, 'connected');
  },
);

t.test('it comes back after 1, 2, 5, then 10 s, with jitter on top', async (t) => {
  const [desk, connection] = await startDesk(t, { random: () => 0.5 });
  desk.gateway.status = 503;
  connection.socket.terminate();
  for (const retryMs of [1_125, 2_250, 5_625, 11_250, 11_250]) {
    t.match(await desk.notice('disconnected'), { retryMs });
    desk.clock.advance(retryMs - 1);
    t.equal(desk.clock.timerCount, 1, 'not before');
    desk.clock.advance(1);
  }
  t.match(await desk.notice('disconnected'), { message: /503/ });
  desk.gateway.status = 101;
  desk.clock.advance(20_000);
  const back = await connect(desk);
  back.socket.terminate();
  t.match(await desk.notice('disconnected'), { retryMs: 1_125 }, 'anew after a welcome');
});

t.test('a gateway that is not there is waited for', async (t) => {
  const desk = await setUpDesk(t);
  await desk.gateway.close();
  desk.client.start();
  const notice = await desk.notice('disconnected');
  t.match(notice, { message: /ECONNREFUSED/, retryMs: 1_000 });
  t.notOk('closeCode' in notice);
});

t.test('a token that cannot be had is asked for again', async (t) => {
  let calls = 0;
  const desk = await setUpDesk(t, {
    token: () => (++calls === 1 ? Promise.reject(new Error('no key ring')) : 'sbs_token'),
  });
  desk.client.start();
  t.match(await desk.notice('disconnected'), { message: 'no key ring' });
  desk.clock.advance(1_000);
  await connect(desk);
});

t.test('a refused upgrade is tried again when the gateway says', async (t) => {
  const desk = await setUpDesk(t);
  desk.gateway.status = 429;
  desk.gateway.retryAfter = '5';
  desk.client.start();
  t.match(await desk.notice('disconnected'), { retryMs: 5_000 });
  for (const [retryAfter, retryMs] of [
    ['0', 2_000],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 5_000],
    ['99999', 10_000],
    ['60', 60_000],
  ] as const) {
    desk.gateway.retryAfter = retryAfter;
    desk.clock.advance(10_000);
    t.match(await desk.notice('disconnected'), { retryMs }, `after ${retryAfter}`);
  }
  desk.gateway.status = 101;
  desk.clock.advance(60_000);
  (await desk.gateway.connection()).socket.terminate();
  t.match(await desk.notice('disconnected'), { retryMs: 10_000 }, 'for one attempt only');
});

t.test('a second welcome on a connection is passed over', async (t) => {
  const [desk, connection] = await startDesk(t);
  connection.sendWelcome({ lastSeq: 1_000 });
  await settled(connection);
  desk.client.cancelReport('probe', { status: 'rejected' });
  t.match(await connection.next('cancel_report'), { seq: 1 });
});

for (const closeCode of [1000, 1001, 1011, 4000, 4001, 4002, 4003, 4004, 4499]) {
  t.test(`close code ${closeCode} says to come back`, async (t) => {
    const [desk, connection] = await startDesk(t);
    connection.socket.close(closeCode, 'why');
    t.match(await desk.notice('disconnected'), { closeCode, message: 'why', retryMs: 1_000 });
    desk.clock.advance(1_000);
    await connect(desk);
  });
}

t.test('a hello that came too late is tried again, and its operator is told why', async (t) => {
  const [desk, first] = await startDesk(t);
  // Only an error on the connection itself says that its frames were bad.
  first.send({ type: 'error', code: 'unknown_execution', message: 'm' });
  await desk.notice('gateway_error');
  const connection = await reconnect(desk, first);
  connection.socket.close(4502, 'bad_protocol');
  t.match(await desk.notice('disconnected'), {
    closeCode: 4502,
    message: /no hello within 5 s.* slow/,
    retryMs: 1_000,
  });
  desk.clock.advance(1_000);
  await connect(desk);
});

for (const [closeCode, reason] of [
  [4501, 'replaced'],
  [4502, 'bad_protocol'],
  [4503, 'session_revoked'],
  [4504, 'too_many_sources'],
  [4500, 'refused'],
  [4999, 'refused'],
] as const) {
  t.test(`close code ${closeCode} says not to come back`, async (t) => {
    const [desk, connection] = await startDesk(t);
    connection.send({ type: 'error', code: 'invalid_frame', message: 'm' });
    connection.socket.close(closeCode, 'why');
    t.match(await desk.notice('refused'), { closeCode, reason, message: /\w+.*\.$/ });
    t.equal(desk.clock.timerCount, 0);
  });
}

t.test('401 ends it, and says that the session token is refused', async (t) => {
  const desk = await setUpDesk(t);
  desk.gateway.status = 401;
  desk.client.start();
  t.match(await desk.notice('refused'), { reason: 'session_refused', message: /session token/ });
  t.equal(desk.clock.timerCount, 0);
});

t.test('a token that no header can carry is refused before it is sent', async (t) => {
  const desk = await setUpDesk(t, { token: () => 'a\r\nb: c' });
  desk.client.start();
  t.match(await desk.notice('refused'), { reason: 'session_refused' });
});

t.test('what is no frame is passed over', async (t) => {
  const [desk, connection] = await startDesk(t);
  const { expiresAt, ...incomplete } = submitFrame('exe_1');
  for (const text of ['', '[]', 'null', '{', '{"type":"toString"}', '{"type":"ack"}']) {
    connection.socket.send(text);
    await desk.notice('bad_frame');
  }
  connection.socket.send(JSON.stringify({ ...incomplete, expiresAt: `${expiresAt}x` }));
  await desk.notice('bad_frame');
  // A time without a zone would be read in this computer's zone.
  connection.socket.send(JSON.stringify({ ...incomplete, expiresAt: expiresAt.slice(0, -1) }));
  await desk.notice('bad_frame');
  connection.socket.send(Buffer.from('{"type":"ack","seq":1}'));
  await desk.notice('bad_frame');
  const deep = JSON.stringify(submitFrame('exe_1', { payload: { a: 0 } }));
  const depth = 60_000;
  connection.socket.send(deep.replace('{"a":0}', `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`));
  await desk.notice('bad_frame');
  connection.send({ type: 'error', code: 'invalid_frame', message: 'm' });
  t.match(await desk.notice('gateway_error'), { code: 'invalid_frame', message: 'm' });
  await settled(connection);
  t.strictSame(desk.asked, ['probe']);
});

t.test('a journal that cannot be written stops the terminal before it acknowledges', async (t) => {
  const directory = t.testdir();
  const file = openJournal(directory, source, 'journal', (opened) => opened);
  t.teardown(() => file.close());
  let isFull = false;
  const desk = await setUpDesk(t);
  const journal = new Journal(desk.clock, {
    ...file,
    sync: () => {
      if (isFull) throw new Error('ENOSPC');
      file.sync();
    },
  });
  const full = await setUpDesk(t, { journal, gateway: desk.gateway });
  full.client.start();
  const connection = await connect(full);
  isFull = true;
  connection.send(submitFrame('exe_1'));
  t.match(await full.notice('refused'), { reason: 'journal_failed', message: /ENOSPC/ });
  await connection.closed();
  t.strictSame(full.asked, []);
  t.notOk(connection.frames.some(({ type }) => type === 'ack'));
});

t.test('only what was submitted can be reported', async (t) => {
  const [desk] = await startDesk(t);
  t.throws(() => desk.client.report('exe_1', { status: 'working' }), /submitted/);
});

t.test('stop sends what is due, closes the socket and leaves no timer', async (t) => {
  const [desk, connection] = await startDesk(t);
  desk.client.event({ event: 'terminal_message', data: {} });
  await desk.client.stop();
  await connection.next('event');
  t.equal(await connection.closed(), 1000);
  t.equal(desk.clock.timerCount, 0);
});

t.test(
  'a gateway that says goodbye and keeps the connection does not keep the plugin',
  async (t) => {
    const [desk, connection] = await startDesk(t);
    connection.socket.close(4001, 'server_draining');
    // The plugin's answer is not read, so that this side does not end the connection either.
    connection.socket.pause();
    const bound = new AbortController();
    t.teardown(() => bound.abort());
    // The library alone would wait for half a minute.
    const late = sleep(20_000, 'late', { signal: bound.signal }).catch(() => undefined);
    t.match(await Promise.race([desk.notice('disconnected'), late]), { closeCode: 4001 });
  },
);

t.test('stop while it waits to come back leaves no timer', async (t) => {
  const [desk, connection] = await startDesk(t);
  await cut(desk, connection);
  await desk.client.stop();
  t.equal(desk.clock.timerCount, 0);
});

t.test(
  'after a sleep nothing is carried out before the gateway has told its time anew',
  async (t) => {
    const [desk, connection] = await startDesk(t);
    // A computer's monotonic clock may stand still while it sleeps.
    desk.clock.stepWall(60_000);
    connection.send(submitFrame('late', { expiresAt: iso(startTime + 20_000) }));
    connection.send(submitFrame('early', { expiresAt: iso(startTime + 120_000) }));
    await Promise.race([connection.closed(), connection.next('ack')]);
    t.strictSame(desk.asked, []);
    await desk.notice('disconnected');
    desk.clock.advance(1_000);
    const again = await desk.gateway.connection();
    await again.welcome({ serverTime: iso(startTime + 61_000) });
    t.match(await again.next('ack'), { executionId: 'late' });
    t.match(await again.next('report'), { executionId: 'late', reasonCode: 'ttl_expired' });
    again.send(submitFrame('early', { expiresAt: iso(startTime + 120_000) }));
    t.match(await again.next('ack'), { executionId: 'early' });
    t.strictSame(desk.asked, ['early']);
  },
);

t.test('what was in doubt over a sleep is not carried out after it has expired', async (t) => {
  const journal = new Journal(new SimulatedClock(startTime));
  journal.noteSubmit(submitFrame('exe_1'));
  let execute: () => void = () => undefined;
  const asked: string[] = [];
  const handler = {
    submit: ({ executionId }: SubmitFrame) => void asked.push(executionId),
    inDoubt: (_command: SubmitFrame, certainlyNot: () => void) => void (execute = certainlyNot),
    cancel: () => undefined,
    snapshot: () => undefined,
    restore: () => undefined,
    notice: () => undefined,
  };
  const desk = await setUpDesk(t, { journal, handler });
  desk.client.start();
  const connection = await desk.gateway.connection();
  await connection.welcome();
  await settled(connection);
  desk.clock.stepWall(60_000);
  execute();
  t.match(await connection.next('report'), { executionId: 'exe_1', reasonCode: 'ttl_expired' });
  t.strictSame(asked, []);
});
