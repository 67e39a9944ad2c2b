/** DELETE /api/api-keys/{id}: its answers, and that the key is refused at once. */
import t from 'tap';
import { bearer, call, get, post, signal, submit, verdict } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { rawCall } from '../support/raw-client.js';

const gateway = await startTestGateway(t);
const path = '/api/api-keys';
const sources = '/api/v1/terminal-events/sources';

const create = (token: string, body: unknown) => post(gateway.url, path, body, token);
const valid = (fields: object = {}) => ({ name: 'bot', scopes: ['signals:read'], ...fields });
const remove = (token: string, id: string | number) =>
  call(gateway.url, 'DELETE', `${path}/${id}`, { headers: bearer(token) });
const list = (token: string) => get(gateway.url, path, token);

t.test('a disabled Public API stops creation only: listing and revoking go on', async (t) => {
  const { token, keyId } = await gateway.user();
  await gateway.command('api', 'disable');
  const refused = await create(token, valid());
  t.equal(verdict(refused), '503 public_api_disabled');
  t.same(Object.keys(refused.body), ['code', 'message']);
  t.equal((await list(token)).status, 200);
  t.equal((await remove(token, keyId)).status, 204);
  await gateway.command('api', 'enable');
});

t.test(
  'delete answers 204 without a body, and again, and the key is refused at once',
  async (t) => {
    const { token, key, keyId } = await gateway.user();
    t.equal((await get(gateway.url, sources, key)).status, 200);
    const removed = await remove(token, keyId);
    t.equal(removed.status, 204);
    t.equal(removed.text, '');
    t.equal(verdict(await get(gateway.url, sources, key)), '401 invalid_api_key');
    t.equal(verdict(await submit(gateway.url, key, signal())), '401 invalid_api_key');
    t.same((await list(token)).body, []);
    const lines = [`Authorization: Bearer ${token}`];
    const again = await rawCall(gateway.url, 'DELETE', `${path}/${keyId}`, lines);
    t.equal(again?.status, 204);
    t.equal(again?.headers['content-length'], undefined, 'HTTP forbids a length here');
  },
);

t.test('404 for ids that are unknown, foreign or no integer', async (t) => {
  const { token, keyId } = await gateway.user();
  const stranger = await gateway.user();
  // oxfmt-ignore
  const ids = [stranger.keyId, 999_999_999, 0, -keyId, `${keyId}.0`, `0${keyId}`, `+${keyId}`, `${keyId}e0`, `0x${keyId.toString(16)}`,
    'abc', '1.5', 'NaN', '99999999999999999999', '%20', `${keyId}%20`, '%00', '%zz', '__proto__'];
  for (const id of ids) {
    const answer = await remove(token, id);
    t.equal(verdict(answer), '404 key_not_found', String(id));
    t.same(Object.keys(answer.body), ['code', 'message']);
  }
  t.equal((await get(gateway.url, sources, stranger.key)).status, 200, 'the foreign key lives on');
  t.equal((await list(token)).body.length, 1);
});

t.test('a key that the operator revokes is refused at once', async (t) => {
  const { key, keyId } = await gateway.user();
  await gateway.command('key', 'revoke', String(keyId));
  t.equal(verdict(await get(gateway.url, sources, key)), '401 invalid_api_key');
});
