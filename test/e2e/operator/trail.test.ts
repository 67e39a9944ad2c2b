/** From an answer, a key, a connection or a command to its line in the log of a real gateway. */
import t from 'tap';
import { bearer, call, codeOf, get, post, signal, submit } from '../../support/api.js';
import { eventually } from '../../support/eventually.js';
import { startTestGateway, type TestUser } from '../../support/gateway.js';
import { connectPlugin } from '../../support/plugin.js';

type Fields = Readonly<Record<string, unknown>>;
const clientAddress = '127.0.0.1';
/** Fields of every refusal's line, beside its route, and the user and key if they are known. */
const commonFields = 'level,time,event,traceId,status,code,clientAddress,msg'.split(',');

t.test('what happened is found in the log', async (t) => {
  const gateway = await startTestGateway(t, { users: 3 });
  const { url } = gateway;

  function linesWith(fields: Fields): any[] {
    return gateway.process
      .log()
      .split('\n')
      .slice(0, -1)
      .map((text) => JSON.parse(text))
      .filter((line) => Object.entries(fields).every(([name, value]) => line[name] === value));
  }
  /** The only line with these fields. */
  async function lineWith(fields: Fields): Promise<any> {
    const lines = await eventually(() => {
      const found = linesWith(fields);
      return found.length > 0 && found;
    });
    t.equal(lines.length, 1, JSON.stringify(fields));
    return lines[0];
  }
  const user = await gateway.user();

  t.test('login and a new key have a line with the user, the key and the address', async (t) => {
    const made = await lineWith({ event: 'key_made', keyId: user.keyId });
    t.match(made, { by: 'user', clientAddress, traceId: /^[0-9a-f]{32}$/ });
    t.equal(linesWith({ event: 'login', userId: made.userId, clientAddress }).length, 1);
  });

  t.test('the trace id of every refusal leads to its line', async (t) => {
    const { userId } = await lineWith({ event: 'key_made', keyId: user.keyId });
    const known = { userId, keyId: user.keyId };
    const rows = [
      {
        ask: () => submit(url, user.key, signal({ v: 2 })),
        route: 'POST /api/v1/signals',
        ...known,
      },
      { ask: () => submit(url, 'svc_api_wrong', signal()), route: 'POST /api/v1/signals' },
      {
        ask: () => get(url, '/api/v1/signals/nothing', user.key),
        route: 'GET /api/v1/signals/:requestId',
        ...known,
      },
      { ask: () => get(url, '/api/v1/nothing', user.key), route: 'none' },
      { ask: () => get(url, '/plugin/v1'), route: 'none' },
      {
        ask: () => post(url, '/api/api-keys', { name: '' }, user.token),
        route: 'POST /api/api-keys',
        userId,
      },
      {
        ask: () => post(url, '/api/auth/login', { email: user.email, password: 'wrong password' }),
        route: 'POST /api/auth/login',
        userId,
      },
      { ask: () => post(url, '/api/auth/login', '{'), route: 'POST /api/auth/login' },
    ];
    for (const { ask, ...expected } of rows) {
      const answer = await ask();
      const traceId = answer.headers.get('x-trace-id');
      const line = await lineWith({ event: 'refused', traceId });
      t.same(Object.keys(line).sort(), [...commonFields, ...Object.keys(expected)].sort());
      t.match(line, {
        event: 'refused',
        traceId,
        status: answer.status,
        code: codeOf(answer),
        clientAddress,
        ...expected,
      });
    }
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await call(url, 'GET', '/nothing', { headers: { traceparent } });
    await lineWith({ event: 'refused', traceId: traceparent.slice(3, 35), code: 'not_found' });
  });

  t.test('an upgrade that is refused, a plugin that connects, and why it was closed', async (t) => {
    await connectPlugin(url, 'sbs_wrong').catch(() => undefined);
    await lineWith({
      event: 'refused',
      route: 'GET /plugin/v1',
      code: 'invalid_session',
      status: 401,
    });
    const plugin = await gateway.plugin(user);
    const { userId } = await lineWith({ event: 'key_made', keyId: user.keyId });
    const { connectionId, source, ...connected } = await lineWith({ event: 'plugin_connected' });
    t.match(connected, { userId, clientAddress, traceId: /^[0-9a-f]{32}$/ });
    t.match(source, { platform: 'terminal_a', instanceId: String, accountName: String });
    await gateway.command('session', 'revoke', user.email);
    await plugin.waitClosed();
    const closed = await lineWith({ event: 'plugin_closed', connectionId });
    t.match(closed, { userId, source, reason: 'session_revoked' });
    await lineWith({ event: 'session_revoked', userId, by: 'operator' });
  });

  t.test('keys that are revoked, by whom, and what the operator did', async (t) => {
    const other: TestUser = await gateway.user();
    await call(url, 'DELETE', `/api/api-keys/${other.keyId}`, { headers: bearer(other.token) });
    t.match(await lineWith({ event: 'key_revoked', keyId: other.keyId }), {
      by: 'user',
      clientAddress,
    });
    await gateway.command('key', 'revoke', String(user.keyId));
    t.match(await lineWith({ event: 'key_revoked', keyId: user.keyId }), { by: 'operator' });
    t.match(await lineWith({ event: 'command', operation: 'key.revoke' }), {
      request: { id: user.keyId },
      outcome: 'done',
    });
    await gateway.commandWithInput(
      'a new password\n',
      'user',
      'set',
      user.email,
      '--password-stdin',
    );
    const { request } = await lineWith({ event: 'command', operation: 'user.set' });
    t.same(request, { email: user.email }, 'and never a password or its hash');
    await t.rejects(gateway.command('user', 'show', 'nobody@example.com'));
    await lineWith({ event: 'command', operation: 'user.show', outcome: 'user_not_found' });
  });

  t.test('an accepted signal, a read and a stream write no line', async (t) => {
    const quiet = await gateway.user();
    const { userId } = await lineWith({ event: 'key_made', keyId: quiet.keyId });
    // A slow disk has lines of its own.
    const eventLines = () => linesWith({}).filter(({ event }) => event !== undefined).length;
    const before = eventLines();
    const requestId = await gateway.submit(quiet);
    await gateway.read(quiet, requestId);
    await get(url, '/api/v1/terminal-events/sources', quiet.key);
    await submit(url, quiet.key, '{');
    await lineWith({ event: 'refused', userId, code: 'malformed_json' });
    t.equal(eventLines(), before + 1);
  });

  t.test(
    'every refusal of a flood is written or counted, also when the gateway ends',
    async (t) => {
      const told = (): number => {
        const omitted: { lines: number }[] = linesWith({ event: 'omitted', of: 'refused' });
        return (
          linesWith({ event: 'refused' }).length + omitted.reduce((n, { lines }) => n + lines, 0)
        );
      };
      const flood = () => Promise.all(Array.from({ length: 300 }, () => get(url, '/api/v1/flood')));
      const before = told();
      await flood();
      await eventually(() => told() === before + 300);
      const metrics = await (await fetch(`${gateway.process.opsUrl}/metrics`)).text();
      t.match(metrics, /^signalbox_refusals_total\{code="not_found"\} [3-9]\d\d$/m);
      await flood();
      t.equal(await gateway.process.stop(), 0);
      await eventually(() => told() === before + 600);
    },
  );
});
