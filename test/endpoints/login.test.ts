/** POST /api/auth/login, row by row. */
import t from 'tap';
import { bearer, call, codeOf, createKey, json, post, verdict } from '../support/api.js';
import { password } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t, {
  emails: ['Ann@Example.com'],
  flags: ['--log-level', 'trace'],
});
const { url } = gateway;
const path = '/api/auth/login';

const login = (body: unknown) => post(url, path, body);

t.test(
  'the right password gets token, session token and email, and no cache may keep them',
  async (t) => {
    const answer = await login({ email: 'Ann@Example.com', password });
    t.equal(answer.status, 200);
    t.same(Object.keys(answer.body), ['token', 'sessionToken', 'email']);
    t.equal(answer.body.email, 'Ann@Example.com');
    t.equal(answer.body.token.split('.').length, 3);
    t.not(answer.body.sessionToken, answer.body.token);
    t.match(answer.headers.get('content-type'), /^application\/json/);
    t.match(answer.headers.get('cache-control'), /no-store/);
    t.match(answer.headers.get('x-trace-id'), /^[0-9a-f]{32}$/);
  },
);

t.test('the user token is valid for 24 hours', async (t) => {
  const { body } = await login({ email: 'Ann@Example.com', password });
  const claims = JSON.parse(Buffer.from(body.token.split('.')[1], 'base64url').toString());
  t.ok(Math.abs(claims.exp - claims.iat - 86_400) <= 1);
  t.ok(Math.abs(claims.iat - Date.now() / 1000) < 60);
});

t.test(
  'an email is found in any case and without its outer spaces, and comes back as stored',
  async (t) => {
    const answer = await login({ email: '  ann@EXAMPLE.com ', password });
    t.equal(answer.status, 200);
    t.equal(answer.body.email, 'Ann@Example.com');
  },
);

t.test('each login gets tokens of its own, and the older ones stay valid', async (t) => {
  const first = await login({ email: 'Ann@Example.com', password });
  const second = await login({ email: 'Ann@Example.com', password });
  t.not(first.body.sessionToken, second.body.sessionToken);
  const { id } = await createKey(url, first.body.token);
  t.equal(
    (await call(url, 'DELETE', `/api/api-keys/${id}`, { headers: bearer(second.body.token) }))
      .status,
    204,
  );
});

t.test('a wrong password and an unknown email get the same answer, byte for byte', async (t) => {
  const wrong = await login({ email: 'Ann@Example.com', password: 'wrong horse' });
  const unknown = await login({ email: 'nobody@example.com', password });
  t.equal(verdict(wrong), '401 invalid_credentials');
  t.same(Object.keys(wrong.body), ['code', 'message']);
  t.equal(unknown.status, 401);
  t.equal(unknown.text, wrong.text);
});

t.test('email_not_confirmed is only told to who has the right password', async (t) => {
  const email = 'new@example.com';
  const args = ['user', 'add', email, '--plan', 'business', '--unconfirmed', '--password-stdin'];
  await gateway.commandWithInput(`${password}\n`, ...args);
  const right = await login({ email, password });
  t.equal(verdict(right), '403 email_not_confirmed');
  t.same(Object.keys(right.body), ['code', 'message']);
  t.equal(verdict(await login({ email, password: 'wrong horse' })), '401 invalid_credentials');
  await gateway.command('user', 'set', email, '--confirmed', 'true');
  t.equal(verdict(await login({ email, password })), '200');
});

t.test('a changed password holds at once and ends the tokens of the old one', async (t) => {
  const { email, token } = await gateway.user();
  await gateway.commandWithInput('battery staple\n', 'user', 'set', email, '--password-stdin');
  t.equal(verdict(await login({ email, password })), '401 invalid_credentials');
  t.equal(verdict(await login({ email, password: 'battery staple' })), '200');
  t.equal(
    verdict(await call(url, 'GET', '/api/api-keys', { headers: bearer(token) })),
    '401 invalid_token',
  );
});

t.test('a body that fails validation gets every violated field at once', async (t) => {
  const answer = await login({ email: 'ann', password: 'p'.repeat(129) });
  t.equal(verdict(answer), '400 validation_failed');
  t.same(Object.keys(answer.body), ['code', 'message', 'errors']);
  t.same(answer.body.errors, [
    { field: 'email', code: 'invalid_email' },
    { field: 'password', code: 'invalid_length' },
  ]);
  t.same((await login([])).body.errors, [{ field: '$', code: 'object_required' }]);
});

t.test('unknown fields are refused before the known ones are looked at', async (t) => {
  const rows: [body: string, fields: string[]][] = [
    [
      '{"email":"Ann@Example.com","password":"correct horse","constructor":1,"__proto__":{"x":1}}',
      ['constructor', '__proto__'],
    ],
    ['{"__proto__":{"email":"Ann@Example.com","password":"correct horse"}}', ['__proto__']],
    ['{"email":7,"user":"ann"}', ['user']],
  ];
  for (const [body, fields] of rows) {
    const answer = await login(body);
    t.equal(verdict(answer), '400 unknown_field', body);
    t.same(Object.keys(answer.body), ['code', 'message', 'errors']);
    t.same(
      answer.body.errors,
      fields.map((field) => ({ field, code: 'unknown_field' })),
    );
  }
  t.equal(verdict(await login({ email: 'Ann@Example.com', password })), '200', 'and none harms');
});

t.test('415 unless the body is called JSON', async (t) => {
  const body = JSON.stringify({ email: 'Ann@Example.com', password });
  for (const type of ['text/plain', 'application/jsonx', 'application/x-www-form-urlencoded', '']) {
    const answer = await call(url, 'POST', path, { headers: { 'content-type': type }, body });
    t.equal(verdict(answer), '415 unsupported_media_type', type);
    t.same(Object.keys(answer.body), ['code', 'message']);
  }
  for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset=UTF-8']) {
    t.equal(
      verdict(await call(url, 'POST', path, { headers: { 'content-type': type }, body })),
      '200',
      type,
    );
  }
});

t.test('413 for a body over the limit', async (t) => {
  const answer = await login(
    JSON.stringify({ email: 'ann@example.com', password: 'p'.repeat(66_000) }),
  );
  t.equal(verdict(answer), '413 request_body_too_large');
  t.same(Object.keys(answer.body), ['code', 'message']);
});

t.test('400 malformed_json for what is no strict JSON, or nested too deeply', async (t) => {
  for (const body of ['{"email":1,}', `${'['.repeat(17)}${']'.repeat(17)}`]) {
    t.equal(verdict(await login(body)), '400 malformed_json', body);
  }
});

t.test('the checks come in the order 415, 413, malformed_json, validation', async (t) => {
  const large = 'x'.repeat(66_000);
  const text = { 'content-type': 'text/plain' };
  t.equal(
    codeOf(await call(url, 'POST', path, { headers: text, body: large })),
    'unsupported_media_type',
  );
  t.equal(
    codeOf(await call(url, 'POST', path, { headers: text, body: '{' })),
    'unsupported_media_type',
  );
  t.equal(codeOf(await login(large)), 'request_body_too_large');
  t.equal(codeOf(await login('{"email":"ann"')), 'malformed_json');
});

t.test('a traceparent is taken over, and a wrong one is not', async (t) => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const trace = (traceparent: string) => post(url, path, {}, '', { traceparent });
  t.equal((await trace(`00-${id}-00f067aa0ba902b7-01`)).headers.get('x-trace-id'), id);
  const wrong = (await trace(`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`)).headers.get('x-trace-id');
  t.match(wrong, /^[0-9a-f]{32}$/);
  t.not(wrong, '0'.repeat(32));
});

t.test('nothing secret is in the log', async (t) => {
  const { body } = await login({ email: 'Ann@Example.com', password });
  await call(url, 'POST', path, { headers: json, body: '{' });
  const log = gateway.process.log();
  for (const secret of [password, body.token, body.sessionToken]) t.notOk(log.includes(secret));
});
