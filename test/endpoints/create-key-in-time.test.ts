/** Keys that would expire in the millisecond in which they are made. */
import t from 'tap';
import { keyOperations } from '../../src/admin/key-operations.js';
import type { OperationContext } from '../../src/admin/operation.js';
import { hasExpired } from '../../src/auth/api-key.js';
import { createCreateKey } from '../../src/endpoints/create-key.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { toIsoTime } from '../../src/lib/clock.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import type { User } from '../../src/model/records.js';
import { noTrail } from '../../src/model/trail-events.js';
import { StorageHealth } from '../../src/store/storage-health.js';
import { createMemoryStore } from '../support/memory-store.js';
import { shippedSettings } from '../support/shipped-settings.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { user } from '../support/simulated-gateway.js';
import { TickingClock } from '../support/ticking-clock.js';

const ways = { 'the user': asUser, 'the operator': asOperator };

for (const [name, create] of Object.entries(ways)) {
  t.test(`${name} makes none that has expired when it is made`, async (t) => {
    const tries = 20;
    let made = 0;
    for (let ms = 0; ms < tries; ms++) {
      const { store, clock } = await setUp();
      await create(store, clock, new SimulatedClock().now() + ms);
      for (const { record: key } of store.range('apiKeys')) {
        made++;
        t.notOk(hasExpired(key, key.createdAt), `${ms} ms before its end`);
      }
    }
    t.ok(made > 0 && made < tries, `${made} of ${tries}`);
  });
}

t.test('the operator makes none for a user that is being deleted', async (t) => {
  const { store, clock } = await setUp();
  const deleted = store.transact((transaction) => transaction.remove('users', user.userId));
  const made = await asOperator(store, clock);
  await deleted;
  t.match(made, { refused: 'user_not_found', email: user.email });
  t.strictSame([store.keys('apiKeys'), store.keys('apiKeyHashes')], [[], []]);
});

async function setUp() {
  const clock = new TickingClock();
  const store = createMemoryStore(clock);
  await store.write((batch) => {
    batch.put('users', user.userId, user);
    batch.put('emails', user.email, user.userId);
  });
  return { store, clock };
}

type MemoryStore = ReturnType<typeof createMemoryStore>;

function wanted(expiresAt?: number) {
  const end = expiresAt === undefined ? {} : { expiresAt: toIsoTime(expiresAt) };
  return { name: 'bot', scopes: ['signals:read'], ...end };
}

async function asUser(store: MemoryStore, clock: SimulatedClock, expiresAt: number): Promise<void> {
  const { limits } = shippedSettings;
  const gate = { userRefusal: () => undefined } as unknown as Gate;
  const storage = new StorageHealth(clock);
  const deadlines = new Deadlines(clock);
  const endpoint = createCreateKey({
    store,
    clock,
    deadlines,
    storage,
    limits,
    gate,
    trail: noTrail,
  });
  const body = new TextEncoder().encode(JSON.stringify(wanted(expiresAt)));
  await new Promise<void>((resolve) => {
    const exchange = {
      isOver: false,
      head: { isJson: true },
      request: { traceId: '' },
      readBody: (_max: number, then: (bytes: Uint8Array) => void) => then(body),
      reply: () => resolve(),
      fail: () => resolve(),
    };
    void endpoint(exchange as unknown as Exchange, user satisfies User);
  });
}

function asOperator(store: MemoryStore, clock: SimulatedClock, expiresAt?: number) {
  const context = { store, clock, settings: shippedSettings, trail: noTrail };
  const request = { email: user.email, ...wanted(expiresAt) };
  return keyOperations['key.add'].run(context as unknown as OperationContext, request);
}
