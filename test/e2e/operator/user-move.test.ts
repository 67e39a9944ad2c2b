/** A user moves between two real gateways with all that belongs to it, whatever state that is in. */
import { signalboxIn, runInProcess } from '../../support/in-process.js';
import { statSync } from 'node:fs';
import t, { type Test } from 'tap';
import {
  type Answer,
  bearer,
  call,
  createKey,
  json,
  login,
  signal,
  status,
  submit,
  verdict,
} from '../../support/api.js';
import { report, tell } from '../../support/frames.js';
import { startTestGateway, type TestGateway, type TestUser } from '../../support/gateway.js';
import { eventually } from '../../support/eventually.js';
import { startGateway, type GatewayProcess } from '../../support/gateway-process.js';
import { connectPlugin, openPlugin, type Plugin } from '../../support/plugin.js';
import { dayOfAtLeast } from '../../support/utc-day.js';

const signalsPerDay = 9;
const limits = {
  loginAttemptsPerMinute: 10_000,
  unauthenticatedAttemptsPerMinute: 10_000,
  /** Longer than a move takes on a busy machine. */
  executionConfirmTimeoutMs: 600_000,
  cancelConfirmTimeoutMs: 600_000,
};
/** TTL of the signals, as long for the same reason. */
const ttlMs = 300_000;
const plans = { business: { publicApi: true, signalsPerMinute: 6_000, signalsPerDay } };
const gateway = await startTestGateway(t, { users: 6, limits, config: { plans } });

let targets = 0;

/** @returns the path of a data directory for another gateway, which has no user. */
function aTarget(): string {
  return `${gateway.dataDir}-target-${++targets}`;
}

async function startTarget(t: Test, dataDir: string, changed = {}): Promise<GatewayProcess> {
  const config = { limits: { ...limits, ...changed }, plans };
  const gateway = await startGateway({ dataDir, config });
  t.teardown(() => gateway.kill());
  return gateway;
}

async function operate(dataDir: string, ...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await signalboxIn(dataDir, [...args, '--json']);
  if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A user that will move, with one order in each state that a move could spoil. */
interface Life {
  readonly user: TestUser;
  readonly plugin: Plugin;
  readonly requestIds: Readonly<
    Record<'filled' | 'working' | 'sent' | 'cancelling' | 'queued', string>
  >;
  readonly frames: Readonly<Record<'working' | 'sent' | 'cancelling', Record<string, any>>>;
  readonly cancelRequestId: string;
  /** The body and the 202 of a signal whose Idempotency-Key is `kept`. */
  readonly kept: { readonly body: string; readonly answer: Answer };
}

const idle = { instanceId: 'desk-2' };

async function live(gateway: TestGateway): Promise<Life> {
  const user = await gateway.user();
  const away = await gateway.plugin(user, idle);
  const plugin = await gateway.plugin(user);
  away.close();
  await away.waitClosed();
  const here = { instanceId: 'desk-1', ttlMs };
  const body = JSON.stringify(signal(here));
  const answer = await submit(gateway.url, user.key, body, 'kept');
  const filled = await plugin.next('submit', { requestId: answer.body.requestId });
  const fill = { fillId: 'f1', price: 100.5, quantity: 1, filledAt: '2026-01-15T12:00:00.000Z' };
  await tell(plugin, report(1, filled['executionId'], 'filled', { filledQuantity: 1, fill }));
  const working = await gateway.order(user, plugin, here);
  await tell(plugin, report(2, working.executionId, 'working'));
  const cancelling = await gateway.order(user, plugin, here);
  await tell(plugin, report(3, cancelling.executionId, 'working'));
  const cancel = await gateway.cancel(user, cancelling.orderRef);
  await plugin.next('cancel');
  const sent = await gateway.order(user, plugin, here);
  const queued = await gateway.submit(user, { ...idle, ttlMs });
  await gateway.becomes(user, sent.requestId, 'dispatched');
  return {
    user,
    plugin,
    requestIds: {
      filled: answer.body.requestId,
      working: working.requestId,
      sent: sent.requestId,
      cancelling: cancelling.requestId,
      queued,
    },
    frames: { working: working.frame, sent: sent.frame, cancelling: cancelling.frame },
    cancelRequestId: cancel.body.cancelRequestId,
    kept: { body, answer },
  };
}

async function readAll(url: string, { user, requestIds }: Life): Promise<string[]> {
  const answers = await Promise.all(
    Object.values(requestIds).map((requestId) => status(url, user.key, requestId)),
  );
  return answers.map(({ text }) => text);
}

/** @returns the file. */
async function exportFrozen(email: string): Promise<string> {
  const file = `${gateway.dataDir}-${email}.jsonl`;
  await operate(gateway.dataDir, 'user', 'export', email, file, '--freeze');
  return file;
}

t.test('a user moves whole to a gateway that runs', async (t) => {
  await dayOfAtLeast(60_000);
  const life = await live(gateway);
  const { user, plugin, requestIds, frames, kept } = life;
  const { email, key } = user;
  const revoked = await createKey(gateway.url, user.token);
  await operate(gateway.dataDir, 'key', 'revoke', `${revoked.id}`);
  const reader = await createKey(gateway.url, user.token, { scopes: ['signals:read'] });
  const dataDir = aTarget();
  const target = await startTarget(t, dataDir);

  const file = await exportFrozen(email);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await plugin.waitClosed(), { code: 4001 }, 'terminals are told to come back later');
  await t.rejects(connectPlugin(gateway.url, user.sessionToken), /503/);
  t.equal(verdict(await submit(gateway.url, key, signal())), '403 account_frozen');
  const loggedIn = await call(gateway.url, 'POST', '/api/auth/login', {
    headers: json,
    body: JSON.stringify({ email, password: 'correct horse' }),
  });
  t.equal(verdict(loggedIn), '403 email_not_confirmed');
  await t.rejects(createKey(gateway.url, user.token), /401/, 'no key is made to be left behind');
  const before = await readAll(gateway.url, life);

  await operate(dataDir, 'user', 'import', file);
  t.same(await readAll(target.url, life), before, 'every status is the same, byte for byte');
  const replay = await submit(target.url, key, kept.body, 'kept');
  t.equal(replay.text, kept.answer.text);
  t.equal(replay.headers.get('idempotent-replayed'), 'true');
  t.equal(verdict(await submit(target.url, key, signal(), 'kept')), '409 idempotency_conflict');
  t.equal(verdict(await submit(target.url, key, kept.body)), '409 duplicate_signal_id');
  t.equal(verdict(await status(target.url, revoked.key, requestIds.filled)), '401 invalid_api_key');
  t.equal((await status(target.url, reader.key, requestIds.filled)).status, 200);
  t.match(verdict(await submit(target.url, reader.key, signal())), /^403 /, 'scopes are kept');

  const back = await connectPlugin(target.url, user.sessionToken);
  back.send({
    type: 'hello',
    platform: 'terminal_a',
    instanceId: 'desk-1',
    accountName: 'Sim101',
    capabilities: ['submit', 'cancel'],
    executions: [],
  });
  t.equal((await back.next('welcome'))['lastSeq'], 3, 'what it said is known');
  const { executionId } = frames.sent;
  const again = await back.next('submit', { executionId });
  t.same(again, frames.sent, 'what was not acknowledged is sent again, the same');
  t.match(await back.next('cancel'), { cancelRequestId: life.cancelRequestId });
  await tell(back, report(4, frames.working['executionId'], 'filled'));
  await tell(back, report(5, executionId, 'rejected', { reasonCode: 'market_closed' }));
  const ended = (await readAll(target.url, life)).map((text) => JSON.parse(text).executions[0]);
  t.same(
    ended.map((execution) => execution.status),
    ['filled', 'filled', 'rejected', 'working', 'queued'],
  );
  t.same(ended[0].fills.length, 1);
  const idlePlugin = await openPlugin(target.url, user.sessionToken, idle);
  t.match(await idlePlugin.next('submit'), { requestId: requestIds.queued });

  // Five signals were accepted on the old gateway today, and the limit is nine.
  for (let i = 5; i < signalsPerDay; i++) {
    t.equal((await submit(target.url, key, signal())).status, 202);
  }
  t.equal(
    verdict(await submit(target.url, key, signal())),
    '429 daily_signal_limit_exceeded',
    'the day’s count has moved too',
  );
  const { token } = await login(target.url, email);
  const keys = await call(target.url, 'GET', '/api/api-keys', { headers: bearer(token) });
  t.equal(keys.body.length ?? keys.body.keys?.length, 2, keys.text);

  await operate(gateway.dataDir, 'user', 'delete', email);
  t.equal(verdict(await status(gateway.url, key, requestIds.filled)), '401 invalid_api_key');
  await t.rejects(connectPlugin(gateway.url, user.sessionToken), /401/);
  const [store] = (
    await operate(dataDir, 'doctor', '--port', '0', '--ops-port', '0')
  ).findings.filter(({ check }: { check: string }) => check === 'store');
  t.match(store, { level: 'ok' });
});

for (const isRunning of [true, false]) {
  const where = isRunning ? 'that runs' : 'that is started later';
  t.test(`on a gateway ${where}, what nobody reports on ends as after a restart`, async (t) => {
    const life = await live(gateway);
    const { user, requestIds } = life;
    const dataDir = aTarget();
    if (!isRunning) await operate(dataDir, 'user', 'import', await exportFrozen(user.email));
    const target = await startTarget(t, dataDir, { executionConfirmTimeoutMs: 1_000 });
    if (isRunning) await operate(dataDir, 'user', 'import', await exportFrozen(user.email));
    const executionOf = async (requestId: string): Promise<any> =>
      (await status(target.url, user.key, requestId)).body.executions[0];
    await eventually(async () => (await executionOf(requestIds.sent)).status === 'unknown');
    t.match(await executionOf(requestIds.sent), { delivery: 'sent' });
    t.match(await executionOf(requestIds.queued), { status: 'queued', delivery: 'not_sent' });
    t.match(await executionOf(requestIds.working), { status: 'working' });
    t.match(await executionOf(requestIds.filled), { status: 'filled' });
    const plugin = await openPlugin(target.url, user.sessionToken, idle);
    t.match(await plugin.next('submit'), { requestId: requestIds.queued }, 'never sent: sent now');
  });
}

t.test('a move that is taken back lets the user go on where it was', async (t) => {
  const life = await live(gateway);
  const { user, plugin } = life;
  await exportFrozen(user.email);
  await plugin.waitClosed();
  await operate(gateway.dataDir, 'user', 'set', user.email, '--frozen', 'false');
  const back = await openPlugin(gateway.url, user.sessionToken);
  await back.next('submit', { executionId: life.frames.sent['executionId'] });
  t.equal((await submit(gateway.url, user.key, signal())).status, 202);
  await login(gateway.url, user.email);
});

t.test('a user comes back to the gateway that it had left', async (t) => {
  const { user, requestIds, kept } = await live(gateway);
  const { email, key } = user;
  const dataDir = aTarget();
  const target = await startTarget(t, dataDir);
  await operate(dataDir, 'user', 'import', await exportFrozen(email));
  await operate(gateway.dataDir, 'user', 'delete', email);
  const file = `${dataDir}.jsonl`;
  await operate(dataDir, 'user', 'export', email, file, '--freeze');
  // The sweep removes the user's old rows; until then the import is refused with that reason.
  const isBack = async (): Promise<boolean> => {
    const { code, stderr } = await runInProcess([
      ...['user', 'import', file, '--data-dir', gateway.dataDir],
    ]);
    if (code !== 0) t.match(stderr, /some of its data is not removed yet/);
    return code === 0;
  };
  if (!(await isBack())) {
    // The next sweep is up to a minute away; a gateway's first one begins with its start.
    await gateway.restart('SIGTERM');
    await eventually(isBack);
  }
  t.equal((await status(gateway.url, key, requestIds.queued)).status, 200);
  t.equal((await submit(gateway.url, key, kept.body, 'kept')).text, kept.answer.text);
  const plugin = await openPlugin(gateway.url, user.sessionToken, idle);
  t.match(await plugin.next('submit'), { requestId: requestIds.queued });
  await operate(dataDir, 'user', 'delete', email);
  t.equal(verdict(await status(target.url, key, requestIds.queued)), '401 invalid_api_key');
});
