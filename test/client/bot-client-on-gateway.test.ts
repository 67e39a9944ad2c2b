/** The bot client at a real gateway: each understands what the other sends. */
import t from 'tap';
import {
  createBotClient,
  type BotClient,
  type CancelAcceptance,
  type Result,
  type StreamItem,
  type TerminalEvent,
} from '../../src/client/bot-client.js';
import { botClock } from '../../src/client/bot-clock.js';
import { bearer, call, createKey } from '../support/api.js';
import { openCuttingProxy } from '../support/cutting-proxy.js';
import { acknowledged, cancelReport, event, report, tell } from '../support/frames.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader } from '../support/event-reader.js';
import { hello, type Plugin } from '../support/plugin.js';

const gateway = await startTestGateway(t);
const { platform, instanceId, accountName } = hello;
const source = { platform, instanceId, accountName };
const traceId = /^[0-9a-f]{32}$/;

/** Shortens each wait of less than 15 s to a twentieth, so that the tests are short. */
const hurriedClock = {
  ...botClock,
  setTimer: (delayMs: number, task: () => void) =>
    botClock.setTimer(delayMs < 15_000 ? delayMs / 20 : delayMs, task),
};

function botOf(user: { readonly key: string }, baseUrl = gateway.url): BotClient {
  return createBotClient({ baseUrl, apiKey: user.key });
}

function hurriedBotOf(
  user: { readonly key: string },
  baseUrl = gateway.url,
  onResponse: (response: Response) => void = () => undefined,
): BotClient {
  return createBotClient({
    baseUrl,
    apiKey: user.key,
    // So long that the clock does not shorten the time-out of an attempt.
    timeoutMs: 30_000,
    clock: hurriedClock,
    fetch: async (...request) => {
      const response = await fetch(...request);
      onResponse(response);
      return response;
    },
  });
}

const limitOrder = {
  ttlMs: 60_000,
  platform,
  type: 'order',
  cmd: 'submit',
  payload: { instrument: 'ES', side: 'buy', executionType: 'limit', limitPrice: 1, quantity: 1 },
};

function valueOf<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new Error(result.error.message);
}

function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

interface Resting {
  readonly requestId: string;
  readonly executionId: string;
  readonly orderRef: string;
}

async function rest(bot: BotClient, plugin: Plugin, seq: number): Promise<Resting> {
  const { requestId } = valueOf(await bot.submit(limitOrder));
  const frame = await plugin.next('submit', { requestId });
  await tell(plugin, report(seq, frame['executionId'], 'working'));
  return { requestId, executionId: frame['executionId'], orderRef: frame['orderRef'] };
}

/** Follows from an unknown cursor: the first item is a gap, after which no event is missed. */
async function followed(bot: BotClient): Promise<AsyncIterator<StreamItem, void, void>> {
  const items = bot.events(source, { lastEventId: 'none' })[Symbol.asyncIterator]();
  const { value } = await items.next();
  if (value?.kind !== 'replay_gap') throw new Error('the stream began without a gap');
  return items;
}

t.test('sources are told as the gateway has them', async (t) => {
  const user = await gateway.user();
  const bot = botOf(user);
  t.strictSame(valueOf(await bot.sources()), []);
  const plugin = await gateway.plugin(user);
  const [known, ...others] = valueOf(await bot.sources());
  t.match(known, { ...source, connected: true, capabilities: ['submit', 'cancel'] });
  t.equal(new Date(known!.lastSeenAt).toISOString(), known?.lastSeenAt);
  t.strictSame(others, []);
  plugin.close();
  await eventually(async () => valueOf(await bot.sources())[0]?.connected === false);
});

t.test('a signal that is sent again is the same request', async (t) => {
  const user = await gateway.user();
  const bot = botOf(user);
  const prepared = bot.prepare(limitOrder, { idempotencyKey: 'a key 1' });
  const first = valueOf(await bot.send(prepared));
  const again = valueOf(await bot.send(prepared, { resumed: true }));
  t.strictSame(again, { ...first, replayed: true });
  t.match(await bot.status(first.requestId), {
    value: { requestId: first.requestId, executions: [{ reasonCode: 'no_active_terminal' }] },
  });
});

t.test(
  'a cancel that is sent again is the same cancel, and reaches the terminal once',
  async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const bot = botOf(user);
    const order = await rest(bot, plugin, 1);
    const prepared = bot.prepareCancel(order.orderRef);
    const first = valueOf(await bot.sendCancel(prepared));
    t.match(first, { ...order, status: 'requested', replayed: false });
    const again = valueOf(await bot.sendCancel(prepared, { resumed: true }));
    t.strictSame(again, { ...first, replayed: true });
    const { cancelRequestId } = await plugin.next('cancel');
    t.equal(cancelRequestId, first.cancelRequestId);
    await tell(plugin, cancelReport(2, cancelRequestId, 'cancelled'));
    t.match(valueOf(await bot.waitForResult(order.requestId, { timeoutMs: 10_000 })), {
      status: 'completed',
      executions: [{ status: 'cancelled', cancel: { cancelRequestId, status: 'cancelled' } }],
    });
    t.strictSame(
      plugin.frames.filter(({ type }) => type === 'cancel'),
      [],
    );
    plugin.close();
  },
);

t.test('every refusal of a cancel is told with its code, and nothing is in doubt', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const bot = botOf(user);
  const [first, second] = [await rest(bot, plugin, 1), await rest(bot, plugin, 2)];
  const filled = await rest(bot, plugin, 3);
  await tell(plugin, report(4, filled.executionId, 'filled', { filledQuantity: 1 }));

  async function refused(
    result: Promise<Result<CancelAcceptance>>,
    status: number,
    code: string,
    requestId?: string,
  ): Promise<void> {
    const { error } = (await result) as { error?: object };
    const told = { kind: 'refused', status, code, traceId, ...(requestId && { requestId }) };
    t.match(error, told, `${status} ${code}`);
  }

  await refused(bot.cancel('ord_nobody_has'), 404, 'order_not_found');
  await refused(bot.cancel(first.executionId), 404, 'order_not_found');
  const idempotencyKey = 'x'.repeat(129);
  await refused(bot.cancel(first.orderRef, { idempotencyKey }), 400, 'invalid_idempotency_key');
  await refused(bot.cancel(filled.orderRef), 409, 'order_not_cancellable', filled.requestId);
  valueOf(await bot.cancel(first.orderRef, { idempotencyKey: 'once' }));
  await refused(bot.cancel(first.orderRef), 409, 'cancel_already_in_progress', first.requestId);
  const other = bot.cancel(second.orderRef, { idempotencyKey: 'once' });
  await refused(other, 409, 'idempotency_conflict');
  plugin.close();
  await eventually(async () => valueOf(await bot.sources())[0]?.connected === false);
  await refused(bot.cancel(second.orderRef), 409, 'terminal_unavailable', second.requestId);

  const { key } = await createKey(gateway.url, user.token, { scopes: ['events:read'] });
  await refused(botOf({ key }).cancel(second.orderRef), 403, 'insufficient_scope');
  await refused(botOf({ key: 'svc_api_wrong' }).cancel(second.orderRef), 401, 'invalid_api_key');
});

t.test('every refusal of a stream ends it with its code', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const { key } = await createKey(gateway.url, user.token, { scopes: ['signals:read'] });
  const long = 'x'.repeat(129);
  const bot = botOf(user);
  const streams: readonly [AsyncIterator<StreamItem>, number, string][] = [
    [bot.events({ ...source, accountName: long }), 400, 'invalid_terminal_source'],
    [bot.events(source, { lastEventId: long }), 400, 'invalid_event_cursor'],
    [bot.events({ ...source, instanceId: '' }), 404, 'terminal_source_not_found'],
    [botOf({ key }).events(source), 403, 'insufficient_scope'],
    [botOf({ key: 'svc_api_wrong' }).events(source), 401, 'invalid_api_key'],
  ];
  for (const [items, status, code] of streams) {
    const failure = { kind: 'refused', status, code, traceId };
    t.match(await failureOf(items.next()), { failure }, `${status} ${code}`);
  }
  plugin.close();
});

t.test('events are what the contract says, field by field', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const bot = botOf(user);
  const items = await followed(bot);
  const order = await rest(bot, plugin, 1);
  const seen: TerminalEvent[] = [];
  while (seen.at(-1)?.name !== 'terminal_message') {
    if (seen.length === 2) await tell(plugin, event(2, { rawText: 'é✓ 日本 😀' }));
    const { value } = await items.next();
    if (value?.kind === 'event') seen.push(value);
  }
  const results = seen.filter(({ name }) => name === 'command_result');
  t.strictSame(
    results.map(({ data }) => data.data['status']),
    ['dispatched', 'working'],
  );
  t.match(seen.at(-1), {
    id: /^[0-9a-f]+-\d+$/,
    data: { rawText: 'é✓ 日本 😀', data: { text: 'word 2' } },
  });
  t.match(results.at(-1)?.data, { ...source, ...order });
  for (const { id, data } of seen) {
    t.strictSame(Object.keys(data), [
      'eventId',
      'event',
      'occurredAt',
      'receivedAt',
      'platform',
      'instanceId',
      'accountName',
      'requestId',
      'signalId',
      'executionId',
      'orderRef',
      'rawText',
      'rawTextTruncated',
      'data',
    ]);
    t.equal(data.eventId, id);
  }
  await items.return?.();
  plugin.close();
});

t.test('over cuts while a terminal talks, every event comes once and in order', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const proxy = await openCuttingProxy(t, gateway.url);
  const items = await followed(hurriedBotOf(user, proxy.url));
  const count = 600;
  const talking = (async () => {
    for (let seq = 1; seq <= count; seq++) {
      plugin.send(event(seq, { data: { seq }, rawText: 'é✓'.repeat(1 + (seq % 500)) }));
      if (seq % 20 === 0) await acknowledged(plugin, seq);
      if (seq % 100 === 50) proxy.cut();
    }
  })();
  const seen: unknown[] = [];
  while (seen.length < count) {
    const { value } = await items.next();
    seen.push(value?.kind === 'event' ? value.data.data['seq'] : value);
    if (seen.length % 90 === 0) proxy.cut();
  }
  await talking;
  t.strictSame(
    seen,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  await items.return?.();
  plugin.close();
});

t.test('a fourth stream waits until there is room', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const readers = [
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
  ];
  const statuses: number[] = [];
  const bot = hurriedBotOf(user, gateway.url, ({ status, headers }) => {
    statuses.push(status);
    if (status !== 429) return;
    t.equal(headers.get('Retry-After'), '1');
    readers[0]?.close();
  });
  const items = await followed(bot);
  t.equal(statuses[0], 429);
  t.equal(statuses.at(-1), 200);
  await items.return?.();
  for (const reader of readers) reader.close();
  plugin.close();
});

async function openStreams(): Promise<number> {
  const { text } = await call(gateway.process.opsUrl, 'GET', '/metrics');
  return Number(/^signalbox_open_streams (\d+)$/m.exec(text)?.[1]);
}

t.test('leaving a stream frees its place at once', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const refused: number[] = [];
  const bot = hurriedBotOf(user, gateway.url, ({ status }) => {
    if (status !== 200) refused.push(status);
  });
  for (let round = 0; round < 8; round++) {
    const open = [await followed(bot), await followed(bot), await followed(bot)];
    for (const items of open) await items.return?.();
    await eventually(async () => (await openStreams()) === 0);
  }
  t.strictSame(refused, []);
  plugin.close();
});

const ends: readonly [
  name: string,
  end: (user: TestUser) => unknown,
  status: number,
  code: string,
][] = [
  [
    'a key that is revoked',
    ({ token, keyId }) =>
      call(gateway.url, 'DELETE', `/api/api-keys/${keyId}`, { headers: bearer(token) }),
    401,
    'invalid_api_key',
  ],
  [
    'a user who is deleted',
    ({ email }) => gateway.command('user', 'delete', email),
    401,
    'invalid_api_key',
  ],
  [
    'a plan without the Public API',
    ({ email }) => gateway.command('user', 'set', email, '--plan', 'basic'),
    403,
    'business_plan_required',
  ],
];
for (const [name, end, status, code] of ends) {
  t.test(`${name} ends an open stream with ${code}`, async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const items = await followed(hurriedBotOf(user));
    const failure = failureOf(
      (async () => {
        while ((await items.next()).done !== true);
      })(),
    );
    await end(user);
    t.match(await failure, { failure: { kind: 'refused', status, code } });
    plugin.close();
  });
}
