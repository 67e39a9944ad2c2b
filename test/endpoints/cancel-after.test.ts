/** PUT and GET /api/v1/cancel-after: the answers, the errors in order, and the switch across a crash. */
import { dirname, join } from 'node:path';
import t from 'tap';
import { bearer, call, createKey, json, verdict } from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const path = '/api/v1/cancel-after';

function set({ key }: { key: string }, body: unknown, headers: Record<string, string> = json) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return call(gateway.url, 'PUT', path, { headers: { ...bearer(key), ...headers }, body: text });
}

function read({ key }: { key: string }) {
  return call(gateway.url, 'GET', path, { headers: bearer(key) });
}

const disarmed = { armed: false, timeoutMs: 0, firesAt: null, lastFiredAt: null };

t.test('the switch is shown as it is set, to its own key alone', async (t) => {
  const user = await gateway.user();
  t.same((await read(user)).body, disarmed, 'before the first call');
  const answer = await set(user, { timeoutMs: 600_000 });
  t.match(answer, {
    status: 200,
    body: { armed: true, timeoutMs: 600_000, firesAt: String, lastFiredAt: null },
  });
  t.equal((await read(user)).text, answer.text);
  const other = await createKey(gateway.url, user.token);
  t.same((await read(other)).body, disarmed);
  t.same((await set(user, { timeoutMs: 0 })).body, disarmed);
  t.same((await read(user)).body, disarmed);
});

t.test('the checks come in the contract’s order', async (t) => {
  const user = await gateway.user();
  const text = { 'content-type': 'text/plain' };
  t.equal(verdict(await set(user, 'x'.repeat(70_000), text)), '415 unsupported_media_type');
  t.equal(verdict(await set(user, 'x'.repeat(70_000))), '413 request_body_too_large');
  t.equal(verdict(await set(user, '{')), '400 malformed_json');
  for (const body of [
    {},
    [],
    null,
    { timeoutMs: 4_999 },
    { timeoutMs: 600_001 },
    { timeoutMs: -0.5 },
    { timeoutMs: '5000' },
    { timeoutMs: null },
    { timeoutMs: 5_000, timeout: 1 },
  ]) {
    t.equal(verdict(await set(user, body)), '422 invalid_timeout', JSON.stringify(body));
  }
  t.same((await read(user)).body, disarmed);
  const { key } = await createKey(gateway.url, user.token, { scopes: ['signals:read'] });
  t.equal(verdict(await set({ key }, { timeoutMs: 0 })), '403 insufficient_scope');
});

t.test('one that would be lost with a move of its user is not armed', async (t) => {
  const user = await gateway.user();
  const armed = await set(user, { timeoutMs: 600_000 });
  const file = join(dirname(gateway.dataDir), 'moved.jsonl');
  await gateway.command('user', 'export', user.email, file, '--freeze');
  const refused = await set(user, { timeoutMs: 500_000 });
  t.equal(verdict(refused), '503 shutting_down');
  t.equal(refused.headers.get('retry-after'), '1');
  t.equal(refused.headers.get('connection'), 'close', 'a retry reaches the other gateway');
  t.equal((await read(user)).text, armed.text, 'and changes nothing');
  await gateway.command('user', 'set', user.email, '--frozen', 'false');
  t.match(await set(user, { timeoutMs: 500_000 }), { status: 200, body: { timeoutMs: 500_000 } });
});

t.test('it fires over a crash, for a key that was revoked meanwhile', async (t) => {
  const { user, order } = await gateway.resting();
  t.equal((await set(user, { timeoutMs: 5_000 })).status, 200);
  const { key } = await createKey(gateway.url, user.token);
  await call(gateway.url, 'DELETE', `/api/api-keys/${user.keyId}`, { headers: bearer(user.token) });
  await gateway.restart('SIGKILL');
  const again = await gateway.plugin(user);
  const { cancelRequestId } = await again.next('cancel');
  again.send({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
  const execution = await until(
    () => gateway.execution({ ...user, key }, order.requestId),
    ({ status }) => status === 'cancelled',
  );
  t.match(execution, { reasonCode: 'cancel_after_expired' });
});
