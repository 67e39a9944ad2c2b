import t from 'tap';
import type { Source } from '../../src/plugins/source.js';
import { snapshotTimeoutMs, type SnapshotAnswer } from '../../src/plugins/snapshots.js';
import type { ScriptedPlugin } from '../support/scripted-plugin.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

const sourceOf = (plugin: ScriptedPlugin): Source => plugin.connection.source as Source;
const held = { account: { balance: 1 }, positions: [{ instrument: 'ES' }], orders: [] };

/** Asks for a snapshot. @returns a list that gets the answer when it comes. */
function ask(gateway: SimulatedGateway, source: Source): SnapshotAnswer[] {
  const answers: SnapshotAnswer[] = [];
  void gateway.core.terminals.snapshots.request(source).then((answer) => answers.push(answer));
  return answers;
}

function tell(plugin: ScriptedPlugin, seq: number, data: object): void {
  plugin.say({ type: 'event', seq, event: 'state_snapshot', data });
}

t.test('the answer is the event that the terminal sends with the id', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const answers = ask(gateway, sourceOf(plugin));
  const [frame] = plugin.of('snapshot');
  t.match(frame, { type: 'snapshot', snapshotId: /^snp_[0-9a-f]{16}$/ });
  tell(plugin, 1, held);
  tell(plugin, 2, { ...held, snapshotId: 'snp_of_nobody' });
  await turns();
  t.strictSame(answers, [], 'another snapshot is no answer');
  const data = { snapshotId: frame?.['snapshotId'] as string, ...held };
  plugin.say({ type: 'event', seq: 3, event: 'account_update', data });
  await turns();
  t.strictSame(answers, [], 'nor is an event of another name');
  tell(plugin, 4, data);
  await turns();
  t.match(JSON.parse(answers[0]?.event ?? '{}'), {
    eventId: /-5$/,
    instanceId: 'desk-1',
    accountName: 'Sim101',
    data,
  });
  tell(plugin, 5, data);
  await gateway.pass(2 * snapshotTimeoutMs);
  t.equal(answers.length, 1);
  t.equal(gateway.core.terminals.snapshots.openCount, 0);
});

t.test('each request is a question of its own', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const first = ask(gateway, sourceOf(plugin));
  const second = ask(gateway, sourceOf(plugin));
  const [, frame] = plugin.of('snapshot');
  tell(plugin, 1, { ...held, snapshotId: frame?.['snapshotId'] });
  await turns();
  t.equal(second.length, 1);
  t.strictSame(first, []);
});

t.test('without an answer in time', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const answers = ask(gateway, sourceOf(plugin));
  await gateway.pass(snapshotTimeoutMs - 1);
  t.strictSame(answers, []);
  await gateway.pass(1);
  t.strictSame(answers, [{ failure: 'terminal_timeout' }]);
});

t.test('only the terminal that was asked can answer', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const other = await gateway.plugin({ instanceId: 'desk-2' });
  const foreign = await gateway.plugin({}, 'u2');
  const answers = ask(gateway, sourceOf(plugin));
  const snapshotId = plugin.of('snapshot')[0]?.['snapshotId'] as string;
  tell(other, 1, { ...held, snapshotId });
  tell(foreign, 1, { ...held, snapshotId });
  await turns();
  t.strictSame(answers, []);
});

t.test('a terminal that leaves ends only the questions that it was asked', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const other = await gateway.plugin({ instanceId: 'desk-2' });
  const answers = ask(gateway, sourceOf(plugin));
  other.drop();
  await turns();
  t.strictSame(answers, []);
});

t.test('a terminal that cannot answer is unavailable at once', async (t) => {
  const gateway = new SimulatedGateway();
  const unable = await gateway.plugin({ capabilities: ['submit'] });
  t.strictSame(await gateway.core.terminals.snapshots.request(sourceOf(unable)), {
    failure: 'terminal_unavailable',
  });
  t.strictSame(unable.of('snapshot'), []);

  const left = await gateway.plugin({ instanceId: 'desk-2' });
  const source = sourceOf(left);
  const answers = ask(gateway, source);
  left.drop();
  await turns();
  t.strictSame(answers, [{ failure: 'terminal_unavailable' }], 'it left while it was asked');
  t.strictSame(await gateway.core.terminals.snapshots.request(source), {
    failure: 'terminal_unavailable',
  });

  const full = await gateway.plugin({ instanceId: 'desk-3' });
  full.isFull = true;
  t.strictSame(await gateway.core.terminals.snapshots.request(sourceOf(full)), {
    failure: 'terminal_unavailable',
  });
  t.equal(gateway.core.terminals.snapshots.openCount, 0);
});
