/** What the events of a stream say: those of the terminal, and those of the gateway itself. */
import t from 'tap';
import { pluginEventNames } from '../../src/events/event-names.js';
import { cancelReport, event, report, tell } from '../support/frames.js';
import { eventually } from '../support/eventually.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { openReader } from '../support/event-reader.js';

const gateway = await startTestGateway(t);
const rawTextLengthMax = 8_192;

async function setUp() {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const reader = await openReader(gateway.url, user.key);
  t.teardown(() => {
    reader.close();
    plugin.close();
  });
  return { user, plugin, reader };
}

t.test('an event has every common field, and null for what it does not say', async (t) => {
  const { plugin, reader } = await setUp();
  const before = Date.now();
  await tell(plugin, {
    type: 'event',
    seq: 1,
    event: 'account_update',
    occurredAt: '2026-01-02T03:04:05.5+02:00',
    data: { balance: 100.25, nested: { deep: [1, null, 'x'] } },
  } as { seq: number });
  const { id, data } = await reader.next('account_update');
  t.same(data, {
    eventId: id,
    event: 'account_update',
    occurredAt: '2026-01-02T01:04:05.500Z',
    receivedAt: data.receivedAt,
    platform: 'terminal_a',
    instanceId: 'desk-1',
    accountName: 'Sim101',
    requestId: null,
    signalId: null,
    executionId: null,
    orderRef: null,
    rawText: null,
    rawTextTruncated: false,
    data: { balance: 100.25, nested: { deep: [1, null, 'x'] } },
  });
  const received = Date.parse(data.receivedAt);
  t.ok(received >= before && received <= Date.now());

  await tell(plugin, { type: 'event', seq: 2, event: 'terminal_message' } as { seq: number });
  const bare = (await reader.next('terminal_message')).data;
  t.same(bare.data, {});
  const between = Date.parse(bare.receivedAt) - Date.parse(bare.occurredAt);
  t.ok(between >= 0 && between < 50, 'the gateway’s clock where the terminal gives no time');
});

t.test('what a terminal tells arrives as it wrote it, in one line', async (t) => {
  const { plugin, reader } = await setUp();
  const data = String.raw`{"a\n\/":[18446744073709551615, 1.10, 1e400],"text":"é\u2028",`;
  plugin.send(
    `{"data":{}, "type":"event","event":"terminal_message","seq":1,"data": ${data}\r\n"b":1\n} }`,
  );
  await plugin.next('ack');
  const { text } = await reader.next('terminal_message');
  t.equal(text.slice(text.indexOf('"data":')), `"data":${data}  "b":1 }}`);
});

t.test('every name that a plugin may send arrives under that name', async (t) => {
  const { plugin, reader } = await setUp();
  for (const [index, name] of pluginEventNames.entries()) {
    await tell(plugin, event(index + 1, { event: name }));
    t.match((await reader.next(name)).data, { event: name, data: { text: `word ${index + 1}` } });
  }
});

t.test('rawText is cut to 8192 characters and marked, the event itself is kept', async (t) => {
  const { plugin, reader } = await setUp();
  const texts: [string, string, boolean][] = [
    ['', '', false],
    ['x'.repeat(rawTextLengthMax), 'x'.repeat(rawTextLengthMax), false],
    ['x'.repeat(rawTextLengthMax + 1), 'x'.repeat(rawTextLengthMax), true],
    ['y'.repeat(100_000), 'y'.repeat(rawTextLengthMax), true],
    [`${'z'.repeat(rawTextLengthMax - 1)}😀`, 'z'.repeat(rawTextLengthMax - 1), true],
    ['line\r\nbreaks\n\ndata: no\u2028\u0000', 'line\r\nbreaks\n\ndata: no\u2028\u0000', false],
  ];
  for (const [index, [rawText, kept, isCut]] of texts.entries()) {
    await tell(plugin, event(index + 1, { rawText }));
    const { data } = await reader.next('terminal_message');
    t.ok(data.rawText === kept, `${rawText.length} characters`);
    t.equal(data.rawTextTruncated, isCut);
  }
});

t.test('an event is linked to its order by executionId or orderRef', async (t) => {
  const { user, plugin, reader } = await setUp();
  const order = await gateway.order(user, plugin, { signalId: 'linked' });
  const { requestId, executionId, orderRef } = order;
  const linked = { requestId, signalId: 'linked', executionId, orderRef };
  const words: [object, object][] = [
    [{ executionId }, linked],
    [{ orderRef }, linked],
    [{ executionId: 'N-4711' }, { requestId: null, executionId: null, orderRef: null }],
    [{ orderRef: 'N-4711' }, { requestId: null, executionId: null, orderRef: null }],
  ];
  for (const [index, [fields, expected]] of words.entries()) {
    await tell(plugin, event(index + 1, { event: 'order_update', ...fields }));
    t.match((await reader.next('order_update')).data, expected, JSON.stringify(fields));
  }
});

t.test('one source’s stream tells nothing of another source or user', async (t) => {
  const { user, plugin, reader } = await setUp();
  const sibling = await gateway.plugin(user, { instanceId: 'desk-2' });
  const stranger = await gateway.plugin(await gateway.user());
  const other = await gateway.order(user, sibling, { instanceId: 'desk-2' });
  await tell(sibling, report(1, other.executionId, 'filled'));
  await tell(sibling, event(2, { executionId: other.executionId }));
  await tell(stranger, event(1));
  await tell(plugin, event(1, { executionId: other.executionId, data: { text: 'last' } }));
  const last = await reader.next('terminal_message');
  t.equal(last.data.data.text, 'last');
  t.equal(last.data.executionId, null, 'another source’s execution is not linked either');
  t.equal(reader.count, 1);
  sibling.close();
  stranger.close();
});

t.test(
  'command_result for each change of an execution, with the execution as a bot reads it',
  async (t) => {
    const { user, plugin, reader } = await setUp();
    const order = await gateway.order(user, plugin);
    const { requestId, executionId, orderRef } = order;
    const fill = { fillId: 'f', price: 5, quantity: 1, filledAt: '2026-01-01T00:00:00.000Z' };
    plugin.send({ type: 'ack', executionId });
    await tell(plugin, report(1, executionId, 'working'));
    await tell(plugin, report(2, executionId, 'working', { native: { text: 'no change' } }));
    await tell(plugin, report(3, executionId, 'filled', { fill }));
    await tell(plugin, report(4, executionId, 'working'));
    const statuses: string[] = [];
    let last;
    while (statuses.at(-1) !== 'filled') {
      const { data } = await reader.next('command_result');
      t.match(data, { requestId, executionId, orderRef, rawText: null });
      t.equal(data.occurredAt, data.data.updatedAt);
      last = data.data;
      statuses.push(last.status);
    }
    t.same(statuses, ['dispatched', 'submitted', 'working', 'filled']);
    t.same(last, await gateway.execution(user, requestId));
    await tell(plugin, event(5));
    await reader.next('terminal_message');
    t.equal(reader.events.filter(({ name }) => name === 'command_result').length, 0);
  },
);

t.test('what never leaves the gateway is told as well', async (t) => {
  const { user, plugin, reader } = await setUp();
  plugin.cut();
  await reader.next('source_status', ({ data }) => data.status === 'stale');
  await submitShort(user);
  const expired = (await reader.next('command_result')).data.data;
  t.match(expired, { status: 'expired', reasonCode: 'ttl_expired', delivery: 'not_sent' });
  const mute = await gateway.plugin(user, { capabilities: [] });
  await gateway.submit(user);
  const denied = (await reader.next('command_result')).data.data;
  t.match(denied, { status: 'denied', reasonCode: 'terminal_capability_missing' });
  mute.close();
});

/** Submits a signal that expires within a second, and another if it came too late. */
function submitShort(user: TestUser): Promise<string> {
  return eventually(() =>
    gateway.submit(user, { ttlMs: 1, ts: Date.now() + 1_000 }).catch((error: unknown) => {
      if (!/signal_expired/.test(String(error))) throw error;
      return undefined;
    }),
  );
}

t.test('cancel_update for each change of a cancel', async (t) => {
  const { user, plugin, reader } = await setUp();
  const order = await gateway.order(user, plugin);
  await tell(plugin, report(1, order.executionId, 'working'));
  const answer = await gateway.cancel(user, order.orderRef);
  const { cancelRequestId } = await plugin.next('cancel');
  plugin.send({ type: 'ack', cancelRequestId });
  await tell(plugin, cancelReport(2, cancelRequestId, 'cancelled'));
  const statuses: string[] = [];
  let last;
  while (statuses.at(-1) !== 'cancelled') {
    const { data } = await reader.next('cancel_update');
    t.match(data, { executionId: order.executionId, orderRef: order.orderRef });
    last = data.data;
    statuses.push(last.status);
  }
  t.same(statuses, ['requested', 'dispatched', 'pending', 'cancelled']);
  t.same(last, (await gateway.execution(user, order.requestId)).cancel);
  t.equal(last.cancelRequestId, answer.body.cancelRequestId);
  const result = await reader.next('command_result', ({ data }) => data.status === 'cancelled');
  t.match(result.data.data, { reasonCode: 'cancelled_by_api', cancel: last });
});
