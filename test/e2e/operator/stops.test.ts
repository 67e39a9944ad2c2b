/** Halt, freeze and revocation from outside: what waits is denied, nothing leaves, the rest goes on. */
import t from 'tap';
import { bearer, call, createKey, json, signal, submit, verdict } from '../../support/api.js';
import { startTestGateway, type TestUser } from '../../support/gateway.js';

const gateway = await startTestGateway(t, { users: 8 });

const post = (user: TestUser) => submit(gateway.url, user.key, signal());
const ops = async (path: string) => (await fetch(gateway.process.opsUrl + path)).text();
const cli = async (...args: string[]) => JSON.parse(await gateway.command(...args, '--json'));

/** A user with an order at its terminal, and one that waits for the terminal, which is gone. */
async function trader() {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const sent = await gateway.order(user, plugin);
  plugin.send({ type: 'ack', executionId: sent.executionId });
  plugin.send({ type: 'report', seq: 1, executionId: sent.executionId, status: 'working' });
  await plugin.next('ack');
  plugin.close();
  await plugin.waitClosed();
  const waiting = await gateway.submit(user);
  return { user, sent, waiting };
}

t.test('halt: signals are refused, what waits is denied, cancels and reads go on', async (t) => {
  const { user, sent, waiting } = await trader();
  const halted = await cli('halt', '--reason', 'prices are wrong');
  t.match(halted, { halted: true, reason: 'prices are wrong', since: /^20.*Z$/ });
  t.match(await gateway.execution(user, waiting), {
    status: 'denied',
    reasonCode: 'trading_halted',
    delivery: 'not_sent',
  });
  t.equal(verdict(await post(user)), '403 trading_halted');
  t.equal(await ops('/readyz'), `ready, trading halted since ${halted.since}: prices are wrong`);
  t.match(await ops('/metrics'), /^signalbox_trading_halted 1$/m);
  t.strictSame(await cli('halt'), halted, 'again without a reason: the first one stays');
  t.match(gateway.process.log(), /"event":"halted","reason":"prices are wrong"/);

  await gateway.restart('SIGKILL');
  t.equal(verdict(await post(user)), '403 trading_halted', 'also after a restart');
  const plugin = await gateway.plugin(user);
  t.equal((await gateway.cancel(user, sent.orderRef)).status, 202);
  await plugin.next('cancel');
  t.notOk(plugin.frames.some(({ type }) => type === 'submit'));

  t.strictSame(await cli('resume'), { halted: false, reason: null, since: null });
  t.equal(await ops('/readyz'), 'ready');
  t.match(gateway.process.log(), /"event":"resumed"/);
  await gateway.order(user, plugin);
  const others = plugin.frames.filter(({ type }) => type === 'submit');
  t.strictSame(others, [], 'what was denied stays so');
  plugin.close();
});

t.test('user set --frozen: what waits is denied, of this user alone', async (t) => {
  const [one, other] = [await trader(), await trader()];
  await cli('user', 'set', one.user.email, '--frozen', 'true');
  t.match(await gateway.execution(one.user, one.waiting), { reasonCode: 'account_frozen' });
  t.match(await gateway.execution(other.user, other.waiting), { status: 'queued' });
  await cli('user', 'set', one.user.email, '--frozen', 'false');
  t.match(await gateway.execution(one.user, one.waiting), { status: 'denied' });
});

t.test('a revoked key: what it submitted and waits is denied, by API and by command', async (t) => {
  const { user, sent, waiting } = await trader();
  const made = await call(gateway.url, 'POST', '/api/api-keys', {
    headers: { ...json, ...bearer(user.token) },
    body: JSON.stringify({ name: 'second', scopes: ['signals:read', 'signals:write'] }),
  });
  const second: TestUser = { ...user, key: made.body.key, keyId: made.body.id };
  const third = await gateway.submit(second);
  const gone = await call(gateway.url, 'DELETE', `/api/api-keys/${user.keyId}`, {
    headers: bearer(user.token),
  });
  t.equal(gone.status, 204);
  t.match(await gateway.execution(second, waiting), {
    status: 'denied',
    reasonCode: 'key_revoked',
  });
  t.match(await gateway.execution(second, third), { status: 'queued' });
  await cli('key', 'revoke', String(second.keyId));
  const reader = await createKey(gateway.url, user.token);
  t.match(await gateway.execution({ ...user, ...reader }, third), {
    status: 'denied',
    reasonCode: 'key_revoked',
  });
  const plugin = await gateway.plugin(user);
  plugin.send({ type: 'report', seq: 2, executionId: sent.executionId, status: 'working' });
  await plugin.next('ack');
  t.notOk(plugin.frames.some(({ type }) => type === 'submit'));
  plugin.close();
});

t.test(
  'without a gateway: a halt that is over before the start has ended what waited',
  async (t) => {
    const { user, waiting } = await trader();
    await gateway.process.kill();
    await cli('halt');
    await cli('resume');
    await gateway.start();
    t.match(await gateway.execution(user, waiting), {
      status: 'denied',
      reasonCode: 'trading_halted',
    });
  },
);
