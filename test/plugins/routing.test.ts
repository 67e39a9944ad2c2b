/** Which terminals a signal goes to. */
import t from 'tap';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { hello } from '../support/plugin.js';

const gateway = await startTestGateway(t);
const b = { platform: 'terminal_b', accountName: '77@Broker', instanceId: 'vps' };

/** @returns each execution as `platform/instanceId/accountName status reason`, sorted. */
async function outcome(user: TestUser, requestId: string): Promise<string[]> {
  const { executions } = await gateway.read(user, requestId);
  return executions
    .map((e: any) => `${e.platform}/${e.instanceId}/${e.accountName} ${e.status} ${e.reasonCode}`)
    .sort();
}

t.test('every active source of the platform gets an execution of its own', async (t) => {
  const user = await gateway.user();
  const one = await gateway.plugin(user);
  const two = await gateway.plugin(user, { instanceId: 'desk-2' });
  const sameDesk = await gateway.plugin(user, { accountName: 'Sim102' });
  const other = await gateway.plugin(user, b);
  const stranger = await gateway.plugin(await gateway.user());
  const requestId = await gateway.submit(user);
  const frames = await Promise.all([one, two, sameDesk].map((plugin) => plugin.next('submit')));
  t.equal(new Set(frames.map(({ executionId }) => executionId)).size, 3);
  t.ok(frames.every((frame) => frame['requestId'] === requestId));
  await eventually(async () =>
    (await outcome(user, requestId)).every((text) => text.includes('dispatched')),
  );
  t.same(await outcome(user, requestId), [
    'terminal_a/desk-1/Sim101 dispatched null',
    'terminal_a/desk-1/Sim102 dispatched null',
    'terminal_a/desk-2/Sim101 dispatched null',
  ]);
  for (const plugin of [other, stranger]) {
    t.notOk(plugin.frames.some(({ type }) => type === 'submit'));
    plugin.close();
  }
  for (const plugin of [one, two, sameDesk]) plugin.close();
});

for (const [field, name] of Object.entries({ instanceId: 'desk-2', accountName: 'Sim102' })) {
  t.test(`${field} picks among the sources, and the request shows it`, async (t) => {
    const user = await gateway.user();
    const one = await gateway.plugin(user);
    const two = await gateway.plugin(user, { [field]: name });
    const { requestId } = await gateway.order(user, two, { [field]: name });
    const read = await gateway.read(user, requestId);
    t.match(read, { [field]: name, executions: [{ [field]: name }] });
    t.equal(read.executions.length, 1);
    for (const plugin of [one, two]) plugin.close();
  });
}

t.test('two platforms in one signal, spaces trimmed and repeats counted once', async (t) => {
  const user = await gateway.user();
  const first = await gateway.plugin(user);
  const second = await gateway.plugin(user, b);
  const requestId = await gateway.submit(user, { platform: ' terminal_b , terminal_a,terminal_b' });
  t.equal((await first.next('submit'))['requestId'], requestId);
  t.equal((await second.next('submit'))['requestId'], requestId);
  t.equal((await gateway.read(user, requestId)).executions.length, 2);
  first.close();
  second.close();
});

t.test('a platform without an active source is denied, the other goes ahead', async (t) => {
  const user = await gateway.user();
  const alone = await gateway.submit(user);
  t.same(await outcome(user, alone), ['terminal_a/null/null denied no_active_terminal']);
  t.match(await gateway.read(user, alone), {
    status: 'completed',
    executions: [{ delivery: 'not_sent', dispatchedAt: null }],
  });
  const plugin = await gateway.plugin(user);
  const { requestId } = await gateway.order(user, plugin, { platform: 'terminal_a,terminal_b' });
  const statuses = await outcome(user, requestId);
  t.equal(statuses[1], 'terminal_b/null/null denied no_active_terminal');
  t.match(statuses[0], /^terminal_a\/desk-1\/Sim101 (queued|dispatched)/);
  plugin.close();
});

t.test('a source that cannot submit is denied for want of the capability', async (t) => {
  const user = await gateway.user();
  const watcher = await gateway.plugin(user, { capabilities: ['snapshot'] });
  const requestId = await gateway.submit(user);
  t.same(await outcome(user, requestId), [
    'terminal_a/desk-1/Sim101 denied terminal_capability_missing',
  ]);
  watcher.cut();
  const able = await gateway.plugin(user, { capabilities: ['submit'] });
  await gateway.order(user, able);
  t.pass('what it says at the next hello counts');
  able.close();
});

t.test('a source that is active but away gets its signals at its return', async (t) => {
  const user = await gateway.user();
  (await gateway.plugin(user)).cut();
  const first = await gateway.submit(user);
  const second = await gateway.submit(user);
  t.match(await gateway.execution(user, first), { status: 'queued', delivery: 'not_sent' });
  const back = await gateway.plugin(user);
  t.equal((await back.next('submit'))['requestId'], first);
  t.equal((await back.next('submit'))['requestId'], second);
  back.close();
});

t.test('sources stay active over a restart and over a crash', async (t) => {
  const user = await gateway.user();
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    const plugin = await gateway.plugin(user, { instanceId: end });
    // The acknowledgement of a later frame shows that the hello was handled.
    plugin.send({ type: 'event', seq: 1, event: 'terminal_message' });
    await plugin.next('ack');
    await gateway.restart(end);
    const requestId = await gateway.submit(user, { instanceId: end });
    t.match(await gateway.execution(user, requestId), { status: 'queued' }, `${end}: not denied`);
    const back = await gateway.plugin(user, { ...hello, instanceId: end });
    t.equal((await back.next('submit'))['requestId'], requestId);
    back.cut();
  }
});
