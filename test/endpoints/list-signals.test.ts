/** GET /api/v1/signals: its query, its pages and its refusals, and that a burst of them delays nobody. */
import t from 'tap';
import { bearer, call, codeOf, createKey, get, signal, status, submit } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';

const gateway = await startTestGateway(t);
const { url } = gateway;
const path = '/api/v1/signals';

t.test('a user sees what all of its keys have sent, newest first, page by page', async (t) => {
  const user = await gateway.user();
  const second = await createKey(url, user.token);
  const sent: string[] = [];
  for (const key of [user.key, second.key, user.key, second.key, user.key]) {
    sent.unshift((await submit(url, key, signal({ platform: 'terminal_b' }))).body.requestId);
  }
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  await gateway.becomes(user, order.requestId, 'dispatched');
  const all = await get(url, path, user.key);
  t.equal(all.status, 200);
  const ids = (answer: { body: any }): string[] =>
    answer.body.signals.map(({ requestId }: { requestId: string }) => requestId);
  t.same(ids(all), [order.requestId, ...sent]);
  t.equal(all.body.next, null);
  const own = await status(url, user.key, order.requestId);
  t.same(all.body.signals[0], own.body, 'each as its own answer');

  t.same(ids(await get(url, `${path}?status=open`, user.key)), [order.requestId]);
  t.same(ids(await get(url, `${path}?status=completed&limit=200`, user.key)), sent);
  const first = await get(url, `${path}?limit=2&status=all`, user.key);
  t.same(ids(first), [order.requestId, sent[0]]);
  t.equal(first.body.next, sent[0]);
  const rest = await get(url, `${path}?before=${first.body.next}`, user.key);
  t.same(ids(rest), sent.slice(1));
  plugin.close();
});

t.test('a user without signals has an empty page', async (t) => {
  const user = await gateway.user();
  t.same((await get(url, path, user.key)).body, { signals: [], next: null });
});

t.test('a query that is none is 400 invalid_query', async (t) => {
  const user = await gateway.user();
  const wrong = [
    'status=done',
    'status=',
    'status=open&status=open',
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=1e1',
    'limit=07',
    'limit=',
    'limit=1&limit=2',
    'before=',
    'before=req_1',
    `before=exe_${'0'.repeat(26)}_0`,
    'state=open',
    'Status=open',
    'limit=2&page=3',
  ];
  for (const query of wrong) {
    const answer = await get(url, `${path}?${query}`, user.key);
    t.equal(answer.status, 400, query);
    t.equal(codeOf(answer), 'invalid_query');
    t.match(
      answer.body.error.message,
      /status \(open, completed, all\), limit .* 1 to 200.*before/,
    );
    t.equal(answer.body.error.traceId, answer.headers.get('x-trace-id'));
  }
});

t.test('the key needs signals:read; POST is beside it, others are not allowed', async (t) => {
  const user = await gateway.user();
  const { key } = await createKey(url, user.token, { scopes: ['signals:write'] });
  t.equal(codeOf(await get(url, `${path}?status=none`, key)), 'insufficient_scope');
  const head = await call(url, 'HEAD', path, { headers: bearer(user.key) });
  t.equal(head.status, 200);
  t.equal(head.text, '');
  const put = await call(url, 'PUT', path, { headers: bearer(user.key) });
  t.equal(put.status, 405);
  t.equal(put.headers.get('allow'), 'POST, GET, HEAD');
});

t.test('a wait ends with the completion, or when its time is over', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  const wait = (waitMs: number | string) =>
    get(url, `${path}/${order.requestId}?waitMs=${waitMs}`, user.key);
  const begin = performance.now();
  t.equal((await wait(200)).body.status, 'accepted');
  t.ok(performance.now() - begin >= 200);
  t.equal((await wait(0)).body.status, 'accepted');

  const waiting = [wait(30_000), wait(30_000)];
  plugin.send({ type: 'report', seq: 1, executionId: order.executionId, status: 'rejected' });
  for (const { status: code, body } of await Promise.all(waiting)) {
    t.equal(code, 200);
    t.match(body, { status: 'completed', executions: [{ status: 'rejected' }] });
  }
  t.equal((await wait(30_000)).body.status, 'completed', 'one that is completed answers at once');
  for (const wrong of ['-1', '30001', '1.5', '', 'x', '1&waitMs=1']) {
    t.equal(codeOf(await wait(wrong)), 'invalid_query', wrong);
  }
  const none = `${path}/req_${'0'.repeat(26)}?waitMs=30000`;
  t.equal(codeOf(await get(url, none, user.key)), 'request_not_found', 'at once');
  plugin.close();
});

t.test('a wait of a key that is revoked ends with 401', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  const waiting = get(url, `${path}/${order.requestId}?waitMs=30000`, user.key);
  await get(url, `${path}/${order.requestId}?waitMs=50`, user.key);
  await call(url, 'DELETE', `/api/api-keys/${user.keyId}`, { headers: bearer(user.token) });
  t.equal(codeOf(await waiting), 'invalid_api_key');
  plugin.close();
});

t.test('a client that leaves frees its wait, and a drain answers those that wait', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const order = await gateway.order(user, plugin);
  const gone = new AbortController();
  const left = fetch(`${url}${path}/${order.requestId}?waitMs=30000`, {
    headers: bearer(user.key),
    signal: gone.signal,
  });
  await get(url, `${path}/${order.requestId}?waitMs=50`, user.key);
  gone.abort();
  await t.rejects(left);
  const waiting = get(url, `${path}/${order.requestId}?waitMs=30000`, user.key);
  await get(url, `${path}/${order.requestId}?waitMs=50`, user.key);
  const [{ body }, code] = await Promise.all([waiting, gateway.process.stop()]);
  t.match(body, { requestId: order.requestId, executions: [{}] }, 'with what is known');
  t.equal(code, 0);
});
