/** GET /api/v1/terminal-events/sources: whose sources it lists, and their fields. */
import t from 'tap';
import { get, verdict } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const path = '/api/v1/terminal-events/sources';

t.test('a user without terminals has an empty list', async (t) => {
  const { key } = await gateway.user();
  const answer = await get(gateway.url, path, key);
  t.equal(verdict(answer), '200');
  t.same(answer.body, { sources: [] });
});

t.test('each source is told with its names, its capabilities and when it was heard', async (t) => {
  const user = await gateway.user();
  const first = await gateway.plugin(user);
  const second = await gateway.plugin(user, { instanceId: 'desk-2', capabilities: ['submit'] });
  const { sources } = (await get(gateway.url, path, user.key)).body;
  t.equal(sources.length, 2);
  const row = { platform: 'terminal_a', accountName: 'Sim101', connected: true };
  const byInstance = new Map<string, any>(
    sources.map((source: { instanceId: string }) => [source.instanceId, source]),
  );
  t.match(byInstance.get('desk-1'), { ...row, capabilities: ['submit', 'cancel'] });
  t.match(byInstance.get('desk-2'), { ...row, capabilities: ['submit'] });
  for (const { lastSeenAt } of sources) {
    t.equal(new Date(lastSeenAt).toISOString(), lastSeenAt);
    t.ok(Math.abs(Date.parse(lastSeenAt) - Date.now()) < 60_000, lastSeenAt);
  }
  first.close();
  second.close();
});

t.test('the sources of another user are not among them', async (t) => {
  const [ann, bob] = [await gateway.user(), await gateway.user()];
  const plugin = await gateway.plugin(ann);
  t.same((await get(gateway.url, path, bob.key)).body, { sources: [] });
  plugin.close();
});
