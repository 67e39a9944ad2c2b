/** GET /api/v1/terminal-events/snapshot: the terminal is asked, and its answer is an event. */
import t from 'tap';
import { bearer, call, codeOf, createKey, get } from '../support/api.js';
import { openReader, sourceQuery } from '../support/event-reader.js';
import { event } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const path = '/api/v1/terminal-events/snapshot';
const ask = (key: string, query = sourceQuery()) => get(url, `${path}?${query}`, key);

t.test('the answer is the terminal’s own event, which its streams have as well', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user, { capabilities: ['submit', 'snapshot'] });
  const reader = await openReader(url, user.key);
  const asked = ask(user.key);
  const { snapshotId } = await plugin.next('snapshot');
  const held = { positions: [{ instrument: 'ES' }], orders: [], account: { balance: 1 } };
  plugin.send(event(1, { event: 'state_snapshot', data: { snapshotId: 'another', ...held } }));
  plugin.send(event(2, { event: 'state_snapshot', data: { snapshotId, ...held } }));
  const answer = await asked;
  t.equal(answer.status, 200);
  t.match(answer.body, { event: 'state_snapshot', data: { snapshotId, ...held } });
  const { data } = await reader.next(
    'state_snapshot',
    (each) => each.data.snapshotId === snapshotId,
  );
  t.same(data, answer.body);
  reader.close();
  plugin.close();
});

t.test('a terminal that is not there, cannot or does not answer', async (t) => {
  const user = await gateway.user();
  t.equal(codeOf(await ask(user.key, 'platform=terminal_a')), 'invalid_terminal_source');
  t.equal(codeOf(await ask(user.key)), 'terminal_source_not_found');
  const without = await gateway.plugin(user, { capabilities: ['submit'] });
  t.equal(codeOf(await ask(user.key)), 'terminal_unavailable', 'it lacks the capability');
  without.close();
  const fields = { instanceId: 'desk-2', capabilities: ['snapshot'] };
  const silent = await gateway.plugin(user, fields);
  const late = ask(user.key, sourceQuery(fields));
  await silent.next('snapshot');
  const lost = ask(user.key, sourceQuery(fields));
  await silent.next('snapshot');
  t.equal(codeOf(await late), 'terminal_timeout');
  t.equal((await lost).status, 504);
  const cut = ask(user.key, sourceQuery(fields));
  await silent.next('snapshot');
  silent.close();
  t.equal(codeOf(await cut), 'terminal_unavailable', 'it left meanwhile');
});

t.test('a key that is revoked while the terminal is asked gets no answer', async (t) => {
  const user = await gateway.user();
  const narrow = await createKey(url, user.token, { scopes: ['signals:read'] });
  t.equal(codeOf(await ask(narrow.key)), 'insufficient_scope');
  const plugin = await gateway.plugin(user, { capabilities: ['snapshot'] });
  const asked = ask(user.key);
  const { snapshotId } = await plugin.next('snapshot');
  await call(url, 'DELETE', `/api/api-keys/${user.keyId}`, { headers: bearer(user.token) });
  plugin.send(event(1, { event: 'state_snapshot', data: { snapshotId } }));
  t.equal(codeOf(await asked), 'invalid_api_key');
  plugin.close();
});
