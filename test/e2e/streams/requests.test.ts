/** What opens a stream, what refuses it, and how the answer begins. */
import t from 'tap';
import { bearer, call, createKey } from '../../support/api.js';
import { event, openDesk, tell, type Trader } from '../../support/desk.js';
import { eventually } from '../../support/eventually.js';
import { openReader, sourceQuery } from '../../support/event-reader.js';
import { signalboxCli } from '../../support/gateway-process.js';

const desk = await openDesk(t);
const path = '/api/v1/terminal-events/stream';
const keepAliveMs = 15_000;

const quiet = await desk.trader();
const quietPlugin = await desk.plugin(quiet);
const quietSince = performance.now();
const quietReader = await openReader(desk.url, quiet.key);

function get(trader: Trader, query: string, headers: Record<string, string> = {}) {
  return call(desk.url, 'GET', `${path}?${query}`, {
    headers: { ...bearer(trader.key), ...headers },
  });
}

t.test('the answer’s head, and retry: 1000 as its first words', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const reader = await openReader(desk.url, trader.key);
  const { headers } = reader.response;
  t.equal(reader.status, 200);
  t.equal(headers['content-type'], 'text/event-stream');
  t.equal(headers['cache-control'], 'no-store');
  t.equal(headers['x-accel-buffering'], 'no');
  t.match(headers['x-trace-id'], /^[0-9a-f]{32}$/);
  t.equal(headers['ratelimit-policy'], '"key";q=1200;w=60');
  t.match(headers['ratelimit'], /^"key";r=\d+;t=\d+$/);
  await tell(plugin, event(1));
  await reader.next('terminal_message');
  t.equal(reader.first, 'retry: 1000');
  t.same(reader.retries, [1000]);
  reader.close();
  plugin.close();
});

const source = { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' };
const query = (fields: object = {}): string =>
  new URLSearchParams({ ...source, ...fields } as Record<string, string>).toString();

t.test('the source must be given exactly: 400 invalid_terminal_source', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const wrong: Record<string, string> = {
    nothing: '',
    'no platform': 'instanceId=desk-1&accountName=Sim101',
    'no instanceId': 'platform=terminal_a&accountName=Sim101',
    'no accountName': 'platform=terminal_a&instanceId=desk-1',
    'an empty platform': query({ platform: '' }),
    'an empty accountName': query({ accountName: '' }),
    'two platforms': `${query()}&platform=terminal_a`,
    'two instanceIds': `${query()}&instanceId=desk-1`,
    'two accountNames': `${query()}&accountName=Sim101`,
    'an instanceId of 129': query({ instanceId: 'i'.repeat(129) }),
    'an accountName of 129': query({ accountName: 'a'.repeat(129) }),
    'names in capitals': 'Platform=terminal_a&InstanceId=desk-1&AccountName=Sim101',
  };
  for (const [name, text] of Object.entries(wrong)) {
    const answer = await get(trader, text, { 'last-event-id': 'x'.repeat(81) });
    t.equal(answer.status, 400, name);
    t.equal(answer.body.error.code, 'invalid_terminal_source', `${name}, before the cursor`);
    t.equal(answer.body.error.traceId, answer.headers.get('x-trace-id'));
  }
  plugin.close();
});

t.test('a cursor that is repeated or too long: 400 invalid_event_cursor', async (t) => {
  const trader = await desk.trader();
  const long = await get(trader, query(), { 'last-event-id': 'x'.repeat(81) });
  t.equal(long.status, 400);
  t.equal(long.body.error.code, 'invalid_event_cursor', 'before the source is looked for');
  const plugin = await desk.plugin(trader);
  const twice = await openReader(desk.url, trader.key, { cursor: ['a-1', 'a-1'] });
  t.equal(twice.status, 400);
  twice.close();
  const longest = await openReader(desk.url, trader.key, { cursor: 'x'.repeat(80) });
  t.equal(longest.status, 200);
  longest.close();
  plugin.close();
});

t.test('a source that is not active or not ours: 404 terminal_source_not_found', async (t) => {
  const trader = await desk.trader();
  const other = await desk.trader();
  const plugin = await desk.plugin(trader);
  const notFound = [
    [other, query()],
    [trader, query({ platform: 'terminal_b' })],
    [trader, query({ platform: 'terminal_z' })],
    [trader, query({ platform: 'TERMINAL_A' })],
    [trader, query({ instanceId: '' })],
    [trader, query({ instanceId: 'desk-2' })],
    [trader, query({ accountName: 'sim101' })],
    [trader, query({ platform: 'terminal_a,terminal_b' })],
  ] as const;
  for (const [caller, text] of notFound) {
    const answer = await get(caller, text);
    t.equal(answer.status, 404, text);
    t.equal(answer.body.error.code, 'terminal_source_not_found');
  }
  plugin.close();
});

t.test('names are told in any characters', async (t) => {
  const trader = await desk.trader();
  for (const fields of [
    { instanceId: '', accountName: 'a' },
    { instanceId: 'i'.repeat(128), accountName: 'ä & ü=+%20 日本' },
    { platform: 'terminal_b', instanceId: 'vps', accountName: '77@Broker-Demo' },
  ]) {
    const plugin = await desk.plugin(trader, fields);
    const reader = await openReader(desk.url, trader.key, { source: fields });
    t.equal(reader.status, 200, JSON.stringify(fields));
    await tell(plugin, event(1));
    t.match((await reader.next('terminal_message')).data, fields);
    reader.close();
    plugin.close();
  }
});

t.test('three streams for a user, the fourth gets 429, and a slot is freed at once', async (t) => {
  const trader = await desk.trader();
  const second = await createKey(desk.url, trader.token);
  const plugin = await desk.plugin(trader);
  const readers = [
    await openReader(desk.url, trader.key),
    await openReader(desk.url, trader.key),
    await openReader(desk.url, second.key),
  ];
  const refused = await get(trader, sourceQuery());
  t.equal(refused.status, 429);
  t.equal(refused.body.error.code, 'too_many_event_subscriptions');
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.equal((await get(trader, query({ instanceId: 'none' }))).status, 404, 'the source goes first');

  const stranger = await desk.trader();
  const strangers = await desk.plugin(stranger);
  const theirs = await openReader(desk.url, stranger.key);
  t.equal(theirs.status, 200, 'counted for each user alone');

  for (const reader of readers) {
    reader.close();
    const next = await eventually(async () => {
      const opened = await openReader(desk.url, trader.key);
      if (opened.status === 200) return opened;
      opened.close();
      return undefined;
    });
    t.equal((await get(trader, sourceQuery())).status, 429);
    t.teardown(() => next.close());
  }
  theirs.close();
  plugin.close();
  strangers.close();
});

t.test('many that come at once get no more than three', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const readers = await Promise.all(
    Array.from({ length: 20 }, () => openReader(desk.url, trader.key)),
  );
  t.equal(readers.filter(({ status }) => status === 200).length, 3);
  t.equal(readers.filter(({ status }) => status === 429).length, 17);
  for (const reader of readers) reader.close();
  plugin.close();
});

t.test('HEAD answers as GET would, without a body and without taking a slot', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  for (let count = 0; count < 5; count++) {
    const answer = await call(desk.url, 'HEAD', `${path}?${query()}`, {
      headers: bearer(trader.key),
    });
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), 'text/event-stream');
    t.equal(answer.text, '');
  }
  const missing = await call(desk.url, 'HEAD', path, { headers: bearer(trader.key) });
  t.equal(missing.status, 400);
  plugin.close();
});

t.test('the key must be there and carry events:read; other methods are not allowed', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const { key } = await createKey(desk.url, trader.token, { scopes: ['signals:read'] });
  const url = `${path}?${query()}`;
  const scope = await call(desk.url, 'GET', url, { headers: bearer(key) });
  t.equal(scope.status, 403);
  t.equal(scope.body.error.code, 'insufficient_scope');
  for (const token of [trader.sessionToken, trader.token]) {
    t.equal((await call(desk.url, 'GET', url, { headers: bearer(token) })).status, 401);
  }
  const post = await call(desk.url, 'POST', url, { headers: bearer(trader.key) });
  t.equal(post.status, 405);
  t.equal(post.headers.get('allow'), 'GET, HEAD');
  plugin.close();
});

type End = (trader: Trader) => Promise<unknown>;
const ends: Record<string, End> = {
  'the key revoked by its user': (trader) =>
    call(desk.url, 'DELETE', `/api/api-keys/${trader.keyId}`, { headers: bearer(trader.token) }),
  'the key revoked by the operator': (trader) => cli('key', 'revoke', `${trader.keyId}`),
  'the plan lost': (trader) => cli('user', 'set', trader.email, '--plan', 'basic'),
  'the user deleted': (trader) => cli('user', 'delete', trader.email),
};

for (const [name, end] of Object.entries(ends)) {
  t.test(`${name} ends the stream at once`, async (t) => {
    const trader = await desk.trader();
    const plugin = await desk.plugin(trader);
    const reader = await openReader(desk.url, trader.key);
    const other = await openReader(desk.url, quiet.key);
    await end(trader);
    t.equal(await reader.waitEnd(), 'properly');
    t.equal(other.ended, undefined, 'others stay');
    other.close();
    plugin.close();
  });
}

t.test('a key that expires ends its stream then', async (t) => {
  const expiresAt = new Date(Date.now() + 5_000).toISOString();
  const trader = await desk.trader({ expiresAt });
  const plugin = await desk.plugin(trader);
  const reader = await openReader(desk.url, trader.key);
  t.equal(await reader.waitEnd(), 'properly');
  const late = Date.now() - Date.parse(expiresAt);
  t.ok(late >= -5, `ended ${late} ms after its expiry`);
  plugin.close();
});

t.test('a comment keeps a silent stream alive every 15 seconds', async (t) => {
  await quietReader.commented();
  const waited = performance.now() - quietSince;
  t.ok(waited > keepAliveMs - 100, `after ${waited} ms`);
  await tell(quietPlugin, event(1));
  await quietReader.next('terminal_message');
  t.equal(quietReader.retries.length, 1);
  quietReader.close();
});

t.test('disabling the Public API ends every stream, enabling lets them back', async (t) => {
  const trader = await desk.trader();
  const plugin = await desk.plugin(trader);
  const readers = [await openReader(desk.url, trader.key), await openReader(desk.url, quiet.key)];
  await cli('api', 'disable');
  for (const reader of readers) t.equal(await reader.waitEnd(), 'properly');
  t.equal((await get(trader, query())).body.error.code, 'public_api_disabled');
  t.equal(plugin.closed, undefined, 'terminals stay connected');
  await cli('api', 'enable');
  const back = await openReader(desk.url, trader.key);
  t.equal(back.status, 200);
  back.close();
  plugin.close();
  quietPlugin.close();
});

async function cli(...args: string[]): Promise<void> {
  const { code, stderr } = signalboxCli(desk.dataDir, args);
  if (code !== 0) throw new Error(stderr);
}
