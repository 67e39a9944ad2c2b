/** On a disk that does not answer, every endpoint answers with what it knows, and recovers with the disk. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import {
  bearer,
  call,
  get,
  json,
  post,
  signal,
  submitOnce,
  verdict,
  type Answer,
} from '../support/api.js';
import { blockablePool, blockPool, unblockPool } from '../support/blocked-pool.js';
import { eventually, until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { password } from '../support/gateway-process.js';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-pipe-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const pipe = join(folder, 'pipe');
const gateway = await startTestGateway(t, { environment: blockablePool(pipe) });
const { url } = gateway;
const { user, plugin, order } = await gateway.resting();
const spare = await post(
  url,
  '/api/api-keys',
  { name: 'spare', scopes: ['signals:read'] },
  user.token,
);

const lateSignal = JSON.stringify(signal());
const login = () => post(url, '/api/auth/login', { email: user.email, password });
const createKey = () =>
  post(url, '/api/api-keys', { name: 'late', scopes: ['signals:read'] }, user.token);
const cancelAll = (idempotencyKey: string) =>
  call(url, 'POST', '/api/v1/orders/cancel-all', {
    headers: { ...bearer(user.key), 'idempotency-key': idempotencyKey },
  });
const revokeKey = () =>
  call(url, 'DELETE', `/api/api-keys/${spare.body.id}`, { headers: bearer(user.token) });
const armSwitch = () =>
  call(url, 'PUT', '/api/v1/cancel-after', {
    headers: { ...json, ...bearer(user.key) },
    body: '{"timeoutMs":600000}',
  });
const changes: Record<string, () => Promise<Answer>> = {
  'submit-signal': () => submitOnce(url, user.key, lateSignal, 'late'),
  'cancel-order': () => gateway.cancel(user, order.orderRef, 'late cancel'),
  'cancel-all': () => cancelAll('late cancel-all'),
  'set-cancel-after': armSwitch,
  login,
  'create-key': createKey,
  'revoke-key': revokeKey,
};

async function verdicts(
  ask: (change: () => Promise<Answer>) => Promise<Answer>,
): Promise<Record<string, string>> {
  const answers = await Promise.all(
    Object.entries(changes).map(async ([name, change]) => [name, verdict(await ask(change))]),
  );
  return Object.fromEntries(answers) as Record<string, string>;
}

/** Repeats the change: a gateway that was paused counts the commit's time anew, and answers 500 meanwhile. */
function onceItHangs(change: () => Promise<Answer>): Promise<Answer> {
  return until(change, ({ status }) => status !== 500);
}

/** @returns the keyId of each log line with this event. */
function keysTold(event: string): unknown[] {
  const lines = gateway.process.log().split('\n').slice(0, -1);
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return told.filter((each) => each['event'] === event).map(({ keyId }) => keyId);
}

async function readiness(): Promise<string> {
  const answer = await fetch(`${gateway.process.opsUrl}/readyz`);
  return `${answer.status} ${await answer.text()}`;
}

t.test('what waits for a commit that hangs is answered: its outcome is unknown', async (t) => {
  t.equal(await readiness(), '200 ready');
  await blockPool(gateway.process.process, pipe);
  t.strictSame(await verdicts((change) => change()), {
    'submit-signal': '500 signal_processing_failed',
    'cancel-order': '500 signal_processing_failed',
    'cancel-all': '500 signal_processing_failed',
    'set-cancel-after': '500 signal_processing_failed',
    login: '503 storage_unavailable',
    'create-key': '500 change_not_confirmed',
    'revoke-key': '500 change_not_confirmed',
  });
});

t.test('readiness, metric and log say so', async (t) => {
  await until(readiness, (answer) => answer === '503 a commit hangs');
  const { text } = await until(
    () => get(gateway.process.opsUrl, '/metrics'),
    ({ text }) => /^signalbox_ready 0$/m.test(text),
  );
  const [, age = ''] = /^signalbox_commit_age_seconds (.*)$/m.exec(text) ?? [];
  t.ok(Number(age) > 2, age);
  await eventually(() => gateway.process.log().includes('"a commit hangs'));
});

t.test('what comes after is refused at once, and known not to have happened', async (t) => {
  let asked = 0;
  const fresh = [() => submitOnce(url, user.key, signal()), () => cancelAll(`fresh ${++asked}`)];
  for (const change of fresh) {
    const answer = await onceItHangs(change);
    t.equal(verdict(answer), '503 storage_unavailable');
    t.equal(answer.headers.get('retry-after'), '1');
  }
  t.strictSame(await verdicts(onceItHangs), {
    'submit-signal': '409 request_in_progress',
    'cancel-order': '409 request_in_progress',
    'cancel-all': '409 request_in_progress',
    'set-cancel-after': '503 storage_unavailable',
    login: '503 storage_unavailable',
    'create-key': '503 storage_unavailable',
    'revoke-key': '503 storage_unavailable',
  });
  t.equal((await gateway.read(user, order.requestId)).status, 'accepted', 'reads go on');
  t.equal(
    (await call(url, 'GET', '/api/api-keys', { headers: { ...json, ...bearer(user.token) } }))
      .status,
    200,
  );
});

t.test('when the disk answers again, everything goes on without a restart', async (t) => {
  unblockPool(pipe);
  await eventually(async () => (await readiness()) === '200 ready');
  await eventually(() => gateway.process.log().includes('the commit that hung has ended'));
  const replayed = await submitOnce(url, user.key, lateSignal, 'late');
  t.equal(replayed.status, 202, 'the signal was accepted after all');
  t.equal(replayed.headers.get('idempotent-replayed'), 'true');
  await plugin.next('submit', { requestId: replayed.body.requestId });
  await plugin.next('cancel', { executionId: order.executionId });
  // The revocation took effect; the key whose secret was never delivered is revoked as well.
  await eventually(async () => {
    const { body } = await get(url, '/api/api-keys', user.token);
    return body.map(({ name }: { name: string }) => name).join() === 'test';
  });
  const lateKey = keysTold('key_made').at(-1);
  await eventually(() => keysTold('key_revoked').length === 2);
  t.same(new Set(keysTold('key_revoked')), new Set([spare.body.id, lateKey]));
  t.equal((await createKey()).status, 201);
  t.equal((await login()).status, 200);
  t.equal((await submitOnce(url, user.key, signal())).status, 202);
});
