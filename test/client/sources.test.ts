import t from 'tap';
import type { Reply } from '../support/fake-api.js';
import { startScriptedClient } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api } = scripted;

const source = {
  platform: 'terminal_a',
  instanceId: '',
  accountName: 'Sim101',
  connected: true,
  capabilities: ['submit', 'cancel'],
  lastSeenAt: '2026-01-31T12:00:00.000Z',
};
const answer = (sources: unknown): Reply => ({ status: 200, body: { sources } });

t.test('the sources come as the gateway lists them', async (t) => {
  const sources = [source, { ...source, instanceId: 'desk-2', capabilities: ['of_the_future'] }];
  api.play(answer(sources));
  t.strictSame(await scripted.client().sources(), { ok: true, value: sources });
  const [request] = api.seen;
  t.match(request, { method: 'GET', path: '/api/v1/terminal-events/sources' });
  t.equal(request?.headers['idempotency-key'], undefined);
});

t.test('no sources are an empty list', async (t) => {
  api.play(answer([]));
  t.strictSame(await scripted.client().sources(), { ok: true, value: [] });
});

const unseen = { ...source, lastSeenAt: undefined };
const noLists: readonly [name: string, reply: Reply][] = [
  ['an answer that is no JSON', { status: 200, body: '<html>' }],
  ['an answer without sources', { status: 200, body: {} }],
  ['a source without an account', answer([{ ...source, accountName: undefined }])],
  ['a source that is null', answer([null])],
  ['a source whose capabilities are no list', answer([{ ...source, capabilities: 'submit' }])],
  ['a source that is neither connected nor not', answer([{ ...source, connected: 'yes' }])],
  ['a source that was never seen', answer([unseen])],
];
for (const [name, reply] of noLists) {
  t.test(`after ${name} the list is asked for again`, async (t) => {
    api.play(reply, answer([source]));
    t.strictSame(await scripted.client().sources(), { ok: true, value: [source] });
    t.equal(api.seen.length, 2);
  });
}
