/** What a bot does with orval's client, whose functions do not end on a stream. Prints what it has seen. */
import * as api from './orval.gen.js';

const [, email = '', password = ''] = process.argv.slice(2);

function bearing(token: string): RequestInit {
  return { headers: { Authorization: `Bearer ${token}` } };
}

function failure({ status, data }: { status: number; data: unknown }): Error {
  return new Error(`${status} ${JSON.stringify(data)}`);
}

const session = await api.login({ email, password });
if (session.status !== 200) throw failure(session);
const user = bearing(session.data.token);
const key = await api.createKey(
  { name: 'orval', scopes: ['signals:write', 'signals:read', 'orders:cancel', 'events:read'] },
  user,
);
if (key.status !== 201) throw failure(key);
const keys = await api.listKeys(user);
if (keys.status !== 200) throw failure(keys);
const bot = bearing(key.data.key);

const list = await api.listSources(bot);
if (list.status !== 200) throw failure(list);
const [{ platform, instanceId, accountName } = { platform: '', instanceId: '', accountName: '' }] =
  list.data.sources;
const query = { platform, instanceId, accountName };

async function submit(payload: api.OrderSubmit): Promise<string> {
  const signalId = crypto.randomUUID();
  const signal: api.SignalEnvelope = {
    ...{ v: 1, signalId, ts: Date.now(), ttlMs: 30_000 },
    ...{ platform, type: 'order', cmd: 'submit', payload },
  };
  const accepted = await api.submitSignal(signal, { 'Idempotency-Key': signalId }, bot);
  if (accepted.status !== 202) throw failure(accepted);
  return accepted.data.requestId;
}

async function readUntil(requestId: string, wanted: api.KnownExecutionStatus) {
  for (let tries = 0; tries < 100; tries++) {
    const signal = await api.readSignal(requestId, { waitMs: 100 }, bot);
    if (signal.status !== 200) throw failure(signal);
    const [execution] = signal.data.executions;
    if (execution?.status === wanted) return execution;
  }
  throw new Error(`never ${wanted}`);
}

// @ts-expect-error a limit order has a price.
const unpriced: api.OrderSubmit = {
  ...{ instrument: 'ES', side: 'buy', quantity: 1 },
  executionType: 'limit',
};
const common = { instrument: 'ES', side: 'buy', quantity: 1 } as const;
const { filled: isFilled, working, cancelled: isCancelled } = api.KnownExecutionStatus;
const filled = await readUntil(await submit({ ...common, executionType: 'market' }), isFilled);
const resting = await submit({ ...common, executionType: 'limit', limitPrice: 1 });
const { orderRef } = await readUntil(resting, working);
const ids = { 'Idempotency-Key': crypto.randomUUID() };
const cancel = await api.cancelOrder(orderRef ?? '', ids, bot);
if (cancel.status !== 202) throw failure(cancel);
const cancelled = await readUntil(resting, isCancelled);
const snapshot = await api.readSnapshot(query, bot);
if (snapshot.status !== 200) throw failure(snapshot);
const none = await api.readSignal('none', {}, bot);
const revoked = await api.revokeKey(key.data.id, user);

console.log(
  JSON.stringify({
    hasKey: keys.data.some(({ id }) => id === key.data.id),
    filled: filled.filledQuantity,
    cancel: cancel.data.status,
    reason: cancelled.reasonCode,
    snapshot: snapshot.data.event,
    error: none.status === 404 ? none.data.error.code : none.status,
    revoked: revoked.status,
    unpriced: unpriced.executionType,
  }),
);
