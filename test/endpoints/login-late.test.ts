/** A login whose commit hangs, and then succeeds after all. */
import t from 'tap';
import type { UserTokens } from '../../src/auth/user-token.js';
import { createLogin } from '../../src/endpoints/login.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { addUser } from '../../src/auth/accounts.js';
import { createIdSource } from '../../src/lib/ids.js';
import { commitAnswerMs } from '../../src/store/storage-health.js';
import type { HashPool } from '../../src/workers/hash-pool.js';
import { SimulatedGateway, turns } from '../support/simulated-gateway.js';

t.test('who was refused while the commit hung has not logged in', async (t) => {
  for (const isLate of [false, true]) {
    const gateway = new SimulatedGateway();
    const { store, clock, limits, trail } = gateway;
    const email = 'ann@example.com';
    const account = { email, plan: 'business', passwordHash: 'h', confirmed: true };
    await addUser(store, createIdSource(clock), { ...account, now: clock.now() });
    const login = createLogin({
      ...{ store, clock, limits, trail },
      ...{ deadlines: gateway.deadlines, storage: gateway.health },
      gate: { admitLogin: () => true } as unknown as Gate,
      hashPool: { verify: () => Promise.resolve(true) } as unknown as HashPool,
      userTokens: { issue: () => 'token' } as unknown as UserTokens,
    });
    const answers: unknown[] = [];
    const exchange = {
      isOver: false,
      head: { isJson: true },
      request: {},
      readBody: (_: number, then: (bytes: Uint8Array) => void) =>
        then(Buffer.from(JSON.stringify({ email, password: 'p' }))),
      fail: (code: string) => (exchange.isOver = answers.push(code) > 0),
      reply: (status: number) => (exchange.isOver = answers.push(status) > 0),
    };
    const goOn = gateway.memory.hang();
    void login(exchange as unknown as Exchange);
    await turns();
    if (isLate) clock.advance(commitAnswerMs);
    goOn();
    await turns();
    t.equal(answers[0], isLate ? 'storage_unavailable' : 200);
    t.equal(store.keys('sessions').length, 1);
    t.equal(trail.of('login').length, isLate ? 0 : 1);
  }
});
