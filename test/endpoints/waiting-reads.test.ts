/** Reads that wait for their turn: what has ended the key's right meanwhile is obeyed. */
import t from 'tap';
import { type KeyOwner, revokeApiKey } from '../../src/auth/api-key.js';
import { KeyRights } from '../../src/auth/key-rights.js';
import { createListSignals } from '../../src/endpoints/list-signals.js';
import { createReadSignal } from '../../src/endpoints/read-signal.js';
import type { KeyEndpoint } from '../../src/http/endpoint.js';
import type { Exchange } from '../../src/http/exchange.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import { firstRequestIdAt } from '../../src/lib/ids.js';
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
    store,
    list: createListSignals({ signals, rights }),
    read: createReadSignal({ signals: longOnes, waits, rights }),
  };
}

/** @returns the status or the code of the answer, once there is one. */
function asked(endpoint: KeyEndpoint, parameter: string): (number | string)[] {
  const answers: (number | string)[] = [];
  const exchange = {
    isOver: false,
    request: { parameter, query: '' },
    run: (work: () => void) => work(),
    reply: (status: number) => answers.push(status),
    fail: (code: string) => answers.push(code),
  };
  void endpoint(exchange as unknown as Exchange, caller);
  return answers;
}
