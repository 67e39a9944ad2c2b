/** POST /api/v1/orders/cancel-all: its answer, its errors in order, and its idempotency. */
import { dirname, join } from 'node:path';
import t from 'tap';
import { bearer, call, codeOf, createKey, json, submit, signal, verdict } from '../support/api.js';
import { until } from '../support/eventually.js';
import { startTestGateway } from '../support/gateway.js';
import { rawCall } from '../support/raw-client.js';

const gateway = await startTestGateway(t);
let keys = 0;

interface Options {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

function cancelAll(user: { key: string }, { key, headers = json, body }: Options = {}) {
  return call(gateway.url, 'POST', '/api/v1/orders/cancel-all', {
    headers: { ...bearer(user.key), 'idempotency-key': key ?? `a${++keys}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

t.test('it cancels what is open, and its answer is replayed byte for byte', async (t) => {
  const { user, plugin, order } = await gateway.resting();
  const answer = await cancelAll(user, { key: 'all', body: '{"instrument":"ES"}' });
  t.equal(answer.status, 202);
  t.match(answer.body, {
    cancelAllId: /^cal_[0-9A-Z]{26}$/,
    matched: 1,
    truncated: false,
    orders: [
      {
        orderRef: order.orderRef,
        executionId: order.executionId,
        requestId: order.requestId,
        outcome: 'requested',
      },
    ],
  });
  const { cancelRequestId } = await plugin.next('cancel');
  t.equal(cancelRequestId, answer.body.orders[0].cancelRequestId);
  const again = await cancelAll(user, { key: 'all', body: '{"instrument":"ES"}' });
  t.equal(again.text, answer.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  t.equal(
    verdict(await cancelAll(user, { key: 'all' })),
    '409 idempotency_conflict',
    'another body',
  );
  const next = await cancelAll(user);
  t.match(next.body.orders, [{ outcome: 'already_requested', cancelRequestId }]);
  plugin.send({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
  const execution = await until(
    () => gateway.execution(user, order.requestId),
    ({ status }) => status === 'cancelled',
  );
  t.match(execution, { reasonCode: 'cancelled_by_api', cancel: { status: 'cancelled' } });
});

t.test('a body is optional: none, an empty one and {} mean all', async (t) => {
  const user = await gateway.user();
  for (const options of [
    { headers: {} },
    { headers: { 'content-type': 'text/plain' } },
    { body: '' },
    { body: '{}' },
  ]) {
    t.match(await cancelAll(user, options), { status: 202, body: { matched: 0, orders: [] } });
  }
});

t.test('a body in chunks needs a type only if it is not empty', async (t) => {
  const user = await gateway.user();
  const inChunks = (key: string, body: string, lines: readonly string[] = []) =>
    rawCall(
      gateway.url,
      'POST',
      '/api/v1/orders/cancel-all',
      [
        `Authorization: Bearer ${user.key}`,
        `Idempotency-Key: ${key}`,
        'Transfer-Encoding: chunked',
        ...lines,
      ],
      body,
    );
  const end = '0\r\n\r\n';
  const large = `${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n${end}`;
  t.match(await inChunks('c1', end), { status: 202 });
  t.match(await inChunks('c2', `2\r\n{}\r\n${end}`), { status: 415 });
  t.match(await inChunks('c2', large), { status: 415 });
  t.match(await inChunks('c2', large, ['Content-Type: application/json']), { status: 413 });
  t.match(await inChunks('c2', `2\r\n{}\r\n${end}`, ['Content-Type: application/json']), {
    status: 202,
  });
  t.match(await cancelAll(user, { key: 'c1', headers: {} }), { status: 202 }, 'the same request');
});

t.test('what is wrong with the filter is told in details, and nothing is cancelled', async (t) => {
  const user = await gateway.user();
  const cases: readonly [unknown, readonly string[]][] = [
    [[], ['$ object_required']],
    [null, ['$ object_required']],
    [{ platform: 'terminal_x' }, ['platform unsupported_platform']],
    [{ platform: 'terminal_a,' }, ['platform unsupported_platform']],
    [{ platform: 7 }, ['platform unsupported_platform']],
    [{ instanceId: '' }, ['instanceId invalid_length']],
    [
      { accountName: 'a'.repeat(129), instrument: 'i'.repeat(65), acount: 'x' },
      ['accountName invalid_length', 'instrument invalid_length', 'acount unknown_field'],
    ],
    [JSON.parse('{"__proto__":{}}'), ['__proto__ unknown_field']],
  ];
  for (const [body, expected] of cases) {
    const answer = await cancelAll(user, { body: JSON.stringify(body) });
    t.equal(verdict(answer), '422 invalid_filter');
    const details = answer.body.error.details as { field: string; code: string }[];
    t.same(
      details.map(({ field, code }) => `${field} ${code}`),
      expected,
    );
  }
});

t.test(
  'a filter may name every terminal, however short a stream’s or a signal’s names must be',
  async (t) => {
    const limits = { streamAccountNameLengthMax: 1, instanceIdLengthMax: 1 };
    const own = await startTestGateway(t, { limits });
    const { user, order } = await own.resting();
    const { instanceId, accountName } = await own.execution(user, order.requestId);
    const answer = await call(own.url, 'POST', '/api/v1/orders/cancel-all', {
      headers: { ...bearer(user.key), 'idempotency-key': 'k', ...json },
      body: JSON.stringify({ instanceId, accountName }),
    });
    t.match(answer, { status: 202, body: { matched: 1 } });
  },
);

t.test('the checks come in the contract’s order, each pair proved', async (t) => {
  const user = await gateway.user();
  await submit(gateway.url, user.key, signal(), 'used');
  const large = 'x'.repeat(70_000);
  const text = { 'content-type': 'text/plain' };
  const code = async (options: Options): Promise<unknown> => codeOf(await cancelAll(user, options));
  const bad = 'k'.repeat(129);
  t.equal(await code({ key: bad, headers: text, body: large }), 'invalid_idempotency_key');
  t.equal(await code({ headers: text, body: large }), 'unsupported_media_type');
  t.equal(await code({ key: 'used', body: large }), 'request_body_too_large');
  t.equal(await code({ key: 'used', body: '{' }), 'idempotency_conflict');
  t.equal(await code({ key: 'free', body: '{' }), 'malformed_json');
  t.equal(await code({ key: 'free', body: '{"a":1}' }), 'invalid_filter');
  t.equal(
    (await cancelAll(user, { key: 'free' })).status,
    202,
    'a refused one leaves its key free',
  );
});

t.test('the key needs the scope orders:cancel', async (t) => {
  const user = await gateway.user();
  const { key } = await createKey(gateway.url, user.token, { scopes: ['signals:read'] });
  t.equal(verdict(await cancelAll({ key })), '403 insufficient_scope');
});

t.test('of identical ones at once one is accepted and the rest replay or wait', async (t) => {
  const user = await gateway.user();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => cancelAll(user, { key: 'same' })),
  );
  const accepted = answers.filter(({ status }) => status === 202);
  t.equal(new Set(accepted.map(({ text }) => text)).size, 1);
  for (const answer of answers) {
    t.ok(answer.status === 202 || codeOf(answer) === 'request_in_progress');
  }
});

t.test(
  'after a crash the wait goes on, and the order is cancelled when the terminal is there',
  async (t) => {
    const { user, plugin, order } = await gateway.resting();
    plugin.cut();
    await until(
      () =>
        call(gateway.url, 'GET', '/api/v1/terminal-events/sources', { headers: bearer(user.key) }),
      ({ body }) => body.sources.every(({ connected }: { connected: boolean }) => !connected),
    );
    const answer = await cancelAll(user, { key: 'over the crash' });
    t.match(answer.body.orders, [{ outcome: 'requested' }]);
    await gateway.restart('SIGKILL');
    t.match(await gateway.execution(user, order.requestId), { cancel: { status: 'requested' } });
    t.equal((await cancelAll(user, { key: 'over the crash' })).text, answer.text);
    const again = await gateway.plugin(user);
    const { cancelRequestId } = await again.next('cancel');
    t.equal(cancelRequestId, answer.body.orders[0].cancelRequestId);
  },
);

t.test('the operator cancels too, with a reason of its own', async (t) => {
  const { user, plugin, order } = await gateway.resting();
  const command = (...more: string[]) =>
    gateway.command('user', 'cancel-all', user.email, ...more, '--json');
  t.match(JSON.parse(await command('--instrument', 'NQ')), { matched: 0 });
  t.match(JSON.parse(await command('--account', 'Sim101', '--platform', 'terminal_a')), {
    email: user.email,
    matched: 1,
    counts: { requested: 1, already_requested: 0, denied: 0, not_sent: 0 },
    orders: [{ orderRef: order.orderRef, outcome: 'requested' }],
  });
  const { cancelRequestId } = await plugin.next('cancel');
  plugin.send({ type: 'cancel_report', seq: 2, cancelRequestId, status: 'cancelled' });
  const execution = await until(
    () => gateway.execution(user, order.requestId),
    ({ status }) => status === 'cancelled',
  );
  t.match(execution, { reasonCode: 'cancelled_by_operator' });
});

t.test(
  'the operator is told a command that shows what is still open, and cancels nothing',
  async (t) => {
    const { user, plugin, order } = await gateway.resting();
    const said = await gateway.command('user', 'cancel-all', user.email);
    const later = await gateway.order(user, plugin);
    const [, named = ''] = /"signalbox ([^"]*)" shows what is still open/.exec(said) ?? [];
    const shown = await gateway.command(...named.split(' '));
    t.match(shown, order.requestId);
    t.match(shown, later.requestId);
    t.match(await gateway.execution(user, later.requestId), { cancel: null });
    plugin.close();
  },
);

t.test('one that would be lost with a move of its user is refused, and done later', async (t) => {
  const { user, order } = await gateway.resting();
  const { email } = user;
  const before = await cancelAll(user, { key: 'before', body: '{"instrument":"NQ"}' });
  const file = join(dirname(gateway.dataDir), 'moved.jsonl');
  await gateway.command('user', 'export', email, file, '--freeze');
  const refused = await cancelAll(user, { key: 'during' });
  t.equal(verdict(refused), '503 shutting_down');
  t.equal(refused.headers.get('retry-after'), '1');
  const again = await cancelAll(user, { key: 'before', body: '{"instrument":"NQ"}' });
  t.equal(again.text, before.text, 'one that was accepted is told again');
  await t.rejects(gateway.command('user', 'cancel-all', email), /is being moved.*--frozen false/s);
  t.match(await gateway.execution(user, order.requestId), { cancel: null });
  await gateway.command('user', 'set', email, '--frozen', 'false');
  t.match(await cancelAll(user, { key: 'during' }), { status: 202, body: { matched: 1 } });
});
