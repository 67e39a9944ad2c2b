/** Invalid frames, frames with fields of later versions, and the numbers by which each takes effect once. */
import t from 'tap';
import { acknowledged, event, report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { hello } from '../support/plugin.js';
import { openReader } from '../support/event-reader.js';

const gateway = await startTestGateway(t);

t.test('the answer to an invalid frame names its field', async (t) => {
  const plugin = await gateway.plugin(await gateway.user());
  plugin.send(report(1, 'exe_1', 'working', { native: { state: 5 } }));
  const { message } = await plugin.next('error', { code: 'invalid_frame' });
  t.equal(message, 'The field native.state is missing or not valid.');
  plugin.close();
});

t.test(
  'a bad frame is answered with its code and takes no seq, the third closes with 4502',
  async (t) => {
    const plugin = await gateway.plugin(await gateway.user());
    plugin.send('one');
    await plugin.next('error', { code: 'not_json' });
    plugin.send({ type: 'two' });
    await plugin.next('error', { code: 'unknown_type' });
    await tell(plugin, event(1));
    plugin.send({ type: 'ack', executionId: 3 });
    await plugin.next('error', { code: 'invalid_frame' });
    t.same(await plugin.waitClosed(), { code: 4502, reason: 'bad_protocol' });
  },
);

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
