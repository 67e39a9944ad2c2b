/** What a bot does with openapi-fetch and the types of openapi-typescript. Prints what it has seen. */
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-fetch.gen.js';

type Schemas = components['schemas'];

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2);

function clientWith(token?: string) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return createClient<paths>({ baseUrl, headers });
}

function expected<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const session = expected(await clientWith().POST('/api/auth/login', { body: { email, password } }));
const user = clientWith(session.token);
const key = expected(
  await user.POST('/api/api-keys', {
    body: {
      name: 'openapi-fetch',
      scopes: ['signals:write', 'signals:read', 'orders:cancel', 'events:read'],
    },
  }),
);
const keys = expected(await user.GET('/api/api-keys'));
const api = clientWith(key.key);

const { sources } = expected(await api.GET('/api/v1/terminal-events/sources'));
const [{ platform, instanceId, accountName } = { platform: '', instanceId: '', accountName: '' }] =
  sources;
const query = { platform, instanceId, accountName };

async function submit(payload: Schemas['OrderSubmit']): Promise<string> {
  const signalId = crypto.randomUUID();
  const accepted = await api.POST('/api/v1/signals', {
    params: { header: { 'Idempotency-Key': signalId } },
    body: {
      ...{ v: 1, signalId, ts: Date.now(), ttlMs: 30_000 },
      ...{ platform, type: 'order', cmd: 'submit', payload },
    },
  });
  return expected(accepted).requestId;
}

async function readUntil(requestId: string, wanted: Schemas['KnownExecutionStatus']) {
  const params = { path: { requestId }, query: { waitMs: 100 } };
  for (let tries = 0; tries < 100; tries++) {
    const signal = expected(await api.GET('/api/v1/signals/{requestId}', { params }));
    const [execution] = signal.executions;
    if (execution?.status === wanted) return execution;
  }
  throw new Error(`never ${wanted}`);
}

async function firstPosition(body: ReadableStream<Uint8Array>): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of body) {
    text += decoder.decode(part, { stream: true });
    for (const [, json = ''] of text.matchAll(/^data: (.*)\n/gm)) {
      const event = JSON.parse(json) as Schemas['StreamEvent'];
      if (!('reason' in event) && event.event === 'position_update') return event.data.quantity;
    }
  }
  return undefined;
}

const stop = new AbortController();
const stream = await api.GET('/api/v1/terminal-events/stream', {
  params: { query },
  parseAs: 'stream',
  signal: stop.signal,
});
const position = firstPosition(expected(stream) as ReadableStream<Uint8Array>);

// @ts-expect-error a limit order has a price.
const unpriced: Schemas['OrderSubmit'] = {
  ...{ instrument: 'ES', side: 'buy', quantity: 1 },
  executionType: 'limit',
};
const common = { instrument: 'ES', side: 'buy', quantity: 1 } as const;
const filled = await readUntil(await submit({ ...common, executionType: 'market' }), 'filled');
const quantity = await position;
stop.abort();
const resting = await submit({ ...common, executionType: 'limit', limitPrice: 1 });
const { orderRef } = await readUntil(resting, 'working');
const cancel = expected(
  await api.POST('/api/v1/orders/{orderRef}/cancel', {
    params: {
      path: { orderRef: orderRef ?? '' },
      header: { 'Idempotency-Key': crypto.randomUUID() },
    },
  }),
);
const cancelled = await readUntil(resting, 'cancelled');
const snapshot = expected(await api.GET('/api/v1/terminal-events/snapshot', { params: { query } }));
const { error } = await api.GET('/api/v1/signals/{requestId}', {
  params: { path: { requestId: 'none' } },
});
const revoked = await user.DELETE('/api/api-keys/{id}', { params: { path: { id: key.id } } });

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
