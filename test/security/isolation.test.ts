/**
 * What belongs to a user does not exist for another: the answer is the same, byte for byte, as for a thing
 * that never was, and there is no effect. Each route of the table has a row, so that a new route has to say
 * here what of a user's it serves.
 */
import t, { type Test } from 'tap';
import { bearer, call, json, signal, type Answer } from '../support/api.js';
import type { Operation } from '../../src/routes.js';
import { event, report, tell } from '../support/frames.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { openReader } from '../support/event-reader.js';
import { connectPlugin, hello } from '../support/plugin.js';

const gateway = await startTestGateway(t, { users: 2 });
const ann = await gateway.user();
const eve = await gateway.user();
const terminal = await gateway.plugin(ann);
const order = await gateway.order(ann, terminal, { signalId: 'ann-1' });
await tell(terminal, report(1, order.executionId, 'working'));
const sent = JSON.stringify(signal({ signalId: 'ann-2', platform: 'terminal_b' }));
const stored = await ask(ann, 'POST', '/api/v1/signals', 'ann-key', sent);
/** What Ann sees of her own before Eve has tried anything. */
const before = await annsView();

type Row =
  /** A thing of Ann's, and one of the same kind that never was. */
  | { readonly own: string; readonly none: string; readonly ask: (name: string) => Promise<Answer> }
  /** Lists what the caller has: nothing in it may be Ann's. */
  | { readonly list: () => Promise<Answer> }
  /** The route cannot name a thing of a user's; the text says why. */
  | { readonly nothing: string };

/** The requests are Eve's. */
const rows: Readonly<Record<Operation, Row>> = {
  login: { nothing: 'an email and a password name no one but their own user' },
  'create-key': { nothing: 'a key is made for who asks' },
  'read-openapi': { nothing: 'the same for everybody' },
  'read-openapi-3-0': { nothing: 'the same for everybody' },
  'list-keys': { list: () => ask(eve, 'GET', '/api/api-keys') },
  'cancel-all': { nothing: 'the orders of who asks; see the test below' },
  'read-cancel-after': { nothing: 'the switch of the key that asks' },
  'set-cancel-after': { nothing: 'the switch of the key that asks' },
  'list-sources': { list: () => ask(eve, 'GET', '/api/v1/terminal-events/sources') },
  'revoke-key': {
    own: `${ann.keyId}`,
    none: '7777',
    ask: (id) => ask(eve, 'DELETE', `/api/api-keys/${id}`),
  },
  'submit-signal': {
    own: 'ann-key',
    none: 'no-key',
    // If Ann's key were seen here, this body would be a conflict.
    ask: (key) => ask(eve, 'POST', '/api/v1/signals', key, '{}'),
  },
  'list-signals': { list: () => ask(eve, 'GET', '/api/v1/signals') },
  'read-signal': {
    own: order.requestId,
    none: sibling(order.requestId),
    ask: (id) => ask(eve, 'GET', `/api/v1/signals/${id}`),
  },
  'cancel-order': {
    own: order.orderRef,
    none: sibling(order.orderRef),
    ask: (ref) => ask(eve, 'POST', `/api/v1/orders/${ref}/cancel`, 'eve-1'),
  },
  'read-snapshot': {
    own: hello.accountName,
    none: 'Sim999',
    ask: (accountName) =>
      ask(
        eve,
        'GET',
        `/api/v1/terminal-events/snapshot?platform=${hello.platform}&instanceId=${hello.instanceId}&accountName=${accountName}`,
      ),
  },
  'stream-events': {
    own: hello.accountName,
    none: 'Sim999',
    ask: (accountName) =>
      ask(
        eve,
        'GET',
        `/api/v1/terminal-events/stream?platform=${hello.platform}&instanceId=${hello.instanceId}&accountName=${accountName}`,
      ),
  },
};

t.test('Ann has something that could be taken', async (t) => {
  t.match(before, {
    keys: 1,
    key: { id: ann.keyId, revokedAt: null },
    source: { accountName: hello.accountName, connected: true },
    execution: { status: 'working', cancel: null },
  });
});

for (const [operation, row] of Object.entries(rows)) {
  if ('nothing' in row) continue;
  t.test(`${operation}: what is another user’s is not there`, async (t) => {
    if ('list' in row) {
      const { status, text } = await row.list();
      t.equal(status, 200);
      const anns = [order.requestId, ann.key.slice(0, 14), `"id":${ann.keyId},`, hello.accountName];
      for (const word of anns) t.notOk(text.includes(word), word);
    } else {
      const own = await row.ask(row.own);
      t.ok(own.status >= 400, `${own.status}`);
      t.same(comparable(own), comparable(await row.ask(row.none)));
      t.notOk(own.text.includes(row.own), 'and is not repeated');
    }
    t.same(await annsView(), before, 'Ann’s is as it was');
  });
}

t.test('cancel-all cancels the orders of who asks', async (t) => {
  const answer = await ask(eve, 'POST', '/api/v1/orders/cancel-all', 'eve-all', '{}');
  t.match(answer, { status: 202, body: { matched: 0, orders: [] } });
  t.same(await annsView(), before, 'Ann’s is as it was');
});

t.test('Idempotency-Key and signalId are each user’s own', async (t) => {
  const answer = await ask(eve, 'POST', '/api/v1/signals', 'ann-key', sent);
  t.equal(answer.status, 202, 'the very same request is Eve’s first');
  t.equal(answer.headers.get('idempotent-replayed'), null);
  t.not(answer.body.requestId, stored.body.requestId);
  const replayed = await ask(ann, 'POST', '/api/v1/signals', 'ann-key', sent);
  t.equal(replayed.text, stored.text, 'and Ann’s is still hers');
});

t.test('a signal reaches the terminals of its sender alone', async (t) => {
  const requestId = await gateway.submit(eve);
  t.match(await gateway.execution(eve, requestId), { status: 'denied' }, 'Eve has no terminal');
  const next = await gateway.order(ann, terminal);
  t.notOk(terminal.frames.some((frame) => frame.type === 'submit'));
  t.notOk(next.requestId === requestId);
});

t.test('a terminal of the same name is another terminal', async (t) => {
  const own = await gateway.plugin(eve);
  t.equal(terminal.closed, undefined, 'it does not replace Ann’s');
  await sameRefusal(t, own, { type: 'ack', executionId: order.executionId });
  await sameRefusal(t, own, report(1, order.executionId, 'filled', { filledQuantity: 1 }));
  const { body } = await gateway.cancel(ann, order.orderRef);
  await terminal.next('cancel');
  const { cancelRequestId } = body;
  await sameRefusal(t, own, { type: 'ack', cancelRequestId });
  await sameRefusal(t, own, {
    type: 'cancel_report',
    seq: 3,
    cancelRequestId,
    status: 'cancelled',
  });
  const { executionId } = order;
  const knowing = await gateway.plugin(eve, { executions: [{ executionId, status: 'filled' }] });
  await tell(knowing, event(9));
  t.match(await gateway.execution(ann, order.requestId), {
    status: 'working',
    fills: [],
    cancel: { status: 'dispatched' },
  });
  knowing.cut();
});

t.test('a new terminal of the same name is not told what Ann’s has said', async (t) => {
  const own = await gateway.plugin(ann, { instanceId: 'desk-3' });
  await tell(own, event(41));
  const other = await connectPlugin(gateway.url, eve.sessionToken);
  other.send({ ...hello, instanceId: 'desk-3' });
  t.equal((await other.next('welcome'))['lastSeq'], 0);
  own.cut();
  other.cut();
});

t.test('events reach the readers of their own user alone, whatever they name', async (t) => {
  const own = await gateway.plugin(eve);
  const annReads = await openReader(gateway.url, ann.key);
  const eveReads = await openReader(gateway.url, eve.key);
  await tell(terminal, event(2, { data: { text: 'of Ann' } }));
  const { executionId, orderRef } = order;
  await tell(own, event(15, { data: { text: 'of Eve' }, executionId, orderRef }));
  const seen = await eveReads.next('terminal_message');
  t.match(seen.data, { data: { text: 'of Eve' }, executionId: null, orderRef: null });
  const back = await openReader(gateway.url, eve.key, {
    cursor: (await annReads.next('terminal_message')).id,
  });
  await tell(own, event(16, { data: { text: 'of Eve again' } }));
  await back.next('terminal_message', ({ data }) => data.text === 'of Eve again');
  for (const reader of [eveReads, back]) {
    t.notOk(reader.events.some(({ data }) => data.data?.text === 'of Ann'));
    reader.close();
  }
  t.notOk(annReads.events.some(({ data }) => /of Eve/.test(data.data?.text)));
  annReads.close();
  own.cut();
});

t.test('a limit that one user has spent leaves the other’s alone', async (t) => {
  const readers = await Promise.all([1, 2, 3].map(() => openReader(gateway.url, ann.key)));
  t.equal((await openReader(gateway.url, ann.key)).status, 429);
  const own = await gateway.plugin(eve);
  const eveReads = await openReader(gateway.url, eve.key);
  t.equal(eveReads.status, 200);
  for (const reader of [...readers, eveReads]) reader.close();
  own.cut();
});

/** Sends the frame about a thing of Ann's, then about one that never was: both are unknown to the gateway. */
async function sameRefusal(
  t: Test,
  plugin: Awaited<ReturnType<typeof gateway.plugin>>,
  frame: { readonly [field: string]: unknown },
): Promise<void> {
  const name = 'executionId' in frame ? 'executionId' : 'cancelRequestId';
  plugin.send(frame);
  const own = await plugin.next('error');
  const seq = typeof frame['seq'] === 'number' ? { seq: frame['seq'] + 1 } : {};
  plugin.send({ ...frame, ...seq, [name]: sibling(String(frame[name])) });
  t.same(own, await plugin.next('error'), `${String(frame['type'])} of ${name}`);
  t.match(own['code'], /^unknown_/);
}

async function annsView(): Promise<unknown> {
  const keys = await ask(ann, 'GET', '/api/api-keys');
  const sources = await ask(ann, 'GET', '/api/v1/terminal-events/sources');
  const [key, source] = [keys.body[0], sources.body.sources[0]];
  return {
    keys: keys.body.length,
    key: { ...key, lastUsedAt: null },
    source: { ...source, lastSeenAt: null },
    execution: await gateway.execution(ann, order.requestId),
  };
}

function ask(
  who: TestUser,
  method: string,
  path: string,
  idempotencyKey?: string,
  body?: string,
): Promise<Answer> {
  const token = path.startsWith('/api/v1/') ? who.key : who.token;
  return call(gateway.url, method, path, {
    headers: {
      ...bearer(token),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(body === undefined ? {} : json),
    },
    ...(body === undefined ? {} : { body }),
  });
}

/** An id of the same form that nobody has. */
function sibling(id: string): string {
  const letter = id.at(12) === 'Z' ? 'Y' : 'Z';
  return `${id.slice(0, 12)}${letter}${id.slice(13)}`;
}

/** @returns the answer without what differs each time. */
function comparable({ status, headers, text, body }: Answer): unknown {
  const passing = new Set(['date', 'x-trace-id', 'ratelimit']);
  const traceId = String(body?.error?.traceId);
  return {
    status,
    headers: [...headers].filter(([name]) => !passing.has(name)),
    text: text.replaceAll(traceId, ''),
  };
}
