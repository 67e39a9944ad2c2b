/**
 * The other sides of submit: the ceiling does the work that the gateway was seen to do, and the peer gives
 * the gateway's answers. So the gateway is not compared with an easier task.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import '../support/alone.js';
import { startCeiling } from '../../bench/benches/submit.js';
import { missing } from '../../bench/measure/requirements.js';
import { thisProduct } from '../../bench/measure/product.js';
import { entriesOf, watchAcceptance } from '../../bench/sides/acceptance-puts.js';
import { startFastifyPeer } from '../../bench/sides/fastify-peer.js';
import { startGateway } from '../../bench/sides/gateway.js';
import { type Population, populate } from '../../bench/sides/population.js';
import { copyOf, queueing, retain } from '../../bench/sides/retained.js';

const product = thisProduct;

async function population(): Promise<Population> {
  const made = await populate({ product, users: 2, keysPerUser: 1 });
  await retain({ product, population: made, requests: 0 });
  return made;
}

function emptyDirectory(t: Test): string {
  const directory = join(t.testdir(), 'other');
  mkdirSync(directory);
  return directory;
}

interface Request {
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly contentType?: string;
  readonly body: unknown;
}

function send(url: string, { key, idempotencyKey, contentType, body }: Request) {
  return fetch(`${url}/api/v1/signals`, {
    method: 'POST',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      'content-type': contentType ?? 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

t.test('the ceiling puts as many entries of the same sizes as an acceptance does', async (t) => {
  const users = await population();
  const watched = await watchAcceptance(product, users, queueing);
  t.match(
    watched.puts.map(({ collection }) => collection).sort(),
    ['idempotency', 'openExecutions', 'requests', 'signalIds'],
    'all that the 202 promises, and nothing that is written now and then',
  );
  for (const put of watched.puts) t.ok(put.keyBytes > 26 && put.valueBytes > 26, put.collection);

  const directory = emptyDirectory(t);
  const ceiling = await startCeiling('lmdb', directory, users, watched);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => send(ceiling.url, { body: { any: 'body' } })),
  );
  await ceiling.stop();
  for (const answer of answers) {
    t.equal(answer.status, 202);
    t.equal(await answer.text(), watched.answer.body);
    for (const [name, value] of watched.answer.headers) t.equal(answer.headers.get(name), value);
  }
  const stored = await entriesOf(directory);
  t.equal(stored.size, watched.puts.length);
  watched.puts.forEach(({ collection, keyBytes, valueBytes }, index) => {
    const entries = [...(stored.get(`${index}-${collection}`) ?? [])];
    t.equal(entries.length, 12);
    t.ok(entries.every(([key, bytes]) => key.length === keyBytes && bytes === valueBytes));
  });
});

t.test(
  'the ceiling with a log writes as many bytes as the puts of an acceptance have',
  async (t) => {
    const puts = [
      { collection: 'a', keyBytes: 30, valueBytes: 300 },
      { collection: 'b', keyBytes: 40, valueBytes: 400 },
    ];
    const answer = { statusLine: '202 Accepted', headers: [], body: '{}' };
    const users = { dataDir: '', users: [], keys: [] };
    const directory = emptyDirectory(t);
    const ceiling = await startCeiling('log', directory, users, { puts, answer });
    for (let i = 0; i < 3; i++) {
      const got = await send(ceiling.url, { body: { any: 'body' } });
      t.equal(got.status, 202);
      t.equal(await got.text(), '{}');
    }
    await ceiling.stop();
    const log = readFileSync(join(directory, 'log'));
    const written = log.indexOf(0);
    t.ok(written >= 3 * (30 + 300 + 40 + 400), `${written} bytes`);
    t.ok(written < 3 * 1_000, `${written} bytes`);
  },
);

/** @returns the answer without what each side makes up: ids, times and the words of a message. */
async function essence(answer: Response) {
  const body = (await answer.json()) as any;
  const header = (name: string) => answer.headers.get(name);
  return {
    status: answer.status,
    code: body.error?.code,
    details: body.error?.details,
    fields: Object.keys(body.error ?? body),
    signalId: body.signalId,
    traceId: header('x-trace-id')?.length,
    location: header('location')?.length,
    replayed: header('idempotent-replayed'),
    contentType: header('content-type'),
    policy: header('ratelimit-policy'),
    remaining: /r=\d+/.exec(header('ratelimit') ?? '')?.[0],
    retryAfter: header('retry-after') !== null,
  };
}

t.test(
  'the peer answers as the gateway does',
  { skip: missing(['peers']).length > 0 && 'run bench/setup.sh for the peers' },
  async (t) => {
    const users = await population();
    const peer = await startFastifyPeer(emptyDirectory(t), users);
    t.teardown(() => peer.stop());
    const gateway = await startGateway({ product, population: copyOf(users), config: queueing });
    t.teardown(() => gateway.stop());
    const [key = '', otherKey = ''] = users.keys;
    const now = Date.now();
    const signal = (changes: object = {}) => ({
      v: 1,
      signalId: 'one',
      ts: now,
      ttlMs: 300_000,
      platform: 'terminal_a',
      type: 'order',
      cmd: 'submit',
      payload: { instrument: 'EURUSD', side: 'buy', executionType: 'market', quantity: 1 },
      ...changes,
    });
    const wrong = { v: 2, signalId: '', ts: 0.5, ttlMs: 0, platform: '', type: '', cmd: '' };
    const deep = `${'['.repeat(17)}${']'.repeat(17)}`;

    const requests: Record<string, Request> = {
      accepted: { key, idempotencyKey: 'a', body: signal() },
      replayed: { key, idempotencyKey: ' a ', body: signal() },
      conflict: { key, idempotencyKey: 'a', body: signal({ signalId: 'two' }) },
      'signalId taken': { key, idempotencyKey: 'b', body: signal() },
      'two terminals': {
        key,
        idempotencyKey: 'c',
        body: signal({ signalId: 'three', platform: ' terminal_a , terminal_b' }),
      },
      "another user's signalId": { key: otherKey, idempotencyKey: 'a', body: signal() },
      'unknown key': { key: `svc_api_${'x'.repeat(43)}`, idempotencyKey: 'd', body: signal() },
      'no key': { idempotencyKey: 'd', body: signal() },
      'no Idempotency-Key': { key, body: signal() },
      'long Idempotency-Key': { key, idempotencyKey: 'x'.repeat(129), body: signal() },
      'media type': { key, idempotencyKey: 'd', contentType: 'text/plain', body: signal() },
      'too large': { key, idempotencyKey: 'd', body: 'x'.repeat(65_537) },
      malformed: { key, idempotencyKey: 'd', body: '{' },
      'too deep': { key, idempotencyKey: 'd', body: deep },
      'no object': { key, idempotencyKey: 'd', body: [] },
      'all missing': { key, idempotencyKey: 'd', body: {} },
      'all wrong': { key, idempotencyKey: 'd', body: { ...wrong, payload: [], instanceId: '' } },
      future: { key, idempotencyKey: 'd', body: signal({ signalId: 'd', ts: now + 600_000 }) },
      expired: { key, idempotencyKey: 'd', body: signal({ signalId: 'd', ts: now - 600_000 }) },
      'unknown platform': {
        key,
        idempotencyKey: 'd',
        body: signal({ signalId: 'd', platform: 'terminal_a,nosuch' }),
      },
    };
    for (const [name, request] of Object.entries(requests)) {
      const ours = await essence(await send(gateway.url, request));
      t.same(await essence(await send(peer.url, request)), ours, `${name}: ${ours.status}`);
    }
  },
);

t.test(
  'the peer gives a key its 1200 requests a minute, and not one more',
  { skip: missing(['peers']).length > 0 && 'run bench/setup.sh for the peers' },
  async (t) => {
    const users = await population();
    const peer = await startFastifyPeer(emptyDirectory(t), users);
    t.teardown(() => peer.stop());
    const request: Request = { key: users.keys[0] as string, body: '{}' };
    const statuses = new Map<number, number>();
    for (let batch = 0; batch < 25; batch++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => send(peer.url, request)));
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    t.same(Object.fromEntries(statuses), { 400: 1_200, 429: 50 });
  },
);
