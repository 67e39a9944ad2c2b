/** The plugin of `signalbox/plugin` at a fake gateway: what it promises to a terminal behind it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import {
  createPlugin,
  type ClientNotice,
  type PluginNotice,
  type PluginOptions,
  type Terminal,
} from '../../src/terminal/plugin.js';
import { decodeFrame } from '../../src/plugins/decode-frame.js';
import { startFakeGateway, type FakeConnection } from '../support/fake-gateway.js';
import { eventually } from '../support/eventually.js';
import { Inbox } from '../support/inbox.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { assertBounds, assertFaults, boundedLines, frameCases } from '../sdk/frame-cases.js';
import { assertTaken, faultIn } from '../../src/terminal/frame-fault.js';
import { journalIn, source, startTime, submitFrame } from './desk.js';

async function setUp(t: Test, terminal: Terminal, options: Partial<PluginOptions> = {}) {
  const gateway = await startFakeGateway();
  const notices = new Inbox<ClientNotice | PluginNotice>();
  const plugin = createPlugin({
    url: gateway.url,
    token: () => 'sbs_token',
    source,
    clock: new SimulatedClock(startTime),
    random: () => 0,
    ...options,
    terminal: { notice: (notice) => notices.put(notice), ...terminal },
  });
  t.teardown(async () => {
    await plugin.stop();
    await gateway.close();
  });
  plugin.start();
  const connection = await gateway.connection();
  const hello = await connection.welcome();
  await notices.take(({ kind }) => kind === 'connected');
  const failure = async () => (await notices.take(({ kind }) => kind === 'failed')) as PluginNotice;
  return { plugin, connection, hello, failure };
}

/** A journal that an earlier process has left: a command and its cancel, both without a report. */
function leaveInDoubt(directory: string): string {
  const journal = journalIn(directory);
  journal.noteSubmit(submitFrame('exe_1'));
  journal.noteCancel('can_1', 'exe_1');
  journal.flush();
  journal.close();
  return directory;
}

function cancel(connection: FakeConnection, executionId: string): void {
  connection.send({ type: 'cancel', cancelRequestId: 'can_1', executionId, orderRef: 'ord_1' });
}

t.test('the capabilities are what the terminal can do', async (t) => {
  const { hello } = await setUp(t, { submit: () => undefined });
  t.strictSame(hello.capabilities, ['submit']);
  const all = await setUp(t, {
    submit: () => undefined,
    cancel: () => undefined,
    snapshot: () => ({}),
  });
  t.strictSame(all.hello.capabilities, ['submit', 'cancel', 'snapshot']);
});

t.test('what a terminal reports reaches the gateway', async (t) => {
  const { connection, plugin } = await setUp(t, {
    submit: ({ executionId }) => plugin.report(executionId, { status: 'working' }),
    cancel: ({ cancelRequestId }) => plugin.cancelReport(cancelRequestId, { status: 'cancelled' }),
  });
  connection.send(submitFrame('exe_1'));
  t.match(await connection.next('report'), { executionId: 'exe_1', status: 'working' });
  cancel(connection, 'exe_1');
  t.match(await connection.next('cancel_report'), { status: 'cancelled' });
});

t.test('a terminal that fails leaves its command unknown, and the others go on', async (t) => {
  const { connection, plugin, failure } = await setUp(t, {
    submit({ executionId }) {
      if (executionId === 'exe_1') throw new Error('broken wire');
      if (executionId === 'exe_2') return Promise.reject(new Error('slow and broken'));
      plugin.report(executionId, { status: 'filled' });
      throw new Error('too late to matter');
    },
  });
  for (const [executionId, text] of [
    ['exe_1', 'broken wire'],
    ['exe_2', 'slow and broken'],
  ] as const) {
    connection.send(submitFrame(executionId));
    const unknown = { status: 'unknown', reasonCode: 'plugin_error', native: { text } };
    t.match(await connection.next('report'), { executionId, ...unknown });
    t.match(await failure(), { id: executionId, message: text });
  }
  connection.send(submitFrame('exe_3'));
  t.match(await connection.next('report'), { executionId: 'exe_3', status: 'filled' });
  await failure();
  connection.send(submitFrame('exe_4'));
  t.match(await connection.next('report'), { executionId: 'exe_4', status: 'filled' });
});

t.test(
  'what the gateway would refuse is refused to the terminal, with the name of its field',
  (t) => {
    const faults = frameCases.map(({ frame }) => {
      try {
        assertTaken(frame as unknown as Parameters<typeof assertTaken>[0]);
        return '';
      } catch (error) {
        return / its (\S+) is /.exec((error as TypeError).message)?.[1];
      }
    });
    assertFaults(t, faults);
    t.end();
  },
);

t.test('a frame that is too large or nested too deeply for the gateway is refused', (t) => {
  const told = boundedLines.split('\n').map((line) => {
    const frame = JSON.parse(line || '{}') as Parameters<typeof faultIn>[0];
    const fault =
      line === '' ? undefined : faultIn({ ...frame, occurredAt: '2026-01-15T12:00:00.000Z' });
    return fault?.code === 'frame_too_large' && frame.type === 'event'
      ? 'false'
      : (fault?.message ?? '');
  });
  assertBounds(t, told);
  t.end();
});

t.test('what is refused to the terminal is not stored, and its command is unknown', async (t) => {
  const refused: unknown[] = [];
  const { connection, plugin, failure } = await setUp(t, {
    submit({ executionId }) {
      const reasonCode = 'margin_call' as 'broker_rejected';
      plugin.report(executionId, { status: 'rejected', reasonCode });
    },
  });
  for (const say of [
    () => plugin.event({ event: 'order_update', data: { quantity: '1' } }),
    () => plugin.cancelReport('can_1', { status: 'filled' as 'cancelled' }),
    () =>
      plugin.cancelReport('can_1', { status: 'rejected', native: 'No line.' as unknown as object }),
  ]) {
    try {
      say();
    } catch (error) {
      refused.push((error as TypeError).message);
    }
  }
  t.match(refused, [
    /event: its data\.quantity/,
    /cancel_report: its status/,
    /cancel_report: its native/,
  ]);
  connection.send(submitFrame('exe_1'));
  t.match(await failure(), { id: 'exe_1', message: /report: its reasonCode/ });
  const text = /reasonCode/;
  t.match(await connection.next('report'), { seq: 1, status: 'unknown', native: { text } });
});

t.test('a cancel that fails is unknown; a terminal that cannot cancel says so', async (t) => {
  const failing = await setUp(t, {
    submit: () => undefined,
    cancel: () => Promise.reject(new Error('no line')),
  });
  failing.connection.send(submitFrame('exe_1'));
  cancel(failing.connection, 'exe_1');
  const unknown = { status: 'unknown', reasonCode: 'plugin_error', native: { text: 'no line' } };
  t.match(await failing.connection.next('cancel_report'), unknown);

  const { connection } = await setUp(t, { submit: () => undefined });
  connection.send(submitFrame('exe_1'));
  cancel(connection, 'exe_1');
  const refused = { status: 'rejected', reasonCode: 'unable_to_cancel' };
  t.match(await connection.next('cancel_report'), refused);
});

t.test('a cancel waits until its order was handed over', async (t) => {
  const done: string[] = [];
  let resolve: () => void = () => undefined;
  const { connection, plugin } = await setUp(t, {
    async submit() {
      await new Promise<void>((handedOver) => (resolve = handedOver));
      done.push('submit');
    },
    cancel({ cancelRequestId }) {
      done.push('cancel');
      plugin.cancelReport(cancelRequestId, { status: 'cancelled' });
    },
  });
  connection.send(submitFrame('exe_1'));
  await connection.next('ack');
  cancel(connection, 'exe_1');
  await connection.next('ack');
  t.strictSame(done, []);
  resolve();
  await connection.next('cancel_report');
  t.strictSame(done, ['submit', 'cancel']);
});

t.test('a snapshot has the id that was asked for, also when it takes a while', async (t) => {
  const { connection } = await setUp(t, {
    submit: () => undefined,
    snapshot: async () => ({ account: {}, positions: [], orders: [] }),
  });
  connection.send({ type: 'snapshot', snapshotId: 'snp_1' });
  t.match(await connection.next('event'), {
    event: 'state_snapshot',
    data: { snapshotId: 'snp_1', account: {}, positions: [], orders: [] },
  });
});

t.test('a snapshot leaves out the orders that do not fit into a frame', async (t) => {
  const orders = Array.from({ length: 3_000 }, (_, n) => ({ orderId: `N-${n}`.padEnd(100) }));
  const { connection } = await setUp(t, {
    submit: () => undefined,
    snapshot: () => ({ orders, ordersOmitted: 5 }),
  });
  connection.send({ type: 'snapshot', snapshotId: 'snp_1' });
  const { data } = (await connection.next('event')) as unknown as {
    data: { orders: { orderId: string }[]; ordersOmitted: number };
  };
  t.match(data, { snapshotId: 'snp_1', account: {}, positions: [] });
  t.ok(data.orders.length > 500);
  t.equal(data.orders.length + data.ordersOmitted, 3_005);
  t.equal(data.orders.at(-1)?.orderId, orders.at(-1)?.orderId, 'the newest are there');
});

t.test('a snapshot that no frame can hold fails, and says so', async (t) => {
  const positions = Array.from({ length: 2_000 }, () => ({ instrument: 'x'.repeat(100) }));
  const { connection, failure } = await setUp(t, {
    submit: () => undefined,
    snapshot: () => ({ positions }),
  });
  connection.send({ type: 'snapshot', snapshotId: 'sna_1' });
  t.match(await failure(), { id: 'sna_1', message: /larger than a frame/ });
});

t.test('texts of the broker are cut to what the gateway takes', async (t) => {
  // The cut falls into a surrogate pair, which is left out.
  const long = `x${'\u{1F4C8}'.repeat(5_000)}`;
  const native = { orderId: long, state: long, code: long, text: long };
  const { connection, plugin } = await setUp(t, {
    submit: ({ executionId }) => plugin.report(executionId, { status: 'working', native }),
    cancel: ({ cancelRequestId }) =>
      plugin.cancelReport(cancelRequestId, { status: 'pending', native }),
  });
  connection.send(submitFrame('exe_1'));
  const report = await connection.next('report');
  cancel(connection, 'exe_1');
  for (const frame of [report, await connection.next('cancel_report')]) {
    t.equal(decodeFrame(Buffer.from(JSON.stringify(frame))).error, undefined);
    t.equal(frame.native?.text, long.slice(0, 8_191));
  }
});

t.test('a cancel of an order that never came does not reach the terminal', async (t) => {
  const { connection } = await setUp(t, {
    submit: () => undefined,
    cancel: () => void t.fail('the terminal has no such order'),
  });
  cancel(connection, 'exe_1');
  t.match(await connection.next('cancel_report'), {
    status: 'rejected',
    reasonCode: 'order_unknown_at_terminal',
  });
});

t.test('a command in doubt is never executed again unasked', async (t) => {
  const submitted: string[] = [];
  const { connection } = await setUp(
    t,
    { submit: ({ executionId }) => void submitted.push(executionId) },
    { journalDir: leaveInDoubt(t.testdir()) },
  );
  t.match(await connection.next('report'), { executionId: 'exe_1', status: 'unknown' });
  connection.send(submitFrame('exe_1'));
  t.match(await connection.next('report'), { executionId: 'exe_1', status: 'unknown' });
  t.strictSame(submitted, []);
});

for (const [name, found, expected] of [
  ['what the broker knows', { status: 'filled' }, ['in doubt exe_1', 'can_1']],
  ['executed where the broker has none', 'execute', ['in doubt exe_1', 'submit exe_1', 'can_1']],
] as const) {
  t.test(`a command in doubt is ${name}, before its cancel`, async (t) => {
    const done: string[] = [];
    const { connection } = await setUp(
      t,
      {
        submit: ({ executionId }) => void done.push(`submit ${executionId}`),
        inDoubt: async ({ executionId }) => {
          done.push(`in doubt ${executionId}`);
          return Promise.resolve(found);
        },
        cancel: ({ cancelRequestId }) => void done.push(cancelRequestId),
      },
      { journalDir: leaveInDoubt(t.testdir()) },
    );
    if (found !== 'execute') t.match(await connection.next('report'), found);
    cancel(connection, 'exe_1');
    await connection.next('ack');
    t.strictSame(done, expected);
  });
}

t.test(
  'after its end a plugin reports nothing, and a journal without a report is in doubt',
  async (t) => {
    const journalDir = t.testdir();
    const { plugin, connection } = await setUp(t, { submit: () => undefined }, { journalDir });
    connection.send(submitFrame('exe_1'));
    await connection.next('ack');
    await plugin.stop();
    plugin.report('exe_1', { status: 'filled' });
    plugin.cancelReport('can_1', { status: 'cancelled' });
    t.equal(plugin.event({ event: 'terminal_message', data: {} }), false);
    const again = await setUp(t, { submit: () => undefined }, { journalDir });
    t.match(await again.connection.next('report'), { executionId: 'exe_1', status: 'unknown' });
  },
);

t.test('a terminal that stops its plugin gets no further command', async (t) => {
  const done: string[] = [];
  const { plugin, connection } = await setUp(t, {
    submit({ executionId }) {
      done.push(executionId);
      void plugin.stop();
    },
  });
  connection.send(submitFrame('exe_1'));
  connection.send(submitFrame('exe_2'));
  await connection.closed();
  t.strictSame(done, ['exe_1']);
  t.equal(plugin.known('exe_2')?.isReported, false, 'it has come, and is in doubt');
});

t.test('a cancel that was pending at the end of a process is taken up by the next', async (t) => {
  const journalDir = leaveInDoubt(t.testdir());
  const journal = journalIn(journalDir);
  journal.noteReport({ type: 'report', executionId: 'exe_1', status: 'working' }, 1);
  journal.noteReport({ type: 'cancel_report', cancelRequestId: 'can_1', status: 'pending' }, 2);
  journal.flush();
  journal.close();
  const asked: string[] = [];
  const { connection } = await setUp(
    t,
    { submit: () => undefined, cancel: ({ cancelRequestId }) => void asked.push(cancelRequestId) },
    { journalDir },
  );
  cancel(connection, 'exe_1');
  await connection.next('ack');
  t.strictSame(asked, ['can_1']);
});

t.test('a cancel waits for an order in doubt that is handed over after all', async (t) => {
  const done: string[] = [];
  let resolve: () => void = () => undefined;
  const { connection } = await setUp(
    t,
    {
      async submit() {
        await new Promise<void>((handedOver) => (resolve = handedOver));
        done.push('submit');
      },
      inDoubt: () => Promise.resolve('execute'),
      cancel: ({ cancelRequestId }) => void done.push(cancelRequestId),
    },
    { journalDir: leaveInDoubt(t.testdir()) },
  );
  cancel(connection, 'exe_1');
  await connection.next('ack');
  connection.send({
    type: 'cancel',
    cancelRequestId: 'can_2',
    executionId: 'exe_1',
    orderRef: 'o',
  });
  await connection.next('ack');
  t.strictSame(done, []);
  resolve();
  await eventually(async () => done.length === 3);
  t.strictSame(done, ['submit', 'can_1', 'can_2']);
});

for (const [name, expiresInMs] of [
  ['executes nothing and cancels nothing', 20_000],
  ['does not write to its journal', -1],
] as const) {
  t.test(`after its end a plugin ${name}, whatever it waited for`, async (t) => {
    const journalDir = t.testdir();
    const expiresAt = new Date(startTime + expiresInMs).toISOString();
    const journal = journalIn(journalDir);
    journal.noteSubmit(submitFrame('exe_1', { expiresAt }));
    journal.noteCancel('can_1', 'exe_1');
    journal.flush();
    journal.close();
    const done: string[] = [];
    let resolve: (found: 'execute') => void = () => undefined;
    const { plugin } = await setUp(
      t,
      {
        submit: ({ executionId }) => void done.push(executionId),
        inDoubt: async () => new Promise<'execute'>((found) => (resolve = found)),
        cancel: ({ cancelRequestId }) => void done.push(cancelRequestId),
      },
      { journalDir },
    );
    await plugin.stop();
    resolve('execute');
    await new Promise((passed) => setImmediate(passed));
    t.strictSame(done, []);
    t.equal(plugin.known('exe_1')?.isReported, false);
  });
}

t.test(
  'a process that is nothing but a plugin waits for its gateway, until it is sent away',
  async (t) => {
    const gateway = await startFakeGateway();
    t.teardown(() => gateway.close());
    gateway.status = 503;
    const program = fileURLToPath(new URL('./plugin.program.js', import.meta.url));
    const child = spawn(process.execPath, [program, gateway.url], { stdio: 'ignore' });
    t.teardown(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit').then(([code]) => code as number);
    await Promise.race([gateway.refused(), ended]);
    gateway.status = 101;
    const connection = await Promise.race([gateway.connection(), ended]);
    if (typeof connection === 'number') throw new Error(`it has ended with ${connection}`);
    connection.socket.close(4501, 'replaced');
    t.equal(await ended, 0);
  },
);

t.test('a plugin that is stopped before its start does not start', async (t) => {
  const program = fileURLToPath(new URL('./plugin.program.js', import.meta.url));
  const child = spawn(process.execPath, [program, 'http://127.0.0.1:1', 'stopped']);
  t.teardown(() => child.kill('SIGKILL'));
  const kinds = text(child.stdout);
  const [code] = (await once(child, 'exit')) as [number];
  t.strictSame([code, await kinds], [0, '']);
});
