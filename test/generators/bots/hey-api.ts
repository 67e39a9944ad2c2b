/** What a bot does with the client that @hey-api/openapi-ts makes. Prints what it has seen. */
import * as api from './hey-api/sdk.gen.js';
import { client } from './hey-api/client.gen.js';
import type { KnownExecutionStatus, OrderSubmit, SignalEnvelope } from './hey-api/types.gen.js';

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, throwOnError: true });

const { data: session } = await api.login<true>({ body: { email, password } });
const { data: key } = await api.createKey<true>({
  auth: session.token,
  body: {
    name: 'hey-api',
    scopes: ['signals:write', 'signals:read', 'orders:cancel', 'events:read'],
  },
});
const { data: keys } = await api.listKeys<true>({ auth: session.token });
client.setConfig({ baseUrl, throwOnError: true, auth: key.key });

const { data: list } = await api.listSources<true>();
const [{ platform, instanceId, accountName } = { platform: '', instanceId: '', accountName: '' }] =
  list.sources;
const query = { platform, instanceId, accountName };

async function submit(payload: OrderSubmit): Promise<string> {
  const signalId = crypto.randomUUID();
  const body: SignalEnvelope = {
    ...{ v: 1, signalId, ts: Date.now(), ttlMs: 30_000 },
    ...{ platform, type: 'order', cmd: 'submit', payload },
  };
  const { data } = await api.submitSignal<true>({
    headers: { 'Idempotency-Key': signalId },
    body,
  });
  return data.requestId;
}

async function readUntil(requestId: string, wanted: KnownExecutionStatus) {
  for (let tries = 0; tries < 100; tries++) {
    const { data } = await api.readSignal<true>({ path: { requestId }, query: { waitMs: 100 } });
    const [execution] = data.executions;
    if (execution?.status === wanted) return execution;
  }
  throw new Error(`never ${wanted}`);
}

const stop = new AbortController();
const { stream } = await api.streamEvents({ query, signal: stop.signal });
const firstPosition = (async () => {
  for await (const event of stream) {
    if ('reason' in event) continue;
    if (event.event === 'position_update') return event.data.quantity;
  }
  return undefined;
})();

// @ts-expect-error a limit order has a price.
const unpriced: OrderSubmit = {
  ...{ instrument: 'ES', side: 'buy', quantity: 1 },
  executionType: 'limit',
};
const common = { instrument: 'ES', side: 'buy', quantity: 1 } as const;
const filled = await readUntil(await submit({ ...common, executionType: 'market' }), 'filled');
const quantity = await firstPosition;
stop.abort();
const resting = await submit({ ...common, executionType: 'limit', limitPrice: 1 });
const { orderRef } = await readUntil(resting, 'working');
const { data: cancel } = await api.cancelOrder<true>({
  path: { orderRef: orderRef ?? '' },
  headers: { 'Idempotency-Key': crypto.randomUUID() },
});
const cancelled = await readUntil(resting, 'cancelled');
const { data: snapshot } = await api.readSnapshot<true>({ query });
const { error } = await api.readSignal({ path: { requestId: 'none' }, throwOnError: false });
const revoked = await api.revokeKey<true>({ auth: session.token, path: { id: key.id } });

console.log(
  JSON.stringify({
    hasKey: keys.some(({ id }) => id === key.id),
    filled: filled.filledQuantity,
    cancel: cancel.status,
    reason: cancelled.reasonCode,
    event: quantity,
    snapshot: snapshot.event,
    error: error?.error.code,
    revoked: revoked.response.status,
    unpriced: unpriced.executionType,
  }),
);
