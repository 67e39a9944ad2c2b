/** What every request to /api/v1/* meets before its endpoint: routes, switch, credential, plan, scope. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WallClock } from '../harness/time/wall-clock.js';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  createKey,
  get,
  json,
  signal,
  submit,
  verdict,
} from '../support/api.js';
import { openPlugin } from '../support/plugin.js';
import { rawCall, RawClient, request } from '../support/raw-client.js';
import { startTestGateway } from '../support/gateway.js';
import { socketFolder } from '../support/socket-folder.js';

const clock = new WallClock(join(socketFolder(t), 'clock'));
const gateway = await startTestGateway(t, { environment: clock.environment });
const { url } = gateway;
const user = await gateway.user();
const sources = '/api/v1/terminal-events/sources';
const stream =
  '/api/v1/terminal-events/stream?platform=terminal_a&instanceId=desk-1&accountName=Sim101';
const accepted = await submit(url, user.key, signal());
const read = `/api/v1/signals/${accepted.body.requestId}`;

/** Method, path and the scope that opens it; answered by the endpoint itself with this verdict. */
// oxfmt-ignore
const endpoints = [
  { method: 'POST', path: '/api/v1/signals', scope: 'signals:write', inside: '415 unsupported_media_type' },
  { method: 'GET', path: read, scope: 'signals:read', inside: '200' },
  { method: 'POST', path: '/api/v1/orders/ord_x/cancel', scope: 'orders:cancel', inside: '400 invalid_idempotency_key' },
  { method: 'GET', path: sources, scope: 'events:read', inside: '200' },
  { method: 'GET', path: '/api/v1/terminal-events/stream', scope: 'events:read', inside: '400 invalid_terminal_source' },
] as const;
const scopes = ['events:read', 'orders:cancel', 'signals:read', 'signals:write'];

function isV1Error(t: Test, answer: Answer, code: string, name = code): void {
  t.equal(codeOf(answer), code, name);
  t.same(Object.keys(answer.body), ['error'], name);
  t.same(Object.keys(answer.body.error), ['code', 'message', 'traceId'], name);
  t.equal(answer.body.error.traceId, answer.headers.get('x-trace-id'), name);
  t.ok(answer.body.error.message.length > 0, name);
  t.match(answer.headers.get('content-type'), /^application\/json/, name);
}

t.test('each scope opens its own endpoints and no other', async (t) => {
  for (const scope of scopes) {
    const { token } = user;
    const { key, id } = await createKey(url, token, { scopes: [scope] });
    for (const { method, path, scope: needed, inside } of endpoints) {
      const answer = await call(url, method, path, { headers: bearer(key) });
      const expected = scope === needed ? inside : '403 insufficient_scope';
      t.equal(verdict(answer), expected, `${method} ${path} with ${scope}`);
      if (scope === needed) continue;
      isV1Error(t, answer, 'insufficient_scope');
      t.match(answer.body.error.message, `lacks the scope ${needed}.`);
    }
    await call(url, 'DELETE', `/api/api-keys/${id}`, { headers: bearer(token) });
  }
});

t.test('a path that is none gets 404 in the envelope of its part of the API', async (t) => {
  // oxfmt-ignore
  const v1 = ['/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v1/signals/', `${read}/`, `${read}/executions`, '/api/v1//signals',
    '/api/v1/Signals', '/api/v1/%73ignals', '/api/v1/orders/ord_x', '/api/v1/orders/ord_x/cancel/', '/api/v1/terminal-events'];
  for (const path of v1) {
    for (const headers of [{}, bearer(user.key)]) {
      const answer = await call(url, 'GET', path, { headers });
      t.equal(answer.status, 404, path);
      isV1Error(t, answer, 'not_found', path);
    }
  }
  for (const path of [
    '/',
    '/api',
    '/api/',
    '/api/v2/signals',
    '/api/auth',
    '/api/v10/signals',
    '//api/v1/signals',
  ]) {
    const answer = await get(url, path);
    t.equal(verdict(answer), '404 not_found', path);
    t.same(Object.keys(answer.body), ['code', 'message'], path);
  }
});

t.test(
  'a method that a path does not know gets 405 with Allow, whatever the credential',
  async (t) => {
    // oxfmt-ignore
    const rows: [path: string, allow: string][] = [
    ['/api/v1/signals', 'POST, GET, HEAD'],
    [read, 'GET, HEAD'],
    ['/api/v1/orders/ord_x/cancel', 'POST'],
    [sources, 'GET, HEAD'],
    [stream, 'GET, HEAD'],
    ['/api/auth/login', 'POST'],
    ['/api/api-keys', 'POST, GET, HEAD'],
    ['/api/api-keys/1', 'DELETE'],
  ];
    for (const [path, allow] of rows) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allow.split(', ').includes(method)) continue;
        const answer = await call(url, method, path);
        const name = `${method} ${path}`;
        t.equal(answer.status, 405, name);
        t.equal(answer.headers.get('allow'), allow, name);
        if (method === 'HEAD') t.equal(answer.text, '', name);
        else if (path.startsWith('/api/v1/')) isV1Error(t, answer, 'method_not_allowed', name);
        else t.same(Object.keys(answer.body), ['code', 'message'], name);
      }
    }
  },
);

t.test('methods that HTTP does not know, or that browsers hide, do no harm', async (t) => {
  for (const method of ['FOO', 'TRACE', 'PROPFIND', 'get', 'G-T', 'POSTPOST']) {
    const answer = await rawCall(url, method, sources, [`Authorization: Bearer ${user.key}`]);
    t.ok(
      answer === undefined || answer.status >= 400 || method === 'get',
      `${method}: ${answer?.status}`,
    );
  }
  const connect = await rawCall(url, 'CONNECT', '/api/v1/signals');
  t.ok(connect === undefined || connect.status >= 400);
  t.equal((await get(url, sources, user.key)).status, 200);
});

t.test(
  'the checks come in the order route, switch, credential, plan, scope, endpoint',
  async (t) => {
    const { email, token, key } = await gateway.user();
    const narrow = await createKey(url, token, { scopes: ['signals:read'] });
    const write = (bearerToken: string) =>
      call(url, 'POST', '/api/v1/signals', { headers: bearer(bearerToken) });

    t.equal(codeOf(await write('nonsense')), 'invalid_api_key', 'credential before endpoint');
    t.equal(codeOf(await write(narrow.key)), 'insufficient_scope', 'scope before endpoint');
    await gateway.command('user', 'set', email, '--plan', 'basic');
    t.equal(codeOf(await write('nonsense')), 'invalid_api_key', 'credential before plan');
    t.equal(codeOf(await write(narrow.key)), 'business_plan_required', 'plan before scope');
    const planless = await write(key);
    t.equal(codeOf(planless), 'business_plan_required', 'plan before endpoint');
    t.match(planless.body.error.message, /^The plan /, 'and no word of a scope');
    await gateway.command('api', 'disable');
    t.equal(
      codeOf(await get(url, '/api/v1/nothing', 'nonsense')),
      'not_found',
      'route before switch',
    );
    t.equal(
      codeOf(await call(url, 'PUT', '/api/v1/signals')),
      'method_not_allowed',
      'route before switch',
    );
    t.equal(codeOf(await write('nonsense')), 'public_api_disabled', 'switch before credential');
    t.equal(codeOf(await write(narrow.key)), 'public_api_disabled', 'switch before plan and scope');
    for (const { method, path } of endpoints) {
      const answer = await call(url, method, path, { headers: bearer(user.key) });
      t.equal(answer.status, 503, path);
      isV1Error(t, answer, 'public_api_disabled', path);
    }
    await gateway.command('api', 'enable');
    t.equal(verdict(await write(user.key)), '415 unsupported_media_type', 'enabled again, at once');
  },
);

t.test('a key that expires in use is refused from that moment', async (t) => {
  const lifeMs = 3_600_000;
  const expiresAt = Date.now() + lifeMs;
  const { key } = await createKey(url, user.token, {
    expiresAt: new Date(expiresAt).toISOString(),
  });
  const client = await RawClient.connect(url);
  t.teardown(() => client.cut());
  const ask = async () => {
    await client.send(request('GET', sources, [`Authorization: Bearer ${key}`]));
    return (await client.answer())?.status;
  };
  t.equal(await ask(), 200);
  await clock.set(lifeMs / 2);
  t.equal(await ask(), 200, 'not before its time');
  await clock.set(lifeMs);
  t.equal(await ask(), 401);
  await clock.set(0);
});

t.test(
  'HEAD answers every GET route with the headers of GET and no body, again and again',
  async (t) => {
    const plugin = await openPlugin(url, user.sessionToken);
    t.teardown(() => plugin.close());
    const client = await RawClient.connect(url);
    t.teardown(() => client.cut());
    // oxfmt-ignore
    const rows: [path: string, token: string, status: number][] = [
    [read, user.key, 200],
    [sources, user.key, 200],
    ['/api/api-keys', user.token, 200],
    ['/api/v1/signals/req_nothing', user.key, 404],
    ['/api/v1/terminal-events/stream', user.key, 400],
    [sources, 'nonsense', 401],
    ['/api/api-keys', 'nonsense', 401],
    ['/api/v1/nothing', '', 404],
    ['/nothing', '', 404],
  ];
    for (let round = 0; round < 3; round++) {
      for (const [path, token, status] of rows) {
        await client.send(request('HEAD', path, [`Authorization: Bearer ${token}`]));
        const head = await client.answer({ isHead: true });
        await client.send(request('GET', path, [`Authorization: Bearer ${token}`]));
        const full = await client.answer();
        t.equal(head?.status, status, path);
        t.equal(full?.status, status, path);
        for (const name of [
          'content-type',
          'content-length',
          'ratelimit-policy',
          'www-authenticate',
        ]) {
          t.same(head?.headers[name], full?.headers[name], `${name} of ${path}`);
        }
        t.equal(head?.headers['content-length']?.length, 1);
        t.match(head?.headers['x-trace-id']?.[0], /^[0-9a-f]{32}$/);
      }
    }
    t.equal(client.unread, '', 'not one byte of a body');
  },
);

t.test('HEAD of the event stream answers its headers and ends', async (t) => {
  const plugin = await openPlugin(url, user.sessionToken, { instanceId: 'head' });
  t.teardown(() => plugin.close());
  const path = stream.replace('desk-1', 'head');
  for (let i = 0; i < 5; i++) {
    const client = await RawClient.connect(url);
    await client.send(request('HEAD', path, [`Authorization: Bearer ${user.key}`]));
    const head = await client.answer({ isHead: true });
    t.equal(head?.status, 200);
    t.equal(head?.headers['content-type']?.[0], 'text/event-stream');
    t.equal(head?.headers['cache-control']?.[0], 'no-store');
    t.equal(head?.headers['content-length'], undefined, 'a stream has no length');
    await client.send(request('GET', sources, [`Authorization: Bearer ${user.key}`]));
    t.equal((await client.answer())?.status, 200, 'the connection goes on');
    client.cut();
  }
});

t.test('HEAD that the limit of bodies or an abort meets leaves the process alive', async (t) => {
  for (const path of [read, '/api/v1/signals', '/api/auth/login', '/nothing']) {
    const client = await RawClient.connect(url);
    await client.send(request('HEAD', path, [`Authorization: Bearer ${user.key}`], '{"a":1}'));
    await client.answer({ isHead: true });
    client.cut();
    const aborted = await RawClient.connect(url);
    await aborted.send(request('HEAD', path, ['Content-Length: 100000']));
    aborted.cut();
  }
  t.equal((await get(url, sources, user.key)).status, 200);
});

t.test(
  'every answer carries a trace id of its own, and takes over a valid traceparent',
  async (t) => {
    const ids = new Set<string>();
    for (const path of [sources, read, '/api/v1/nothing', '/nothing', '/api/api-keys']) {
      for (const token of [user.key, '']) {
        const id = (await get(url, path, token)).headers.get('x-trace-id') ?? '';
        t.match(id, /^[0-9a-f]{32}$/, path);
        ids.add(id);
      }
    }
    t.equal(ids.size, 10);

    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const parent = '00f067aa0ba902b7';
    // oxfmt-ignore
    const rows: [traceparent: string, isTaken: boolean][] = [
    [`00-${traceId}-${parent}-01`, true],
    [`00-${traceId}-${parent}-00`, true],
    [`00-${traceId}-${parent}-ff`, true],
    [`00-${traceId.toUpperCase()}-${parent}-01`, false],
    [`00-${'0'.repeat(32)}-${parent}-01`, false],
    [`00-${traceId}-${'0'.repeat(16)}-01`, false],
    [`ff-${traceId}-${parent}-01`, false],
    [`00-${traceId}-${parent}`, false],
    [`00-${traceId}-${parent}-01-extra`, false],
    [`00-${traceId}-${parent}-1`, false],
    [`00-${traceId}x-${parent}-01`, false],
    [traceId, false],
  ];
    for (const [traceparent, isTaken] of rows) {
      for (const path of [sources, '/api/v1/nothing']) {
        const answer = await call(url, 'GET', path, { headers: { traceparent } });
        t.equal(answer.headers.get('x-trace-id') === traceId, isTaken, traceparent);
        t.equal(answer.body.error.traceId, answer.headers.get('x-trace-id'));
      }
    }
    const other = '1'.repeat(32);
    const twice = await rawCall(url, 'GET', sources, [
      `traceparent: 00-${traceId}-${parent}-01`,
      `traceparent: 00-${other}-${parent}-01`,
    ]);
    const own = twice?.headers['x-trace-id']?.[0] ?? '';
    t.match(own, /^[0-9a-f]{32}$/);
    t.notOk([traceId, other].includes(own), 'two of them are no choice');
  },
);

t.test(
  'RateLimit and its policy are on every answer to a valid key, errors included',
  async (t) => {
    const { email, token, key } = await gateway.user();
    const narrow = await createKey(url, token, { scopes: ['events:read'] });
    const answers: Answer[] = [
      await get(url, sources, key),
      await submit(url, key, signal()),
      await submit(url, key, '{'),
      await submit(url, key, {}),
      await submit(url, key, 'x'.repeat(66_000)),
      await call(url, 'POST', '/api/v1/signals', { headers: bearer(key) }),
      await call(url, 'POST', '/api/v1/signals', { headers: { ...json, ...bearer(key) } }),
      await call(url, 'POST', '/api/v1/orders/ord_x/cancel', {
        headers: { ...bearer(key), 'idempotency-key': 'k' },
      }),
      await get(url, '/api/v1/signals/req_x', key),
      await get(url, '/api/v1/terminal-events/stream', key),
      await get(url, stream, key),
    ];
    await gateway.command('user', 'set', email, '--frozen', 'true');
    answers.push(await submit(url, key, signal()));
    t.same(
      answers.map(({ status }) => status),
      [200, 202, 400, 422, 413, 415, 400, 404, 404, 400, 404, 403],
    );
    for (const [index, answer] of answers.entries()) {
      t.equal(answer.headers.get('ratelimit-policy'), '"key";q=1200;w=60', `${index}`);
      const [, remaining, seconds] =
        /^"key";r=(\d+);t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '') ?? [];
      t.equal(Number(remaining), 1199 - index, `${index}`);
      t.ok(Number(seconds) >= 1 && Number(seconds) <= 60, `${index}`);
    }
    const other = await get(url, read, narrow.key);
    t.equal(other.status, 403);
    t.match(other.headers.get('ratelimit'), /^"key";r=1199;/, 'each key has a limit of its own');
    await gateway.command('user', 'set', email, '--plan', 'basic');
    t.match((await get(url, sources, narrow.key)).headers.get('ratelimit'), /^"key";r=1198;/);
  },
);

t.test('unknown query parameters are ignored', async (t) => {
  t.equal((await get(url, `${sources}?a=%zz&b=%4&a&%00`, user.key)).status, 200);
  t.equal((await get(url, `${read}?x`, user.key)).status, 200);
});
