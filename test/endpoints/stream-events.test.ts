/** What opens a stream, what refuses it, and how the answer begins. */
import t from 'tap';
import { bearer, call, createKey, post } from '../support/api.js';
import { event, tell } from '../support/frames.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openReader, sourceQuery } from '../support/event-reader.js';
import { RawClient, request } from '../support/raw-client.js';

const gateway = await startTestGateway(t);
const path = '/api/v1/terminal-events/stream';
const keepAliveMs = 15_000;

const quiet = await gateway.user();
const quietPlugin = await gateway.plugin(quiet);
const quietSince = performance.now();
const quietReader = await openReader(gateway.url, quiet.key);

function get(user: TestUser, query: string, headers: Record<string, string> = {}) {
  return call(gateway.url, 'GET', `${path}?${query}`, {
    headers: { ...bearer(user.key), ...headers },
  });
}

t.test(
  'the answer’s head, and retry: 1000 with the id of its begin as its first words',
  async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const reader = await openReader(gateway.url, user.key);
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
    t.match(reader.first, /^retry: 1000\nid: [0-9a-f]+-\d+$/);
    t.same(reader.retries, [1000]);
    reader.close();
    plugin.close();
  },
);

const source = { platform: 'terminal_a', instanceId: 'desk-1', accountName: 'Sim101' };
const query = (fields: object = {}): string =>
  new URLSearchParams({ ...source, ...fields } as Record<string, string>).toString();

t.test('the source must be given exactly: 400 invalid_terminal_source', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
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
    const answer = await get(user, text, { 'last-event-id': 'x'.repeat(81) });
    t.equal(answer.status, 400, name);
    t.equal(answer.body.error.code, 'invalid_terminal_source', `${name}, before the cursor`);
    t.equal(answer.body.error.traceId, answer.headers.get('x-trace-id'));
  }
  plugin.close();
});

t.test('a cursor that is repeated or too long: 400 invalid_event_cursor', async (t) => {
  const user = await gateway.user();
  const long = await get(user, query(), { 'last-event-id': 'x'.repeat(81) });
  t.equal(long.status, 400);
  t.equal(long.body.error.code, 'invalid_event_cursor', 'before the source is looked for');
  const plugin = await gateway.plugin(user);
  const twice = await openReader(gateway.url, user.key, { cursor: ['a-1', 'a-1'] });
  t.equal(twice.status, 400);
  twice.close();
  const longest = await openReader(gateway.url, user.key, { cursor: 'x'.repeat(80) });
  t.equal(longest.status, 200);
  longest.close();
  plugin.close();
});

t.test('a cursor of which nothing is left is one that is not available', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  // The native parser cuts off bytes beyond ASCII at the ends of a value.
  for (const cursor of ['', ' ', '\xe4\xf6']) {
    const client = await RawClient.connect(gateway.url);
    const lines = [`Authorization: Bearer ${user.key}`, `Last-Event-ID: ${cursor}`];
    await client.send(request('GET', `${path}?${query()}`, lines));
    await eventually(() => client.unread.includes('\nid: '));
    t.match(client.unread, '\nevent: replay_gap\n', JSON.stringify(cursor));
    client.cut();
  }
  plugin.close();
});

t.test('a source that is not active or not ours: 404 terminal_source_not_found', async (t) => {
  const user = await gateway.user();
  const other = await gateway.user();
  const plugin = await gateway.plugin(user);
  const notFound = [
    [other, query()],
    [user, query({ platform: 'terminal_b' })],
    [user, query({ platform: 'terminal_z' })],
    [user, query({ platform: 'TERMINAL_A' })],
    [user, query({ instanceId: '' })],
    [user, query({ instanceId: 'desk-2' })],
    [user, query({ accountName: 'sim101' })],
    [user, query({ platform: 'terminal_a,terminal_b' })],
  ] as const;
  for (const [caller, text] of notFound) {
    const answer = await get(caller, text);
    t.equal(answer.status, 404, text);
    t.equal(answer.body.error.code, 'terminal_source_not_found');
  }
  plugin.close();
});

t.test('names are told in any characters', async (t) => {
  const user = await gateway.user();
  for (const fields of [
    { instanceId: '', accountName: 'a' },
    { instanceId: 'i'.repeat(128), accountName: 'ä & ü=+%20 日本' },
    { platform: 'terminal_b', instanceId: 'vps', accountName: '77@Broker-Demo' },
  ]) {
    const plugin = await gateway.plugin(user, fields);
    const reader = await openReader(gateway.url, user.key, { source: fields });
    t.equal(reader.status, 200, JSON.stringify(fields));
    await tell(plugin, event(1));
    t.match((await reader.next('terminal_message')).data, fields);
    reader.close();
    plugin.close();
  }
});

t.test('three streams for a user, the fourth gets 429, and a slot is freed at once', async (t) => {
  const user = await gateway.user();
  const second = await createKey(gateway.url, user.token);
  const plugin = await gateway.plugin(user);
  const readers = [
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, second.key),
  ];
  const refused = await get(user, sourceQuery());
  t.equal(refused.status, 429);
  t.equal(refused.body.error.code, 'too_many_event_subscriptions');
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.equal((await get(user, query({ instanceId: 'none' }))).status, 404, 'the source goes first');

  const stranger = await gateway.user();
  const strangers = await gateway.plugin(stranger);
  const theirs = await openReader(gateway.url, stranger.key);
  t.equal(theirs.status, 200, 'counted for each user alone');

  for (const reader of readers) {
    reader.close();
    const next = await eventually(async () => {
      const opened = await openReader(gateway.url, user.key);
      if (opened.status === 200) return opened;
      opened.close();
      return undefined;
    });
    t.equal((await get(user, sourceQuery())).status, 429);
    t.teardown(() => next.close());
  }
  theirs.close();
  plugin.close();
  strangers.close();
});

t.test('many that come at once get no more than three', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const readers = await Promise.all(
    Array.from({ length: 20 }, () => openReader(gateway.url, user.key)),
  );
  t.equal(readers.filter(({ status }) => status === 200).length, 3);
  t.equal(readers.filter(({ status }) => status === 429).length, 17);
  for (const reader of readers) reader.close();
  plugin.close();
});

t.test('HEAD answers as GET would, without a body and without taking a slot', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  for (let count = 0; count < 5; count++) {
    const answer = await call(gateway.url, 'HEAD', `${path}?${query()}`, {
      headers: bearer(user.key),
    });
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), 'text/event-stream');
    t.equal(answer.text, '');
  }
  const missing = await call(gateway.url, 'HEAD', path, { headers: bearer(user.key) });
  t.equal(missing.status, 400);
  plugin.close();
});

t.test('the key must be there and carry events:read; other methods are not allowed', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const { key } = await createKey(gateway.url, user.token, { scopes: ['signals:read'] });
  const url = `${path}?${query()}`;
  const scope = await call(gateway.url, 'GET', url, { headers: bearer(key) });
  t.equal(scope.status, 403);
  t.equal(scope.body.error.code, 'insufficient_scope');
  for (const token of [user.sessionToken, user.token]) {
    t.equal((await call(gateway.url, 'GET', url, { headers: bearer(token) })).status, 401);
  }
  const post = await call(gateway.url, 'POST', url, { headers: bearer(user.key) });
  t.equal(post.status, 405);
  t.equal(post.headers.get('allow'), 'GET, HEAD');
  plugin.close();
});

type End = (user: TestUser) => Promise<unknown>;
const ends: Record<string, End> = {
  'the key revoked by its user': (user) =>
    call(gateway.url, 'DELETE', `/api/api-keys/${user.keyId}`, { headers: bearer(user.token) }),
  'the key revoked by the operator': (user) => gateway.command('key', 'revoke', `${user.keyId}`),
  'the plan lost': (user) => gateway.command('user', 'set', user.email, '--plan', 'basic'),
  'the user deleted': (user) => gateway.command('user', 'delete', user.email),
};

for (const [name, end] of Object.entries(ends)) {
  t.test(`${name} ends the stream at once`, async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const reader = await openReader(gateway.url, user.key);
    const other = await openReader(gateway.url, quiet.key);
    await end(user);
    t.equal(await reader.waitEnd(), 'properly');
    t.equal(other.ended, undefined, 'others stay');
    other.close();
    plugin.close();
  });
}

t.test('a key that expires ends its stream then', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const { reader, expiresAt } = await eventually(async () => {
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const made = await post(
      gateway.url,
      '/api/api-keys',
      { name: 'short', scopes: ['events:read'], expiresAt },
      user.token,
    );
    // On a busy machine the key may expire before it is made, or used.
    if (made.status !== 201) return undefined;
    const reader = await openReader(gateway.url, made.body.key);
    if (reader.status === 200) return { reader, expiresAt };
    reader.close();
    return undefined;
  });
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
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const readers = [
    await openReader(gateway.url, user.key),
    await openReader(gateway.url, quiet.key),
  ];
  await gateway.command('api', 'disable');
  for (const reader of readers) t.equal(await reader.waitEnd(), 'properly');
  t.equal((await get(user, query())).body.error.code, 'public_api_disabled');
  t.equal(plugin.closed, undefined, 'terminals stay connected');
  await gateway.command('api', 'enable');
  const back = await openReader(gateway.url, user.key);
  t.equal(back.status, 200);
  back.close();
  plugin.close();
  quietPlugin.close();
});
