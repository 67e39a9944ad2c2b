/** Invalid frames, frames with fields of later versions, and the numbers by which each takes effect once. */
import t from 'tap';
import { acknowledged, event, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { hello } from '../support/plugin.js';
import { openReader } from '../support/event-reader.js';

const gateway = await startTestGateway(t);

const badFrames: Record<string, { frame: object | string; code: string }> = {
  'no JSON': { frame: '{"type":', code: 'not_json' },
  'an empty text': { frame: '', code: 'not_json' },
  'an array': { frame: '[]', code: 'not_json' },
  'a string': { frame: '"heartbeat"', code: 'not_json' },
  null: { frame: 'null', code: 'not_json' },
  'no type': { frame: {}, code: 'unknown_type' },
  'an unknown type': { frame: { type: 'constructor' }, code: 'unknown_type' },
  'a type that is no text': { frame: { type: ['event'] }, code: 'invalid_frame' },
  'a type that nothing can make a text of': {
    frame: { type: { toString: 1, valueOf: 2 } },
    code: 'invalid_frame',
  },
  'a report without a seq': {
    frame: { type: 'report', executionId: 'x', status: 'filled' },
    code: 'invalid_frame',
  },
  'a seq of 0': { frame: event(0), code: 'invalid_frame' },
  'a fractional seq': { frame: event(1.5), code: 'invalid_frame' },
  'a seq beyond exact integers': { frame: event(2 ** 53), code: 'invalid_frame' },
  'a status that only the gateway may give': {
    frame: report(1, 'x', 'denied'),
    code: 'invalid_frame',
  },
  'an unknown reason': {
    frame: report(1, 'x', 'rejected', { reasonCode: 'bad_luck' }),
    code: 'invalid_frame',
  },
  'null for what is not known': {
    frame: report(1, 'x', 'working', { averageFillPrice: null }),
    code: 'invalid_frame',
  },
  'a negative filledQuantity': {
    frame: report(1, 'x', 'working', { filledQuantity: -1 }),
    code: 'invalid_frame',
  },
  'a fill of nothing': {
    frame: report(1, 'x', 'filled', {
      fill: { fillId: 'f', price: 1, quantity: 0, filledAt: '2026-01-01T00:00:00Z' },
    }),
    code: 'invalid_frame',
  },
  'a time without a zone': {
    frame: event(1, { occurredAt: '2026-01-01T00:00:00' }),
    code: 'invalid_frame',
  },
  'a time that is no moment': {
    frame: event(1, { occurredAt: '2026-13-45T99:99:99Z' }),
    code: 'invalid_frame',
  },
  'a time whose year has five digits in UTC': {
    frame: report(1, 'x', 'filled', {
      fill: { fillId: 'f', price: 1, quantity: 1, filledAt: '9999-12-31T23:59:59-01:00' },
    }),
    code: 'invalid_frame',
  },
  'an event of the stream itself': {
    frame: event(1, { event: 'replay_gap' }),
    code: 'invalid_frame',
  },
  'data whose field has another type than its kind of event gives it': {
    frame: event(1, { event: 'position_update', data: { quantity: '2' } }),
    code: 'invalid_frame',
  },
  'data that is no object': { frame: event(1, { data: 'text' }), code: 'invalid_frame' },
  'rawText that is no text': { frame: event(1, { rawText: 5 }), code: 'invalid_frame' },
  'data nested beyond all use': {
    frame: `{"type":"event","seq":1,"event":"terminal_message","data":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    code: 'invalid_frame',
  },
};

t.test(
  'a bad frame is answered with its code, takes no seq, and leaves the connection up',
  async (t) => {
    const user = await gateway.user();
    for (const [name, { frame, code }] of Object.entries(badFrames)) {
      const plugin = await gateway.plugin(user);
      plugin.send(frame);
      const error = await plugin.next('error');
      t.equal(error['code'], code, name);
      t.type(error['message'], 'string');
      plugin.cut();
    }
    const plugin = await gateway.plugin(user);
    await tell(plugin, event(1));
    t.pass('seq 1 is still to be had');
    plugin.close();
  },
);

t.test('the answer to an invalid frame names its field', async (t) => {
  const report = { type: 'report', seq: 1, executionId: 'exe_1' };
  const cases: readonly [frame: object, field: string][] = [
    [report, 'status'],
    [{ ...report, status: 'working', native: { state: 5 } }, 'native.state'],
    [{ type: 'event', seq: 1, event: 'account_update', data: { equity: '5' } }, 'data.equity'],
  ];
  const user = await gateway.user();
  for (const [frame, field] of cases) {
    const plugin = await gateway.plugin(user);
    plugin.send(frame);
    const { message } = await plugin.next('error', { code: 'invalid_frame' });
    t.equal(message, `The field ${field} is missing or not valid.`);
    plugin.cut();
  }
});

t.test('the third bad frame closes with 4502', async (t) => {
  const plugin = await gateway.plugin(await gateway.user());
  plugin.send('one');
  await plugin.next('error', { code: 'not_json' });
  plugin.send({ type: 'two' });
  await plugin.next('error', { code: 'unknown_type' });
  await tell(plugin, event(1));
  plugin.send({ type: 'ack', executionId: 3 });
  await plugin.next('error', { code: 'invalid_frame' });
  t.same(await plugin.waitClosed(), { code: 4502, reason: 'bad_protocol' });
});

t.test('a binary frame is a bad frame like any other', async (t) => {
  const plugin = await gateway.plugin(await gateway.user());
  const bytes = Buffer.from(JSON.stringify(event(1)));
  plugin.socket.send(bytes, { binary: true });
  await plugin.next('error', { code: 'not_text' });
  await tell(plugin, event(1));
  plugin.socket.send(bytes, { binary: true });
  plugin.socket.send(bytes, { binary: true });
  t.equal((await plugin.waitClosed()).code, 4502);
});

t.test('a frame above 128 KiB is a bad frame, one above 256 KiB cuts the connection', async (t) => {
  const user = await gateway.user();
  const sized = (bytes: number): string => {
    const frame = event(1, { rawText: '' });
    const room = bytes - Buffer.byteLength(JSON.stringify(frame));
    return JSON.stringify({ ...frame, rawText: 'x'.repeat(room) });
  };
  const plugin = await gateway.plugin(user);
  for (const bytes of [128 * 1024 + 1, 256 * 1024]) {
    plugin.send(sized(bytes));
    await plugin.next('error', { code: 'frame_too_large' });
  }
  plugin.send(sized(128 * 1024));
  await acknowledged(plugin, 1);
  plugin.send(sized(256 * 1024 + 1));
  t.equal((await plugin.waitClosed()).code, 1006, 'the native server cuts without a close frame');
  const again = await gateway.plugin(user);
  await tell(again, event(2));
  again.close();
});

t.test('text that is not UTF-8 never reaches anybody', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const bytes = Buffer.from(JSON.stringify(event(1, { rawText: '\u00e9' })));
  bytes[bytes.indexOf(0xc3) + 1] = 0x28;
  plugin.socket.send(bytes, { binary: false });
  t.ok((await plugin.waitClosed()).code >= 1002, 'cut');
  const again = await gateway.plugin(user);
  await tell(again, event(1));
  again.close();
});

t.test('fields from tomorrow are ignored', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  plugin.send({ type: 'ack', executionId: order.executionId, mood: 'good' });
  await tell(
    plugin,
    report(1, order.executionId, 'working', { venue: { name: 'X' }, native: { flags: 7 } }),
  );
  plugin.send(
    `${JSON.stringify(event(2)).slice(0, -1)},"__proto__":{"polluted":true},"extra":[1]}`,
  );
  await acknowledged(plugin, 2);
  plugin.send({ type: 'heartbeat', load: 0.1 });
  await tell(plugin, event(3));
  t.equal((await gateway.execution(user, order.requestId)).status, 'working');
  plugin.close();
});

t.test('a seq takes effect once, and a repeat is acknowledged again', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, event(1, { data: { text: 'first' } }));
  await tell(plugin, event(1, { data: { text: 'again' } }));
  await tell(plugin, event(2, { data: { text: 'second' } }));
  const texts = [await reader.next('terminal_message'), await reader.next('terminal_message')];
  t.same(
    texts.map(({ data }) => data.data.text),
    ['first', 'second'],
  );
  reader.close();
  plugin.close();
});

t.test('a seq may jump, and what it jumped over is then too late', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const reader = await openReader(gateway.url, user.key);
  await tell(plugin, event(10, { data: { text: 'ten' } }));
  plugin.send(event(4, { data: { text: 'four' } }));
  t.equal((await plugin.next('ack'))['seq'], 10, 'acknowledged up to the newest');
  await tell(plugin, event(11, { data: { text: 'eleven' } }));
  t.equal((await reader.next('terminal_message')).data.data.text, 'ten');
  t.equal((await reader.next('terminal_message')).data.data.text, 'eleven');
  reader.close();
  plugin.close();
});

t.test('a refused frame takes no seq, but a later acknowledgement passes over it', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  plugin.send(event(5, { event: 'no_such_event' }));
  plugin.send(event(6));
  await plugin.next('error', { code: 'invalid_frame' });
  t.equal((await plugin.next('ack'))['seq'], 6);
  t.equal(plugin.frames.length, 0);
  plugin.close();
});

t.test('the seq is counted for each source by itself', async (t) => {
  const user = await gateway.user();
  const one = await gateway.plugin(user);
  const two = await gateway.plugin(user, { instanceId: 'desk-2' });
  await tell(one, event(50));
  await tell(two, event(1));
  t.pass('1 is new for the second source');
  one.close();
  two.close();
});

t.test('a burst of frames is acknowledged to its end, in order', async (t) => {
  const plugin = await gateway.plugin(await gateway.user());
  const count = 2_000;
  for (let seq = 1; seq <= count; seq++) plugin.send(event(seq));
  let last = 0;
  while (last < count) {
    const { seq } = (await plugin.next('ack')) as unknown as { seq: number };
    if (seq < last) t.fail(`acknowledged ${seq} after ${last}`);
    last = seq;
  }
  t.equal(last, count);
  plugin.close();
});

t.test('what a plugin says of another source or of nothing has no effect', async (t) => {
  const user = await gateway.user();
  const owner = await gateway.plugin(user);
  const order = await gateway.order(user, owner);
  const other = await gateway.plugin(user, { instanceId: 'desk-2' });
  const stranger = await gateway.plugin(await gateway.user());
  const before = await gateway.execution(user, order.requestId);

  for (const plugin of [other, stranger]) {
    for (const [index, executionId] of [order.executionId, 'exe_0', '__proto__'].entries()) {
      plugin.send(report(index + 1, executionId, 'filled'));
      await plugin.next('error', { code: 'unknown_execution' });
      await acknowledged(plugin, index + 1);
      plugin.send({ type: 'ack', executionId });
      await plugin.next('error', { code: 'unknown_execution' });
    }
    plugin.send({ type: 'ack', cancelRequestId: `can_${order.executionId.slice(4)}_1` });
    await plugin.next('error', { code: 'unknown_cancel' });
    plugin.send({
      type: 'cancel_report',
      seq: 9,
      cancelRequestId: `can_${order.executionId.slice(4)}_1`,
      status: 'cancelled',
    });
    await plugin.next('error', { code: 'unknown_cancel' });
    await tell(plugin, event(10, { executionId: order.executionId }));
    t.equal(plugin.closed, undefined, 'such words are well-formed: they never close');
  }
  const imposter = await gateway.plugin(user, {
    instanceId: 'desk-3',
    executions: [{ executionId: order.executionId, status: 'filled' }],
  });
  await tell(imposter, event(1));
  t.same(await gateway.execution(user, order.requestId), before);
  for (const plugin of [owner, other, stranger, imposter]) plugin.close();
});

t.test('lastSeq outlives a restart and a crash of the gateway', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  await tell(plugin, report(3, order.executionId, 'working'));
  await tell(plugin, event(8));
  for (const end of ['SIGKILL', 'SIGTERM'] as const) {
    await gateway.restart(end);
    const again = await gateway.plugin(user, { ...hello });
    again.send({ ...hello });
    await again.next('error', { code: 'hello_repeated' });
    again.send(event(8));
    t.equal((await again.next('ack'))['seq'], 8, end);
    again.cut();
  }
});
