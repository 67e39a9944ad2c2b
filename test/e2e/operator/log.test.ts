/** What a gateway writes: one line on standard output, and a log without secrets on standard error. */
import t from 'tap';
import { bearer, call, createKey, json, signal, submit } from '../../support/api.js';
import { report, tell } from '../../support/frames.js';
import { startTestGateway } from '../../support/gateway.js';
import { openReader } from '../../support/event-reader.js';
import { password } from '../../support/gateway-process.js';
import { connectPlugin } from '../../support/plugin.js';
import { readVersion } from '../../../src/version.js';

const jwtSecret = 'a secret for user tokens that only this test knows';

t.test('no secret reaches the log, whatever is sent and however it fails', async (t) => {
  const gateway = await startTestGateway(t, {
    flags: ['--log-level', 'trace'],
    environment: { SIGNALBOX_JWT_SECRET: jwtSecret },
  });
  let stdout = '';
  gateway.process.process.stdout?.on('data', (text) => (stdout += String(text)));

  const user = await gateway.user();
  const { key: second } = await createKey(gateway.url, user.token);
  const secrets = [user.key, second, user.token, user.sessionToken, password, jwtSecret];

  const plugin = await gateway.plugin(user);
  const reader = await openReader(gateway.url, user.key);
  const order = await gateway.order(user, plugin);
  await tell(plugin, report(1, order.executionId, 'filled'));
  for (const token of secrets) {
    await call(gateway.url, 'GET', '/api/v1/terminal-events/sources', { headers: bearer(token) });
    await call(gateway.url, 'GET', `/api/v1/signals/${encodeURIComponent(token)}`, {
      headers: bearer(user.key),
    });
    await connectPlugin(gateway.url, token).then(
      (opened) => opened.cut(),
      () => undefined,
    );
    plugin.send({ type: 'event', seq: 10, event: 'terminal_message', rawText: token });
  }
  for (const body of ['{', JSON.stringify({ email: user.email, password }), '[]']) {
    await call(gateway.url, 'POST', '/api/auth/login', { headers: json, body });
  }
  await submit(gateway.url, user.key, `{"broken":"${user.key}`);
  await submit(gateway.url, user.key, signal({ v: 2, signalId: user.sessionToken }));
  plugin.send(`{"token":"${user.sessionToken}"`);
  plugin.send({ type: 'hello', token: user.sessionToken });
  plugin.send('Bearer');
  await plugin.waitClosed();
  await gateway.command('session', 'revoke', user.email);
  await gateway.command('user', 'delete', user.email);
  await reader.waitEnd();
  t.equal(await gateway.process.stop(), 0);

  const log = gateway.process.log();
  const [serving = ''] = /^.*"msg":"serving".*$/m.exec(log) ?? [];
  t.match(serving, `"version":"${readVersion()}"`, 'an operator sees which version serves');
  for (const line of log.trim().split('\n')) t.doesNotThrow(() => JSON.parse(line) as unknown);
  for (const secret of secrets) {
    t.notOk(log.includes(secret), `${secret.slice(0, 4)}… is not in the log`);
  }
  t.notMatch(log, /"level":"(?:error|fatal)"/, 'and nothing of this was an error of the gateway');
  t.equal(stdout, '', 'after the ready line standard output is silent');
});
