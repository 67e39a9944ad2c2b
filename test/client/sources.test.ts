import t from 'tap';
import { refusal, type Reply } from '../support/fake-api.js';
import { startScriptedClient } from './scripted-client.js';

const scripted = await startScriptedClient(t);
const { api, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
});

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

t.test('the list is asked for again after 1, 2, 5, then 10 s, and ends after 30 s', async (t) => {
  api.play(refusal(503, 'shutting_down'));
  const result = await scripted.client().sources();
  t.match(result, { ok: false, error: { kind: 'refused', code: 'shutting_down' } });
  t.strictSame(pauses, [1_000, 2_000, 5_000, 10_000, 10_000, 2_000]);
});

const unseen = { ...source, lastSeenAt: undefined };
const transient: readonly [name: string, reply: Reply][] = [
  ['a broken connection', 'reset-after-body'],
  ['an answer that breaks off', 'cut'],
  ['no answer in time', 'silent'],
  ['429', refusal(429, 'api_rate_limited')],
  ['500', { status: 500 }],
  ['an answer that is no JSON', { status: 200, body: '<html>' }],
  ['an answer without sources', { status: 200, body: {} }],
  ['a source without an account', answer([{ ...source, accountName: undefined }])],
  ['a source that is null', answer([null])],
  ['a source whose capabilities are no list', answer([{ ...source, capabilities: 'submit' }])],
  ['a source that is neither connected nor not', answer([{ ...source, connected: 'yes' }])],
  ['a source that was never seen', answer([unseen])],
];
for (const [name, reply] of transient) {
  t.test(`after ${name} the list is asked for again`, async (t) => {
    api.play(reply, answer([source]));
    t.strictSame(await scripted.client().sources(), { ok: true, value: [source] });
    t.equal(api.seen.length, 2);
  });
}

for (const [status, code] of [
  [401, 'invalid_api_key'],
  [403, 'insufficient_scope'],
] as const) {
  t.test(`${status} ${code} is refused, without a retry`, async (t) => {
    api.play(refusal(status, code));
    const result = await scripted.client().sources();
    t.match(result, { ok: false, error: { kind: 'refused', status, code } });
    t.equal(api.seen.length, 1);
  });
}

t.test('a list that is aborted beforehand is not asked for', async (t) => {
  api.play(answer([]));
  const result = await scripted.client().sources({ signal: AbortSignal.abort() });
  t.match(result, { ok: false, error: { kind: 'aborted' } });
  t.equal(api.seen.length, 0);
});
