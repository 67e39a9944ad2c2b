/** Each command of the operator is in effect when it ends, as seen from outside, and says what it did. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bearer, call, createKey, json, login, signal, submit } from '../../support/api.js';
import { startTestGateway, type TestUser } from '../../support/gateway.js';
import { openReader } from '../../support/event-reader.js';
import { eventually } from '../../support/eventually.js';
import { password } from '../../support/gateway-process.js';
import { runInProcess, signalboxIn } from '../../support/in-process.js';

const gateway = await startTestGateway(t);

/** Runs the command with --json; throws when it fails. */
async function cli(args: readonly string[], input = ''): Promise<any> {
  const { code, stdout, stderr } = await signalboxIn(gateway.dataDir, [...args, '--json'], input);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** What the command prints for people. */
const say = (...args: string[]) => signalboxIn(gateway.dataDir, args);
const post = (user: TestUser) => submit(gateway.url, user.key, signal());
const logIn = (email: string, word: string) =>
  call(gateway.url, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password: word }),
  });

t.test('user add: the user can log in at once', async (t) => {
  await cli(
    ['user', 'add', 'new@example.com', '--plan', 'business', '--password-stdin'],
    `${password}\n`,
  );
  const { token } = await login(gateway.url, 'NEW@example.com');
  t.ok(await createKey(gateway.url, token));
  await cli(
    ['user', 'add', 'later@example.com', '--plan', 'basic', '--unconfirmed', '--password-stdin'],
    `${password}\n`,
  );
  t.equal((await logIn('later@example.com', password)).body.code, 'email_not_confirmed');
  await cli(['user', 'set', 'later@example.com', '--confirmed', 'true']);
  const basic = await login(gateway.url, 'later@example.com');
  await t.rejects(createKey(gateway.url, basic.token), /403.*business_plan_required/);
});

t.test('user set --frozen: signals stop and go on, nothing else does', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  t.equal((await post(user)).status, 202);
  await cli(['user', 'set', user.email, '--frozen', 'true']);
  const refused = await post(user);
  t.equal(refused.status, 403);
  t.equal(refused.body.error.code, 'account_frozen');
  t.equal(plugin.closed, undefined);
  await cli(['user', 'set', user.email, '--frozen', 'false']);
  t.equal((await post(user)).status, 202);
  plugin.close();
});

t.test('user set --plan: the Public API goes and comes with the plan', async (t) => {
  const user = await gateway.user();
  await cli(['user', 'set', user.email, '--plan', 'basic']);
  const refused = await post(user);
  t.equal(refused.status, 403);
  t.equal(refused.body.error.code, 'business_plan_required');
  await cli(['user', 'set', user.email, '--plan', 'business']);
  t.equal((await post(user)).status, 202, 'with the same key');
});

t.test('user set --password-stdin: the old password and its tokens are out', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  await cli(['user', 'set', user.email, '--password-stdin'], 'a quite new password\n');
  t.equal((await plugin.waitClosed()).code, 4503);
  t.equal((await logIn(user.email, password)).body.code, 'invalid_credentials');
  t.equal((await logIn(user.email, 'a quite new password')).status, 200);
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(user.token) });
  t.equal(keys.status, 401);
  t.equal((await post(user)).status, 202, 'API keys stay');
});

t.test('key list and key revoke', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const listed = JSON.stringify(await cli(['key', 'list', user.email]));
  t.match(listed, new RegExp(`"id":${user.keyId}\\b`));
  t.notMatch(listed, user.key, 'without the secret');
  const stream = await openReader(gateway.url, user.key);
  await cli(['key', 'revoke', `${user.keyId}`]);
  t.equal(await stream.waitEnd(), 'properly');
  plugin.close();
  const refused = await post(user);
  t.equal(refused.status, 401);
  t.equal(refused.body.error.code, 'invalid_api_key');
  t.notMatch(
    JSON.stringify(await cli(['key', 'list', user.email])),
    new RegExp(`"id":${user.keyId}\\b`),
  );
});

t.test('key list and key revoke say what they list and do', async (t) => {
  const { email, token, keyId } = await gateway.user();
  const name = 'desk \u001b[2J';
  const { key, id } = await createKey(gateway.url, token, { name });
  await cli(['key', 'revoke', `${keyId}`]);
  const list = await say('key', 'list', email);
  t.match(list, { code: 0, stdout: /^ID +NAME +KEY +SCOPES/ });
  t.match(list.stdout, /desk \?\[2J/, 'a name cannot write to the terminal');
  const listed = await cli(['key', 'list', email]);
  t.match(listed, [{ id, name, displayPrefix: /^svc_api_.*\.\.\.$/ }]);
  t.notOk((list.stdout + JSON.stringify(listed)).includes(key.slice(0, 20)));
  t.match(await cli(['key', 'revoke', `${id}`]), { id, email, revoked: true });
  t.match(await say('key', 'revoke', `${id}`), { code: 0, stdout: /is revoked/ }, 'again');
  t.match(await say('key', 'list', email), { code: 0, stdout: /has no API keys/ });
  t.match(await say('key', 'revoke', '999'), { code: 1, stderr: /no API key 999/ });
  for (const wrong of ['x', '-1', '1.5', '0x1', '1'.repeat(30)]) {
    t.equal((await say('key', 'revoke', '--', wrong)).code, 2, wrong);
  }
});

t.test('session revoke: terminals go, the key stays', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const { email } = user;
  t.match(await cli(['session', 'revoke', email]), { email, sessionsRevoked: true });
  t.match(await say('session', 'revoke', email), { code: 0, stdout: /need a new login/ });
  t.equal((await plugin.waitClosed()).code, 4503);
  t.equal((await post(user)).status, 202);
});

t.test('api disable and enable: everything under /api/v1, and new keys', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const stream = await openReader(gateway.url, user.key);
  t.match(await say('api', 'disable'), { code: 0, stdout: /disabled/ });
  const refused = await post(user);
  t.equal(refused.status, 503);
  t.equal(refused.body.error.code, 'public_api_disabled');
  const readiness = await fetch(`${gateway.process.opsUrl}/readyz`);
  t.equal(await readiness.text(), 'ready, Public API disabled');
  const metrics = await fetch(`${gateway.process.opsUrl}/metrics`);
  t.match(await metrics.text(), /^signalbox_public_api_disabled 1$/m);
  await t.rejects(createKey(gateway.url, user.token), /503.*public_api_disabled/);
  t.equal(await stream.waitEnd(), 'properly');
  t.same(await cli(['api', 'enable']), { publicApiEnabled: true });
  t.equal((await post(user)).status, 202);
  t.ok(await createKey(gateway.url, user.token));
  plugin.close();
});

t.test('a mistake for the next start keeps no command from the gateway that runs', async (t) => {
  const config = join(t.testdir({ 'next.json': '{"limits":{"ttlMsMax":0}}' }), 'next.json');
  const run = (dataDir: string, ...args: string[]) =>
    signalboxIn(dataDir, [...args, '--config', config]);
  const user = await gateway.user();
  const halted = await run(gateway.dataDir, 'halt');
  t.match(halted, { code: 0, stderr: /^A gateway would not start: "limits.ttlMsMax" is 0 .*\n$/ });
  t.equal((await post(user)).body.error.code, 'trading_halted');
  const unknown = await run(gateway.dataDir, 'user', 'show', 'none@example.com');
  t.match(unknown, { code: 1, stderr: /There is no user/ });
  t.equal((await run(gateway.dataDir, 'resume')).code, 0);
  const backup = await run(gateway.dataDir, 'backup', join(t.testdirName, 'backup'));
  t.match(backup, { code: 0, stderr: /^A gateway would not start: "limits.ttlMsMax" is 0 .*\n$/ });
  t.match(await run(gateway.dataDir, 'config'), { code: 2, stdout: '' });
  writeFileSync(config, '{"dataDir":');
  t.match(await runInProcess(['halt', '--config', config]), {
    code: 2,
    stderr: /cannot be read as JSON.*\nA gateway that runs .* if --data-dir /,
  });
  for (const word of ['halt', 'resume']) t.equal((await run(gateway.dataDir, word)).code, 0, word);

  writeFileSync(config, '{"limits":{"ttlMsMax":0}}');
  const stopped = join(t.testdirName, 'stopped');
  const add = ['user', 'add', user.email, '--plan', 'none', '--password-stdin'];
  for (const args of [add, ['halt']]) {
    const refused = await signalboxIn(stopped, [...args, '--config', config], `${password}\n`);
    t.match(refused, { code: 2, stdout: '', stderr: /^"limits.ttlMsMax" is 0/ }, args.join(' '));
  }
  t.notOk(existsSync(stopped));
  await signalboxIn(
    stopped,
    ['user', 'add', user.email, '--plan', 'basic', '--password-stdin'],
    `${password}\n`,
  );
  t.match(await run(stopped, 'halt'), { code: 2, stderr: /^"limits.ttlMsMax" is 0/ });
  t.equal((await signalboxIn(stopped, ['resume'])).code, 0, 'the directory is given back');
});

t.test('user list and user show tell what the gateway knows', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  t.match(JSON.stringify(await cli(['user', 'list'])), user.email);
  // A terminal is welcome before it is in the store, which is what the command shows.
  const shown = await eventually(async () => {
    const text = JSON.stringify(await cli(['user', 'show', user.email]));
    return text.includes('Sim101') && text;
  });
  t.match(shown, user.email);
  t.notMatch(shown, 'argon2', 'no hash');
  plugin.close();
});

t.test('user delete: nothing of the user works any more', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  await cli(['user', 'delete', user.email]);
  t.equal((await post(user)).status, 401);
  t.equal((await plugin.waitClosed()).code, 4503);
  const keys = await call(gateway.url, 'GET', '/api/api-keys', { headers: bearer(user.token) });
  t.equal(keys.status, 401);
  t.equal((await logIn(user.email, password)).body.code, 'invalid_credentials');
  await cli(['user', 'add', user.email, '--plan', 'business', '--password-stdin'], `${password}\n`);
  const again = await login(gateway.url, user.email);
  const { key } = await createKey(gateway.url, again.token);
  const sources = await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', {
    headers: bearer(key),
  });
  t.same(sources.body, { sources: [] }, 'who comes after has nothing of who was before');
});
