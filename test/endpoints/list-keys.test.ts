/** GET /api/api-keys: whose keys it lists, and their fields; and the rules of all three endpoints of keys. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { type Answer, bearer, call, createKey, get, post, verdict } from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const path = '/api/api-keys';
const sources = '/api/v1/terminal-events/sources';

const create = (token: string, body: unknown) => post(gateway.url, path, body, token);
const valid = (fields: object = {}) => ({ name: 'bot', scopes: ['signals:read'], ...fields });
const remove = (token: string, id: string | number) =>
  call(gateway.url, 'DELETE', `${path}/${id}`, { headers: bearer(token) });
const list = (token: string) => get(gateway.url, path, token);

t.test('the list shows the caller his keys in full but for the secret', async (t) => {
  const { token, keyId } = await gateway.user();
  const stranger = await gateway.user();
  const made = await create(token, valid());
  const { key, ...record } = made.body;
  const answer = await list(token);
  t.equal(answer.status, 200);
  t.same(
    answer.body.map(({ id }: { id: number }) => id),
    [keyId, record.id],
  );
  t.same(answer.body[1], record);
  const hash = createHash('sha256').update(key);
  for (const encoding of ['hex', 'base64', 'base64url'] as const) {
    t.notOk(answer.text.includes(hash.copy().digest(encoding)));
  }
  t.notOk(answer.text.includes(key));
  t.notOk(answer.text.includes(String(stranger.keyId) + ','), 'no key of anybody else');
});

t.test('a user without keys has an empty list', async (t) => {
  const { token, keyId } = await gateway.user();
  await remove(token, keyId);
  t.equal((await list(token)).text, '[]');
});

t.test('lastUsedAt appears with the first use and moves with later ones', async (t) => {
  const { token, key } = await gateway.user();
  t.equal((await list(token)).body[0].lastUsedAt, null);
  await get(gateway.url, sources, key);
  const first = (await list(token)).body[0].lastUsedAt;
  t.ok(Math.abs(Date.parse(first) - Date.now()) < 60_000, first);
  const moved = await until(
    async () => {
      await get(gateway.url, sources, key);
      return (await list(token)).body[0].lastUsedAt;
    },
    (lastUsedAt) => lastUsedAt > first,
  );
  t.match(moved, /Z$/);
});

async function everyKeyEndpoint(token: string, id: number): Promise<Answer[]> {
  return [await create(token, valid()), await list(token), await remove(token, id)];
}

t.test(
  'a plan without the Public API gets 403 everywhere, at once and until it changes back',
  async (t) => {
    const { email, token, key, keyId } = await gateway.user();
    await gateway.command('user', 'set', email, '--plan', 'basic');
    for (const answer of await everyKeyEndpoint(token, keyId)) {
      t.equal(verdict(answer), '403 business_plan_required');
      t.same(Object.keys(answer.body), ['code', 'message']);
    }
    const refused = await get(gateway.url, sources, key);
    t.equal(verdict(refused), '403 business_plan_required');
    t.same(Object.keys(refused.body), ['error']);
    await gateway.command('user', 'set', email, '--plan', 'business');
    t.equal((await get(gateway.url, sources, key)).status, 200);
    t.equal((await list(token)).body.length, 1, 'and nothing was revoked meanwhile');
  },
);

t.test('keys, their uses and revocations survive a restart', async (t) => {
  const { token, key, keyId } = await gateway.user();
  const other = await createKey(gateway.url, token);
  await remove(token, other.id);
  await get(gateway.url, sources, key);
  const before = (await list(token)).text;
  t.equal(await gateway.process.stop(), 0);
  await gateway.start();
  t.equal((await list(token)).text, before);
  t.equal((await get(gateway.url, sources, key)).status, 200);
  t.equal(verdict(await get(gateway.url, sources, other.key)), '401 invalid_api_key');
  t.equal((await remove(token, other.id)).status, 204);
  t.ok(
    (await createKey(gateway.url, token)).id > Math.max(keyId, other.id),
    'ids are never used twice',
  );
});
