/** One operation per Idempotency-Key and user: replay, conflict, in progress, and when a key is free. */
import { join } from 'node:path';
import t from 'tap';
import { WallClock } from '../harness/time/wall-clock.js';
import {
  type Answer,
  bearer,
  call,
  codeOf,
  createKey,
  json,
  signal,
  status,
  submit,
  submitOnce,
  verdict,
} from '../support/api.js';
import { openPlugin } from '../support/plugin.js';
import { rawCall, request, RawClient } from '../support/raw-client.js';
import { until } from '../support/eventually.js';
import { startTestGateway, type TestUser } from '../support/gateway.js';
import { socketFolder } from '../support/socket-folder.js';
import { dayOfAtLeast } from '../support/utc-day.js';

const plans = {
  business: { publicApi: true, signalsPerMinute: 1_000, signalsPerDay: 100_000 },
  small: { publicApi: true, signalsPerMinute: 1_000, signalsPerDay: 2 },
};
const idempotencyRetentionMs = 3_600_000;
const clock = new WallClock(join(socketFolder(t), 'clock'));
const gateway = await startTestGateway(t, {
  limits: { idempotencyRetentionMs },
  plans,
  environment: clock.environment,
});

function cancel(user: TestUser, orderRef: string, key: string, body?: string): Promise<Answer> {
  return call(gateway.url, 'POST', `/api/v1/orders/${orderRef}/cancel`, {
    headers: { ...bearer(user.key), 'idempotency-key': key },
    ...(body === undefined ? {} : { body }),
  });
}

t.test('a retry gets the stored answer byte for byte, and is marked as replayed', async (t) => {
  const { key } = await gateway.user();
  const body = JSON.stringify(signal());
  const first = await submit(gateway.url, key, body, 'k');
  for (let i = 0; i < 3; i++) {
    const again = await submit(gateway.url, key, body, 'k');
    t.equal(again.status, 202);
    t.equal(again.text, first.text);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    t.equal(again.headers.get('location'), first.headers.get('location'));
    t.equal(again.headers.get('content-type'), first.headers.get('content-type'));
  }
  t.equal(first.headers.get('idempotent-replayed'), null);
});

t.test('a retry runs nothing again: the terminal gets one frame', async (t) => {
  const { key, sessionToken } = await gateway.user();
  const plugin = await openPlugin(gateway.url, sessionToken);
  t.teardown(() => plugin.close());
  const body = JSON.stringify(signal());
  const first = await submit(gateway.url, key, body, 'k');
  await submit(gateway.url, key, body, 'k');
  const next = await submit(gateway.url, key, signal(), 'next');
  await plugin.next('submit', { requestId: next.body.requestId });
  t.same(
    plugin.frames.filter(({ type }) => type === 'submit').map(({ requestId }) => requestId),
    [first.body.requestId],
  );
});

t.test('a retry succeeds after the TTL has passed, and a new operation would not', async (t) => {
  const { key } = await gateway.user();
  const ttlMs = 60_000;
  const fields = signal({ ttlMs });
  const body = JSON.stringify(fields);
  const first = await submit(gateway.url, key, body, 'k');
  t.equal(first.status, 202);
  await clock.set(ttlMs + 1);
  const again = await submit(gateway.url, key, body, 'k');
  t.equal(again.text, first.text);
  const other = await submit(gateway.url, key, { ...fields, signalId: 'other' }, 'other');
  t.same(other.body.error.details, [{ field: 'ttlMs', code: 'signal_expired' }]);
  await clock.set(0);
});

t.test('a retry uses no quota, and is answered when the quota is used up', async (t) => {
  await dayOfAtLeast(20_000);
  const { key } = await gateway.user({ plan: 'small' });
  const body = JSON.stringify(signal());
  const first = await submit(gateway.url, key, body, 'k');
  for (let i = 0; i < 5; i++) await submit(gateway.url, key, body, 'k');
  t.equal((await submit(gateway.url, key, signal())).status, 202);
  t.equal(codeOf(await submit(gateway.url, key, signal())), 'daily_signal_limit_exceeded');
  t.equal((await submit(gateway.url, key, body, 'k')).text, first.text);
});

t.test('another body under the key is a conflict, down to one space', async (t) => {
  const { key } = await gateway.user();
  const body = JSON.stringify(signal());
  await submit(gateway.url, key, body, 'k');
  for (const other of [
    `${body} `,
    ` ${body}`,
    body.replace('{"v":1,', '{"v": 1,'),
    JSON.stringify(signal()),
    '{',
    'null',
  ]) {
    t.equal(
      verdict(await submit(gateway.url, key, other, 'k')),
      '409 idempotency_conflict',
      other.slice(0, 12),
    );
  }
  t.equal(
    (await submit(gateway.url, key, body, 'k')).status,
    202,
    'the first one is still answered',
  );
});

t.test('the key is trimmed of outer spaces, and nothing else is made equal', async (t) => {
  const { key } = await gateway.user();
  const body = JSON.stringify(signal());
  const lines = (idempotencyKey: string) => [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Idempotency-Key:${idempotencyKey}`,
  ];
  const first = await rawCall(gateway.url, 'POST', '/api/v1/signals', lines('Key'), body);
  for (const same of [' Key', '   Key   ', 'Key ']) {
    const again = await rawCall(gateway.url, 'POST', '/api/v1/signals', lines(same), body);
    t.equal(again?.body, first?.body, `"${same}"`);
    t.same(again?.headers['idempotent-replayed'], ['true']);
  }
  for (const other of ['key', 'K ey', 'Key.', '"Key"']) {
    const answer = await rawCall(gateway.url, 'POST', '/api/v1/signals', lines(other), body);
    t.equal(answer?.status, 409, other);
    t.match(answer?.body, 'duplicate_signal_id', other);
  }
});

t.test(
  'a key belongs to the user: shared by all of his API keys, and by nobody else',
  async (t) => {
    const ann = await gateway.user();
    const bob = await gateway.user();
    const second = await createKey(gateway.url, ann.token);
    const body = JSON.stringify(signal());
    const first = await submit(gateway.url, ann.key, body, 'shared');
    const again = await submit(gateway.url, second.key, body, 'shared');
    t.equal(again.text, first.text);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    t.equal(
      codeOf(await submit(gateway.url, second.key, signal(), 'shared')),
      'idempotency_conflict',
    );
    const others = await submit(gateway.url, bob.key, body, 'shared');
    t.equal(others.status, 202);
    t.equal(others.headers.get('idempotent-replayed'), null);
    t.not(others.body.requestId, first.body.requestId);
  },
);

t.test(
  'of 50 identical requests at once one is accepted, and all that succeed get its answer',
  async (t) => {
    const { key, sessionToken } = await gateway.user();
    const plugin = await openPlugin(gateway.url, sessionToken);
    t.teardown(() => plugin.close());
    for (let round = 0; round < 5; round++) {
      const body = JSON.stringify(signal());
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => submitOnce(gateway.url, key, body, `round-${round}`)),
      );
      const accepted = answers.filter(({ status }) => status === 202);
      const busy = answers.filter(({ status }) => status !== 202);
      t.equal(new Set(accepted.map(({ text }) => text)).size, 1);
      t.equal(
        accepted.filter(({ headers }) => headers.get('idempotent-replayed') === null).length,
        1,
      );
      for (const answer of busy) {
        t.equal(verdict(answer), '409 request_in_progress');
        t.ok(Number(answer.headers.get('retry-after')) >= 1);
      }
      const frame = await plugin.next('submit', { requestId: accepted[0]?.body.requestId });
      t.ok(frame['executionId']);
    }
    const last = await submit(gateway.url, key, signal());
    await plugin.next('submit', { requestId: last.body.requestId });
    t.equal(
      plugin.frames.filter(({ type }) => type === 'submit').length,
      0,
      'no second frame for any',
    );
  },
);

t.test(
  'an acceptance under way is request_in_progress to a retry and a conflict to another body',
  async (t) => {
    const { key } = await gateway.user();
    const lines = [
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      'Idempotency-Key: k',
    ];
    const seen = new Set<string>();
    await until(
      async () => {
        const body = JSON.stringify(signal());
        const name = `k-${Math.random()}`;
        const head = lines.map((line) => line.replace(/ k$/, ` ${name}`));
        const clients = await Promise.all(
          Array.from({ length: 12 }, () => RawClient.connect(gateway.url)),
        );
        clients.forEach(
          (client, index) =>
            void client.send(
              request('POST', '/api/v1/signals', head, index % 2 === 0 ? body : `${body} `),
            ),
        );
        const answers = await Promise.all(clients.map((client) => client.answer()));
        for (const client of clients) client.cut();
        const accepted = answers.filter((answer) => answer?.status === 202);
        t.equal(new Set(accepted.map((answer) => answer?.body)).size, 1, 'one body wins');
        for (const answer of answers)
          seen.add(answer?.status === 202 ? 'accepted' : JSON.parse(answer?.body ?? '').error.code);
        return seen;
      },
      (codes) => codes.has('request_in_progress') && codes.has('idempotency_conflict'),
    );
    t.same([...seen].sort(), ['accepted', 'idempotency_conflict', 'request_in_progress']);
  },
);

t.test('the same key for the other endpoint is a conflict, in both directions', async (t) => {
  const user = await gateway.user();
  const plugin = await openPlugin(gateway.url, user.sessionToken);
  t.teardown(() => plugin.close());
  const body = JSON.stringify(signal());
  const { requestId } = (await submit(gateway.url, user.key, body, 'for-submit')).body;
  const frame = await plugin.next('submit', { requestId });
  const orderRef = String(frame['orderRef']);
  plugin.send({ type: 'report', seq: 1, executionId: frame['executionId'], status: 'working' });
  await until(
    () => status(gateway.url, user.key, requestId),
    (answer) => answer.body.executions[0].status === 'working',
  );
  t.equal(verdict(await cancel(user, orderRef, 'for-submit')), '409 idempotency_conflict');
  t.equal((await cancel(user, orderRef, 'for-cancel')).status, 202);
  t.equal(
    verdict(await submit(gateway.url, user.key, signal(), 'for-cancel')),
    '409 idempotency_conflict',
  );
  t.equal(
    verdict(await submit(gateway.url, user.key, `cancel ${orderRef}`, 'for-cancel')),
    '409 idempotency_conflict',
  );
});

t.test('replays survive a drained and a killed gateway, byte for byte', async (t) => {
  const { key } = await gateway.user();
  const body = JSON.stringify(signal());
  const first = await submit(gateway.url, key, body, 'k');
  for (const end of ['stop', 'kill'] as const) {
    await gateway.process[end]();
    await gateway.start();
    const again = await submit(gateway.url, key, body, 'k');
    t.equal(again.status, 202, end);
    t.equal(again.text, first.text, end);
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    t.equal(codeOf(await submit(gateway.url, key, signal(), 'k')), 'idempotency_conflict');
    const other = await submit(gateway.url, key, body, 'other');
    t.equal(codeOf(other), 'duplicate_signal_id');
    t.equal(other.body.requestId, first.body.requestId, 'who has lost the key finds the request');
  }
});

t.test('after its retention a key is free again, and the signalId is not', async (t) => {
  const { key } = await gateway.user();
  const { signalId, ...fields } = signal();
  const body = JSON.stringify({ ...fields, signalId });
  const first = await submit(gateway.url, key, body, 'k');
  await clock.set(idempotencyRetentionMs / 2);
  t.equal((await submit(gateway.url, key, body, 'k')).text, first.text, 'not before its time');
  await clock.set(idempotencyRetentionMs);
  const later = { ts: clock.now() };
  const freed = await submit(gateway.url, key, signal({ ...later, signalId }), 'k');
  t.equal(verdict(freed), '409 duplicate_signal_id');
  const next = await submit(gateway.url, key, signal(later), 'k');
  t.equal(next.status, 202);
  t.equal(next.headers.get('idempotent-replayed'), null);
  await clock.set(0);
});

t.test('an abort before the answer leaves one operation behind its key', async (t) => {
  const { key } = await gateway.user();
  const lines = [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Idempotency-Key: aborted',
  ];
  const body = JSON.stringify(signal());
  const client = await RawClient.connect(gateway.url);
  await client.send(request('POST', '/api/v1/signals', lines, body));
  client.cut();
  const again = await submit(gateway.url, key, body, 'aborted');
  t.equal(again.status, 202);
  t.equal((await submit(gateway.url, key, body, 'aborted')).text, again.text);
  const unheard = await call(gateway.url, 'POST', '/api/v1/signals', {
    headers: { ...json, ...bearer(key), 'idempotency-key': 'never-used' },
    body,
  });
  t.equal(codeOf(unheard), 'duplicate_signal_id');
});
