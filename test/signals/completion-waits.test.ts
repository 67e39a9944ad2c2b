/** Waits for the completion of a signal, and what ends them. */
import t, { type Test } from 'tap';
import type { KeyOwner } from '../../src/auth/api-key.js';
import type { KeyRefusal } from '../../src/auth/key-rights.js';
import type { ApiKey } from '../../src/model/records.js';
import {
  answersPerTurn,
  waitsPerTurn,
  waitsPerUserMax,
} from '../../src/signals/completion-waits.js';
import { SignalReader } from '../../src/signals/signal-reader.js';
import { report } from '../support/frames.js';
import { SimulatedGateway, turns, user } from '../support/simulated-gateway.js';

const waitMs = 30_000;
const key: ApiKey = {
  id: 1,
  userId: 'u1',
  name: 'bot',
  displayPrefix: 'svc_api_ab...',
  scopes: ['signals:read'],
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
};

/** A gateway with one signal at its terminal, and a wait for it that notes how it ended. */
async function setUp(t: Test, owner: KeyOwner = { user, key }) {
  const gateway = new SimulatedGateway();
  await gateway.store.write((batch) => {
    batch.put('users', 'u1', owner.user);
    batch.put('apiKeys', 'hash', owner.key);
    batch.put('apiKeyHashes', ['u1', owner.key.id], 'hash');
  });
  const plugin = await gateway.plugin();
  const [executionId = ''] = await gateway.submit();
  const { requestId } = gateway.execution(executionId);
  const reader = new SignalReader({ store: gateway.store, fillsMax: 10_000 });
  const ends: (KeyRefusal | 'answered')[] = [];
  const wait = () =>
    gateway.core.waits.begin({
      caller: owner,
      requestId,
      waitMs,
      isCompleted: () => reader.read('u1', requestId)?.isCompleted ?? true,
      end: (refusal) => ends.push(refusal ?? 'answered'),
    });
  const leave = wait();
  t.equal(gateway.core.waits.count, 1);
  return { gateway, plugin, executionId, ends, wait, leave, reader, requestId };
}

t.test('it ends with the report that completes the signal, once it is on disk', async (t) => {
  const { gateway, plugin, executionId, ends, reader, requestId } = await setUp(t);
  plugin.say(report(1, executionId, 'working'));
  await turns();
  t.same(ends, [], 'not final');
  plugin.say(report(2, executionId, 'rejected'));
  t.same(ends, [], 'not on disk');
  await turns();
  t.same(ends, ['answered']);
  t.equal(reader.read('u1', requestId)?.isCompleted, true);
  t.equal(gateway.core.waits.count, 0);
  await gateway.pass(waitMs);
  t.same(ends, ['answered'], 'once');
});

t.test('the end of one of its executions does not complete a signal', async (t) => {
  const { gateway } = await setUp(t);
  const second = await gateway.plugin({ instanceId: 'desk-2' });
  const ids = await gateway.submit();
  const { requestId } = gateway.execution(ids[0] as string);
  const reader = new SignalReader({ store: gateway.store, fillsMax: 10_000 });
  let ends = 0;
  gateway.core.waits.begin({
    caller: { user, key },
    requestId,
    waitMs,
    isCompleted: () => reader.read('u1', requestId)?.isCompleted ?? true,
    end: () => ends++,
  });
  second.say(report(1, ids[1] as string, 'rejected'));
  await turns();
  t.match(gateway.durable(ids[1] as string), { status: 'rejected' });
  t.equal(ends, 0);
});

t.test('it ends when the time is over', async (t) => {
  const { gateway, ends } = await setUp(t);
  await gateway.pass(waitMs - 1);
  t.same(ends, []);
  await gateway.pass(1);
  t.same(ends, ['answered']);
});

t.test('a gateway that drains answers at once', async (t) => {
  const { gateway, ends } = await setUp(t);
  gateway.core.waits.drain();
  t.same(ends, ['answered']);
  t.equal(gateway.core.waits.count, 0);
});

t.test('one that is given up is never ended', async (t) => {
  const { gateway, ends, leave } = await setUp(t);
  leave?.();
  t.equal(gateway.core.waits.count, 0);
  await gateway.pass(waitMs);
  t.same(ends, []);
});

const losses: [name: string, change: (gateway: SimulatedGateway) => Promise<void>, KeyRefusal][] = [
  [
    'the key is revoked',
    ({ store }) =>
      store.write((batch) => {
        batch.put('apiKeys', 'hash', { ...key, revokedAt: 1 });
        batch.remove('apiKeyHashes', ['u1', 1]);
      }),
    'invalid_api_key',
  ],
  [
    'the user is deleted',
    ({ store }) => store.write((batch) => batch.remove('users', 'u1')),
    'invalid_api_key',
  ],
  [
    'the plan is lost',
    ({ store }) => store.write((batch) => batch.put('users', 'u1', { ...user, plan: 'basic' })),
    'business_plan_required',
  ],
];
for (const [name, change, refusal] of losses) {
  t.test(`it ends with ${refusal} as soon as ${name}`, async (t) => {
    const { gateway, ends } = await setUp(t);
    await change(gateway);
    gateway.core.userChanged('u1');
    t.same(ends, [refusal]);
    t.equal(gateway.core.waits.count, 0);
  });
}

t.test('it ends when the Public API is disabled', async (t) => {
  const { gateway, ends } = await setUp(t);
  await gateway.store.write((batch) => batch.put('switches', 'publicApi', { enabled: false }));
  await gateway.core.publicApiChanged();
  t.same(ends, ['public_api_disabled']);
});

const many: [name: string, lose: (gateway: SimulatedGateway) => Promise<void>, KeyRefusal][] = [
  [
    'the Public API is disabled',
    async ({ store, core }) => {
      await store.write((batch) => batch.put('switches', 'publicApi', { enabled: false }));
      void core.publicApiChanged();
    },
    'public_api_disabled',
  ],
  [
    'their key is revoked',
    async ({ store, core }) => {
      await store.write((batch) => batch.put('apiKeys', 'hash', { ...key, revokedAt: 1 }));
      core.userChanged('u1');
    },
    'invalid_api_key',
  ],
];
for (const [name, lose, refusal] of many) {
  t.test(`when ${name}, many waits end in slices, and none is answered`, async (t) => {
    const { gateway, plugin, executionId, ends, wait } = await setUp(t);
    for (let i = 1; i < 900; i++) wait();
    await lose(gateway);
    t.equal(ends.length, waitsPerTurn);
    await turns(1);
    t.equal(ends.length, 2 * waitsPerTurn);
    plugin.say(report(1, executionId, 'rejected'));
    await turns(900 / waitsPerTurn);
    t.equal(ends.length, 900);
    t.same(new Set(ends), new Set([refusal]));
  });
}

t.test('the slices that a shutdown has left nothing to do read no closed store', async (t) => {
  const { gateway, wait } = await setUp(t);
  for (let i = 1; i < 900; i++) wait();
  await gateway.store.write((batch) =>
    batch.put('apiKeys', 'hash', { ...key, scopes: ['events:read'] }),
  );
  const recheck = gateway.core.waits.recheck('u1');
  gateway.core.drain();
  await gateway.core.stop();
  await gateway.store.close();
  await t.resolves(recheck);
});

t.test('a key that has expired meanwhile gets no answer', async (t) => {
  const expiresAt = new SimulatedGateway().clock.now() + 10_000;
  const { gateway, ends } = await setUp(t, { user, key: { ...key, expiresAt } });
  await gateway.pass(waitMs);
  t.same(ends, ['invalid_api_key']);
});

t.test('a change that takes nothing away leaves it waiting', async (t) => {
  const { gateway, ends } = await setUp(t);
  await gateway.store.write((batch) => batch.put('users', 'u1', { ...user, frozen: true }));
  gateway.core.userChanged('u1');
  t.same(ends, [], 'reads go on under a freeze');
});

t.test('a user has so many waits, and no more', async (t) => {
  const { gateway, wait } = await setUp(t);
  while (gateway.core.waits.count < waitsPerUserMax) t.ok(wait() !== undefined);
  t.equal(wait(), undefined);
  gateway.core.waits.drain();
  t.ok(wait() !== undefined, 'until some have ended');
});

t.test('however many wait for a signal, its executions are read once for each end', async (t) => {
  const gateway = new SimulatedGateway();
  const plugins = [await gateway.plugin(), await gateway.plugin({ instanceId: 'desk-2' })];
  const ids = await gateway.submit();
  const { requestId } = gateway.execution(ids[0] as string);
  let looks = 0;
  for (let i = 0; i < 100; i++) {
    gateway.core.waits.begin({
      caller: { user, key },
      requestId,
      waitMs,
      isCompleted: () => ++looks === 2,
      end: () => undefined,
    });
  }
  plugins[0]?.say(report(1, ids[0] as string, 'rejected'));
  await turns();
  t.equal(looks, 1);
  plugins[1]?.say(report(1, ids[1] as string, 'rejected'));
  await turns();
  t.equal(looks, 2);
  t.equal(gateway.core.waits.count, 0, 'all are answered');
});

t.test('a user whose signal many wait for is answered some in each turn', async (t) => {
  const { plugin, executionId, ends, wait } = await setUp(t);
  for (let i = 1; i < 100; i++) wait();
  plugin.say(report(1, executionId, 'rejected'));
  while (ends.length === 0) await turns(1);
  t.equal(ends.length, answersPerTurn);
  await turns(1);
  t.equal(ends.length, 2 * answersPerTurn);
  await turns();
  t.same(
    ends,
    Array.from({ length: 100 }, () => 'answered'),
  );
});
