/** Dispatches a request of a matched route: admits it through the gate, then calls the endpoint. */
import type { Route } from '../routes.js';
import type { Endpoints, KeyEndpoint, OpenEndpoint, UserEndpoint } from './endpoint.js';
import type { Exchange } from './exchange.js';
import type { Gate } from './gate.js';

type Entry = (exchange: Exchange, route: Route) => void | Promise<void>;

export function createEntry(gate: Gate, endpoints: Endpoints): Entry {
  const byOperation = endpoints as Readonly<Record<string, unknown>>;
  const entries: Readonly<Record<Route['credential'], Entry>> = {
    none: (exchange, route) => (byOperation[route.operation] as OpenEndpoint)(exchange),
    'user-token': (exchange, route) => {
      const user = gate.admitUser(exchange);
      if (user === undefined) return;
      return (byOperation[route.operation] as UserEndpoint)(exchange, user);
    },
    'api-key': (exchange, route) => {
      const caller = gate.admitKey(exchange, route);
      if (caller === undefined) return;
      return (byOperation[route.operation] as KeyEndpoint)(exchange, caller);
    },
  };
  return (exchange, route) => entries[route.credential](exchange, route);
}
