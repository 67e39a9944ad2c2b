/** POST /api/api-keys: its answer, the limit of keys, and the order of its checks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { WallClock } from '../harness/time/wall-clock.js';
import { bearer, call, codeOf, createKey, get, json, post, verdict } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { socketFolder } from '../support/socket-folder.js';

const clock = new WallClock(join(socketFolder(t), 'clock'));
const gateway = await startTestGateway(t, { environment: clock.environment });
const path = '/api/api-keys';
const sources = '/api/v1/terminal-events/sources';
const dayMs = 86_400_000;

const create = (token: string, body: unknown) => post(gateway.url, path, body, token);
const valid = (fields: object = {}) => ({ name: 'bot', scopes: ['signals:read'], ...fields });
const remove = (token: string, id: string | number) =>
  call(gateway.url, 'DELETE', `${path}/${id}`, { headers: bearer(token) });
const list = (token: string) => get(gateway.url, path, token);
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

t.test(
  'create answers 201 with the record, the secret, and headers that forbid every cache',
  async (t) => {
    const { token } = await gateway.user();
    const expiresAt = inMs(dayMs);
    const answer = await create(token, {
      name: '  my bot ',
      scopes: ['signals:write', 'events:read'],
      expiresAt,
    });
    t.equal(answer.status, 201);
    const { key, id, createdAt, displayPrefix, ...rest } = answer.body;
    t.same(rest, {
      name: 'my bot',
      scopes: ['events:read', 'signals:write'],
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
      limits: null,
    });
    t.ok(Number.isInteger(id));
    t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
    t.match(key, /^svc_api_[A-Za-z0-9_-]{43,}$/, 'at least 256 bits');
    t.ok(displayPrefix.endsWith('...') && key.startsWith(displayPrefix.slice(0, -3)));
    t.ok(displayPrefix.length > 'svc_api_...'.length && displayPrefix.length <= 24);
    t.equal(answer.headers.get('cache-control'), 'no-store, max-age=0');
    t.equal(answer.headers.get('pragma'), 'no-cache');
  },
);

t.test('an expired key is refused, still listed, not counted, and may be revoked', async (t) => {
  const { token } = await gateway.user();
  const lifeMs = 3_600_000;
  const short = await createKey(gateway.url, token, { expiresAt: inMs(lifeMs) });
  for (let i = 0; i < 3; i++) await createKey(gateway.url, token);
  t.equal(codeOf(await create(token, valid())), 'active_key_limit_reached');
  t.equal((await get(gateway.url, sources, short.key)).status, 200);
  await clock.set(lifeMs);
  t.equal(verdict(await get(gateway.url, sources, short.key)), '401 invalid_api_key');
  t.equal((await list(token)).body.length, 5);
  t.equal((await create(token, valid())).status, 201);
  t.equal((await remove(token, short.id)).status, 204);
  t.equal((await list(token)).body.length, 5);
  await clock.set(0);
});

t.test('five active keys are the limit, and revoking one makes room', async (t) => {
  const { token, keyId } = await gateway.user();
  for (let i = 0; i < 4; i++) await createKey(gateway.url, token);
  const sixth = await create(token, valid());
  t.equal(verdict(sixth), '400 active_key_limit_reached');
  t.same(Object.keys(sixth.body), ['code', 'message']);
  t.equal((await remove(token, keyId)).status, 204);
  t.equal((await create(token, valid())).status, 201);
  t.equal(codeOf(await create(token, valid())), 'active_key_limit_reached');
});

t.test('of 20 creations at once exactly as many succeed as there is room for', async (t) => {
  const { token } = await gateway.user();
  const answers = await Promise.all(Array.from({ length: 20 }, () => create(token, valid())));
  const made = answers.filter(({ status }) => status === 201);
  t.equal(made.length, 4);
  t.ok(
    answers.every(
      (answer) => answer.status === 201 || codeOf(answer) === 'active_key_limit_reached',
    ),
  );
  t.equal(new Set(made.map(({ body }) => body.id)).size, 4);
  t.equal(new Set(made.map(({ body }) => body.key)).size, 4);
  t.equal((await list(token)).body.length, 5);
});

t.test('the checks of create come in the contract’s order, each pair proved', async (t) => {
  const { token } = await gateway.user();
  const full = await gateway.user();
  for (let i = 0; i < 4; i++) await createKey(gateway.url, full.token);
  const basic = await gateway.user({ plan: 'basic' });
  const text = { 'content-type': 'text/plain' };
  const send = (bearerToken: string, body: string, headers: Record<string, string> = json) =>
    call(gateway.url, 'POST', path, { headers: { ...headers, ...bearer(bearerToken) }, body });
  const large = 'x'.repeat(66_000);
  const bad = (fields: object) => JSON.stringify(fields);

  t.equal(codeOf(await send('nonsense', '{', text)), 'invalid_token');
  t.equal(codeOf(await send(basic.token, large, text)), 'business_plan_required');
  t.equal(codeOf(await send(token, large, text)), 'unsupported_media_type');
  t.equal(codeOf(await send(token, '{', text)), 'unsupported_media_type');
  t.equal(codeOf(await send(token, large)), 'request_body_too_large');
  t.equal(codeOf(await send(full.token, '{"name":')), 'malformed_json');
  t.equal(codeOf(await send(full.token, bad({ scopes: [], expiresAt: 1 }))), 'invalid_name');
  t.equal(
    codeOf(await send(full.token, bad({ name: 'n', scopes: [], expiresAt: 1 }))),
    'invalid_scopes',
  );
  t.equal(codeOf(await send(full.token, bad(valid({ expiresAt: 1 })))), 'invalid_expiration');
  t.equal(codeOf(await send(full.token, bad(valid()))), 'active_key_limit_reached');

  await gateway.command('api', 'disable');
  t.equal(codeOf(await send('nonsense', bad(valid()))), 'invalid_token', '401 before 503');
  t.equal(
    codeOf(await send(basic.token, bad(valid()))),
    'business_plan_required',
    '403 before 503',
  );
  t.equal(codeOf(await send(token, bad(valid()), text)), 'public_api_disabled', '503 before 415');
  t.equal(codeOf(await send(token, large)), 'public_api_disabled', '503 before 413');
  await gateway.command('api', 'enable');
  t.equal((await send(token, bad(valid()))).status, 201);
});

t.test('a body that is no object, or has hostile fields, does no harm', async (t) => {
  const { token } = await gateway.user();
  for (const body of ['null', '[]', '"x"', '7']) {
    t.equal(verdict(await create(token, body)), '400 invalid_name', body);
  }
  const named =
    '{"name":"n","scopes":["signals:read"],"__proto__":{"expiresAt":1},"constructor":1}';
  const answer = await create(token, named);
  t.equal(verdict(answer), '400 unknown_field');
  t.same(Object.keys(answer.body), ['code', 'message', 'errors']);
  t.same(answer.body.errors, [
    { field: '__proto__', code: 'unknown_field' },
    { field: 'constructor', code: 'unknown_field' },
  ]);
  const recovered = '{"__proto__":{"name":"n","scopes":["signals:read"]}}';
  t.equal(verdict(await create(token, recovered)), '400 unknown_field');
});

t.test('an unknown field is told before name, scopes and expiration', async (t) => {
  const { token } = await gateway.user();
  for (const body of [
    { name: '', scopes: [], expiresAt: 'never', expires: '2099-01-01T00:00:00Z' },
    { name: 'n', scopes: ['signals:read'], expires: '2099-01-01T00:00:00Z' },
  ]) {
    const answer = await create(token, body);
    t.equal(verdict(answer), '400 unknown_field');
    t.same(answer.body.errors, [{ field: 'expires', code: 'unknown_field' }]);
  }
});

t.test('no secret reaches the store in clear', async (t) => {
  const { key, token, sessionToken } = await gateway.user();
  const files = readdirSync(gateway.dataDir, { withFileTypes: true });
  for (const { name } of files.filter((file) => file.isFile())) {
    const bytes = readFileSync(`${gateway.dataDir}/${name}`);
    for (const secret of [key, key.slice(8), token, sessionToken]) {
      t.notOk(bytes.includes(secret), `${name} holds no secret`);
    }
  }
});
