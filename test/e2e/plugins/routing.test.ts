/** Which terminals a signal goes to. */
import t from 'tap';
import { openDesk, type Trader } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import { hello } from '../../support/plugin.js';

const desk = await openDesk(t);
const b = { platform: 'terminal_b', accountName: '77@Broker', instanceId: 'vps' };

/** Each execution as `platform/instanceId/accountName status reason`, sorted. */
async function outcome(trader: Trader, requestId: string): Promise<string[]> {
  const { executions } = await desk.read(trader, requestId);
  return executions
    .map((e: any) => `${e.platform}/${e.instanceId}/${e.accountName} ${e.status} ${e.reasonCode}`)
    .sort();
}

t.test('every active source of the platform gets an execution of its own', async (t) => {
  const trader = await desk.trader();
  const one = await desk.plugin(trader);
  const two = await desk.plugin(trader, { instanceId: 'desk-2' });
  const sameDesk = await desk.plugin(trader, { accountName: 'Sim102' });
  const other = await desk.plugin(trader, b);
  const stranger = await desk.plugin(await desk.trader());
  const requestId = await desk.submit(trader);
  const frames = await Promise.all([one, two, sameDesk].map((plugin) => plugin.next('submit')));
  t.equal(new Set(frames.map(({ executionId }) => executionId)).size, 3);
  t.ok(frames.every((frame) => frame['requestId'] === requestId));
  await eventually(async () =>
    (await outcome(trader, requestId)).every((text) => text.includes('dispatched')),
  );
  t.same(await outcome(trader, requestId), [
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

t.test('instanceId picks among the sources', async (t) => {
  const trader = await desk.trader();
  const one = await desk.plugin(trader);
  const two = await desk.plugin(trader, { instanceId: 'desk-2' });
  const picked = await desk.order(trader, two, { instanceId: 'desk-2' });
  t.match((await desk.read(trader, picked.requestId)).executions, [{ instanceId: 'desk-2' }]);
  const none = await desk.submit(trader, { instanceId: 'DESK-2' });
  t.same(await outcome(trader, none), ['terminal_a/DESK-2/null denied no_active_terminal']);
  t.notOk(one.frames.some(({ type }) => type === 'submit'));
  one.close();
  two.close();
});

t.test('two platforms in one signal, spaces trimmed and repeats counted once', async (t) => {
  const trader = await desk.trader();
  const first = await desk.plugin(trader);
  const second = await desk.plugin(trader, b);
  const requestId = await desk.submit(trader, { platform: ' terminal_b , terminal_a,terminal_b' });
  t.equal((await first.next('submit'))['requestId'], requestId);
  t.equal((await second.next('submit'))['requestId'], requestId);
  t.equal((await desk.read(trader, requestId)).executions.length, 2);
  first.close();
  second.close();
});

t.test('a platform without an active source is denied, the other goes ahead', async (t) => {
  const trader = await desk.trader();
  const alone = await desk.submit(trader);
  t.same(await outcome(trader, alone), ['terminal_a/null/null denied no_active_terminal']);
  t.match(await desk.read(trader, alone), {
    status: 'completed',
    executions: [{ delivery: 'not_sent', dispatchedAt: null }],
  });
  const plugin = await desk.plugin(trader);
  const { requestId } = await desk.order(trader, plugin, { platform: 'terminal_a,terminal_b' });
  const statuses = await outcome(trader, requestId);
  t.equal(statuses[1], 'terminal_b/null/null denied no_active_terminal');
  t.match(statuses[0], /^terminal_a\/desk-1\/Sim101 (queued|dispatched)/);
  plugin.close();
});

t.test('a source that cannot submit is denied for want of the capability', async (t) => {
  const trader = await desk.trader();
  const watcher = await desk.plugin(trader, { capabilities: ['snapshot'] });
  const requestId = await desk.submit(trader);
  t.same(await outcome(trader, requestId), [
    'terminal_a/desk-1/Sim101 denied terminal_capability_missing',
  ]);
  watcher.cut();
  const able = await desk.plugin(trader, { capabilities: ['submit'] });
  await desk.order(trader, able);
  t.pass('what it says at the next hello counts');
  able.close();
});

t.test('a source that is active but away gets its signals at its return', async (t) => {
  const trader = await desk.trader();
  (await desk.plugin(trader)).cut();
  const first = await desk.submit(trader);
  const second = await desk.submit(trader);
  t.match(await desk.execution(trader, first), { status: 'queued', delivery: 'not_sent' });
  const back = await desk.plugin(trader);
  t.equal((await back.next('submit'))['requestId'], first);
  t.equal((await back.next('submit'))['requestId'], second);
  back.close();
});

t.test('sources stay active over a restart and over a crash', async (t) => {
  const trader = await desk.trader();
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    const plugin = await desk.plugin(trader, { instanceId: end });
    // Acknowledged by a later frame on the same connection: the hello was dealt with.
    plugin.send({ type: 'event', seq: 1, event: 'terminal_message' });
    await plugin.next('ack');
    await desk.restart(end);
    const requestId = await desk.submit(trader, { instanceId: end });
    t.match(await desk.execution(trader, requestId), { status: 'queued' }, `${end}: not denied`);
    const back = await desk.plugin(trader, { ...hello, instanceId: end });
    t.equal((await back.next('submit'))['requestId'], requestId);
    back.cut();
  }
});
