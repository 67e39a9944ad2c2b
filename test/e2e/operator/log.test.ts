/** What a gateway writes: one line on standard output, and a log without secrets on standard error. */
import t from 'tap';
import { bearer, call, createKey, json, signal, submit } from '../../support/api.js';
import { openDesk, report, tell } from '../../support/desk.js';
import { openReader } from '../../support/event-reader.js';
import { password, signalboxCli, startGateway } from '../../support/gateway-process.js';
import { connectPlugin } from '../../support/plugin.js';

const jwtSecret = 'a secret for user tokens that only this test knows';

t.test('no secret reaches the log, whatever is sent and however it fails', async (t) => {
  const desk = await openDesk(t, { traders: 2 });
  await desk.gateway.stop();
  const gateway = await startGateway({
    dataDir: desk.dataDir,
    config: desk.config,
    flags: ['--log-level', 'trace'],
    environment: { SIGNALBOX_JWT_SECRET: jwtSecret },
  });
  desk.gateway = gateway;
  let stdout = '';
  gateway.process.stdout?.on('data', (text) => (stdout += String(text)));

  const trader = await desk.trader();
  const { key: second } = await createKey(desk.url, trader.token);
  const secrets = [trader.key, second, trader.token, trader.sessionToken, password, jwtSecret];

  const plugin = await desk.plugin(trader);
  const reader = await openReader(desk.url, trader.key);
  const order = await desk.order(trader, plugin);
  await tell(plugin, report(1, order.executionId, 'filled'));
  for (const token of secrets) {
    await call(desk.url, 'GET', '/api/v1/terminal-events/sources', { headers: bearer(token) });
    await call(desk.url, 'GET', `/api/v1/signals/${encodeURIComponent(token)}`, {
      headers: bearer(trader.key),
    });
    await connectPlugin(desk.url, token).then(
      (opened) => opened.cut(),
      () => undefined,
    );
    plugin.send({ type: 'event', seq: 10, event: 'terminal_message', rawText: token });
  }
  for (const body of ['{', JSON.stringify({ email: trader.email, password }), '[]']) {
    await call(desk.url, 'POST', '/api/auth/login', { headers: json, body });
  }
  await submit(desk.url, trader.key, `{"broken":"${trader.key}`);
  await submit(desk.url, trader.key, signal({ v: 2, signalId: trader.sessionToken }));
  plugin.send(`{"token":"${trader.sessionToken}"`);
  plugin.send({ type: 'hello', token: trader.sessionToken });
  plugin.send('Bearer');
  await plugin.waitClosed();
  signalboxCli(desk.dataDir, ['session', 'revoke', trader.email]);
  signalboxCli(desk.dataDir, ['user', 'delete', trader.email]);
  await reader.waitEnd();
  t.equal(await gateway.stop(), 0);

  const log = gateway.log();
  t.match(log, '"msg":"serving"');
  for (const line of log.trim().split('\n')) t.doesNotThrow(() => JSON.parse(line) as unknown);
  for (const secret of secrets) {
    t.notOk(log.includes(secret), `${secret.slice(0, 4)}… is not in the log`);
  }
  t.notMatch(log, /"level":"(?:error|fatal)"/, 'and nothing of this was an error of the gateway');
  t.equal(stdout, '', 'after the ready line standard output is silent');
});
