import t from 'tap';
import type { Endpoints } from '../../src/http/endpoint.js';
import { createEntry } from '../../src/http/entry.js';
import type { Exchange } from '../../src/http/exchange.js';
import type { Gate } from '../../src/http/gate.js';
import { routes } from '../../src/routes.js';

const exchange = {} as Exchange;
const user = { userId: 'u1' };
const caller = { user, key: { id: 1 } };

/** An entry whose gate admits everybody or nobody, and the calls of its endpoints. */
function setUp(isAdmitted: boolean) {
  const calls: unknown[][] = [];
  const endpoints = Object.fromEntries(
    routes.map(({ operation }) => [
      operation,
      (...args: unknown[]) => calls.push([operation, ...args]),
    ]),
  );
  const gate = {
    admitUser: () => (isAdmitted ? user : undefined),
    admitKey: () => (isAdmitted ? caller : undefined),
  };
  const entry = createEntry(gate as unknown as Gate, endpoints as unknown as Endpoints);
  return { entry, calls };
}

t.test('each route reaches its endpoint, with the caller of its credential', async (t) => {
  for (const route of routes) {
    const { entry, calls } = setUp(true);
    await entry(exchange, route);
    const callers = { none: [], 'user-token': [user], 'api-key': [caller] };
    t.same(calls, [[route.operation, exchange, ...callers[route.credential]]], route.operation);
  }
});

t.test('whom the gate refuses reaches no endpoint that wants a credential', async (t) => {
  for (const route of routes) {
    const { entry, calls } = setUp(false);
    await entry(exchange, route);
    t.equal(calls.length, route.credential === 'none' ? 1 : 0, route.operation);
  }
});
