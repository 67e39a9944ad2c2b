/** Reads that wait for their turn are refused if the key's right has ended meanwhile. */
import t from 'tap';
import { type KeyOwner, revokeApiKey } from '../../src/auth/api-key.js';
import { KeyRights } from '../../src/auth/key-rights.js';
import { createListKeys } from '../../src/endpoints/list-keys.js';
import { createListSignals } from '../../src/endpoints/list-signals.js';
import { createReadSignal } from '../../src/endpoints/read-signal.js';
import type { KeyEndpoint } from '../../src/http/endpoint.js';
import type { Exchange } from '../../src/http/exchange.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { firstRequestIdAt } from '../../src/lib/ids.js';
import { nextTurn } from '../../src/lib/turn.js';
import type { ApiKey } from '../../src/model/records.js';
import { shippedPlans } from '../../src/plans.js';
import { CompletionWaits } from '../../src/signals/completion-waits.js';
import { type ReadSignal, SignalReader } from '../../src/signals/signal-reader.js';
import { createMemoryStore } from '../support/memory-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { turns, user } from '../support/simulated-gateway.js';

const key: ApiKey = {
  id: 1,
  userId: user.userId,
  name: 'bot',
  displayPrefix: '',
  scopes: ['signals:read'],
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
};
const caller: KeyOwner = { user, key };
const long: ReadSignal = {
  records: [],
  isCompleted: true,
  isLong: true,
  json: () => Buffer.from('{}'),
  *steps() {
    yield;
    return this.json();
  },
};

t.test('a key that was revoked gets no list, and no long status', async (t) => {
  for (const isRevoked of [false, true]) {
    const { store, list, read } = await setUp();
    const revoked = isRevoked ? revokeApiKey(store, 'u1', 1, 0) : undefined;
    const answers = [asked(list, ''), asked(read, firstRequestIdAt(0))];
    await revoked;
    await turns();
    const expected = isRevoked ? 'invalid_api_key' : 200;
    t.strictSame(answers.flat(), [expected, expected]);
  }
});

t.test('a wait whose time is over tells the signal as it is then', async (t) => {
  const { clock, waits, rights } = await setUp();
  let status = 'dispatched';
  const read = (): ReadSignal => {
    const json = Buffer.from(status);
    return { ...long, isCompleted: false, isLong: false, json: () => json };
  };
  const signals = { read } as unknown as SignalReader;
  const answers: string[] = [];
  const exchange = {
    request: { parameter: firstRequestIdAt(0), query: 'waitMs=1000' },
    run: (work: () => void) => work(),
    reply: (_: number, body: Buffer) => answers.push(body.toString()),
    onOver: () => undefined,
  } as unknown as Exchange;
  void createReadSignal({ signals, waits, rights })(exchange, caller);
  clock.advance(999);
  t.strictSame(answers, []);
  status = 'working';
  clock.advance(1);
  t.strictSame(answers, ['working']);
});

t.test('a turn makes one list of keys, and none for a user that has lost its rights', async (t) => {
  const { store } = await setUp();
  const refusals: 'invalid_token'[] = [];
  const list = createListKeys({
    store,
    keyUses: { lastUsedAt: () => null },
    gate: { userRefusal: () => refusals[0] },
  });
  const answers: (number | string)[] = [];
  for (let i = 0; i < 3; i++) void list(exchangeOf(answers), user);
  t.strictSame(answers, []);
  await nextTurn();
  t.strictSame(answers, [200]);
  refusals.push('invalid_token');
  await turns();
  t.strictSame(answers, [200, 'invalid_token', 'invalid_token']);
});

async function setUp() {
  const clock = new SimulatedClock();
  const store = createMemoryStore(clock);
  await store.write((batch) => {
    batch.put('users', 'u1', user);
    batch.put('apiKeys', 'hash', key);
    batch.put('apiKeyHashes', ['u1', 1], 'hash');
  });
  const rights = new KeyRights({ store, clock, plans: shippedPlans });
  const waits = new CompletionWaits({ deadlines: new Deadlines(clock), rights });
  const signals = new SignalReader({ store, fillsMax: 1 });
  const longOnes = { read: () => long } as unknown as SignalReader;
  return {
    ...{ clock, store, waits, rights },
    list: createListSignals({ clock, signals, rights }),
    read: createReadSignal({ signals: longOnes, waits, rights }),
  };
}

/** @returns a list that gets the answer's status or code when it comes. */
function asked(endpoint: KeyEndpoint, parameter: string): (number | string)[] {
  const answers: (number | string)[] = [];
  void endpoint(exchangeOf(answers, parameter), caller);
  return answers;
}

function exchangeOf(answers: (number | string)[], parameter = ''): Exchange {
  return {
    isOver: false,
    request: { parameter, query: '' },
    run: (work: () => void) => work(),
    reply: (status: number) => answers.push(status),
    fail: (code: string) => answers.push(code),
  } as unknown as Exchange;
}
