/** What the operator commands is in effect when the command ends: each command, seen from outside. */
import t from 'tap';
import { bearer, call, createKey, json, login, signal, submit } from '../../support/api.js';
import { openDesk, type Trader } from '../../support/desk.js';
import { openReader } from '../../support/event-reader.js';
import { password, signalboxCli } from '../../support/gateway-process.js';

const desk = await openDesk(t);

/** Runs the command with --json; throws when it fails. */
function cli(args: readonly string[], input = ''): any {
  const { code, stdout, stderr } = signalboxCli(desk.dataDir, [...args, '--json'], input);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

const post = (trader: Trader) => submit(desk.url, trader.key, signal());
const logIn = (email: string, word: string) =>
  call(desk.url, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password: word }),
  });

t.test('user add: the user can log in at once', async (t) => {
  cli(
    ['user', 'add', 'new@example.com', '--plan', 'business', '--password-stdin'],
    `${password}\n`,
  );
  const { token } = await login(desk.url, 'NEW@example.com');
  t.ok(await createKey(desk.url, token));
  cli(
    ['user', 'add', 'later@example.com', '--plan', 'basic', '--unconfirmed', '--password-stdin'],
    `${password}\n`,
  );
  t.equal((await logIn('later@example.com', password)).body.code, 'email_not_confirmed');
  cli(['user', 'set', 'later@example.com', '--confirmed', 'true']);
  const basic = await login(desk.url, 'later@example.com');
  await t.rejects(createKey(desk.url, basic.token), /403.*business_plan_required/);
});

t.test('user set --frozen: signals stop and go on, nothing else does', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  t.equal((await post(trader)).status, 202);
  cli(['user', 'set', trader.email, '--frozen', 'true']);
  const refused = await post(trader);
  t.equal(refused.status, 403);
  t.equal(refused.body.error.code, 'account_frozen');
  t.equal(plugin.closed, undefined);
  cli(['user', 'set', trader.email, '--frozen', 'false']);
  t.equal((await post(trader)).status, 202);
  plugin.close();
});

t.test('user set --plan: the Public API goes and comes with the plan', async (t) => {
  const trader = await desk.trader();
  cli(['user', 'set', trader.email, '--plan', 'basic']);
  const refused = await post(trader);
  t.equal(refused.status, 403);
  t.equal(refused.body.error.code, 'business_plan_required');
  cli(['user', 'set', trader.email, '--plan', 'business']);
  t.equal((await post(trader)).status, 202, 'with the same key');
});

t.test('user set --password-stdin: the old password and its tokens are out', async (t) => {
  const trader = await desk.trader();
  cli(['user', 'set', trader.email, '--password-stdin'], 'a quite new password\n');
  t.equal((await logIn(trader.email, password)).body.code, 'invalid_credentials');
  t.equal((await logIn(trader.email, 'a quite new password')).status, 200);
  const keys = await call(desk.url, 'GET', '/api/api-keys', { headers: bearer(trader.token) });
  t.equal(keys.status, 401);
  t.equal((await post(trader)).status, 202, 'API keys stay');
});

t.test('key list and key revoke', async (t) => {
  const trader = await desk.trader();
  const listed = JSON.stringify(cli(['key', 'list', trader.email]));
  t.match(listed, new RegExp(`"id":${trader.keyId}\\b`));
  t.notMatch(listed, trader.key, 'without the secret');
  cli(['key', 'revoke', `${trader.keyId}`]);
  const refused = await post(trader);
  t.equal(refused.status, 401);
  t.equal(refused.body.error.code, 'invalid_api_key');
  t.notMatch(
    JSON.stringify(cli(['key', 'list', trader.email])),
    new RegExp(`"id":${trader.keyId}\\b`),
  );
});

t.test('session revoke: terminals go, the key stays', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  cli(['session', 'revoke', trader.email]);
  t.equal((await plugin.waitClosed()).code, 4503);
  t.equal((await post(trader)).status, 202);
});

t.test('api disable and enable: everything under /api/v1, and new keys', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const stream = await openReader(desk.url, trader.key);
  cli(['api', 'disable']);
  const refused = await post(trader);
  t.equal(refused.status, 503);
  t.equal(refused.body.error.code, 'public_api_disabled');
  await t.rejects(createKey(desk.url, trader.token), /503.*public_api_disabled/);
  t.equal(await stream.waitEnd(), 'properly');
  cli(['api', 'enable']);
  t.equal((await post(trader)).status, 202);
  t.ok(await createKey(desk.url, trader.token));
  plugin.close();
});

t.test('user list and user show tell what the gateway knows', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  t.match(JSON.stringify(cli(['user', 'list'])), trader.email);
  const shown = JSON.stringify(cli(['user', 'show', trader.email]));
  t.match(shown, trader.email);
  t.match(shown, 'Sim101', 'its terminals');
  t.notMatch(shown, 'argon2', 'no hash');
  plugin.close();
});

t.test('user delete: nothing of the user works any more', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  cli(['user', 'delete', trader.email]);
  t.equal((await post(trader)).status, 401);
  t.equal((await plugin.waitClosed()).code, 4503);
  t.equal((await logIn(trader.email, password)).body.code, 'invalid_credentials');
  cli(['user', 'add', trader.email, '--plan', 'business', '--password-stdin'], `${password}\n`);
  const again = await login(desk.url, trader.email);
  const { key } = await createKey(desk.url, again.token);
  const sources = await call(desk.url, 'GET', '/api/v1/terminal-events/sources', {
    headers: bearer(key),
  });
  t.same(sources.body, { sources: [] }, 'who comes after has nothing of who was before');
});
