/** Builds the parts that serve plugins, and defines what each step of a connection calls, in order. */
import { sourceKey } from '../model/source-name.js';
import type { TrailLog } from '../model/trail-events.js';
import { Budgets } from './budget.js';
import type { ConnectionDeps, ConnectionHandlers } from './connection.js';
import { FrameHandler, type FrameHandlerDeps } from './frame-handler.js';
import { LostOrders, type LostOrdersDeps } from './lost-orders.js';
import { Outbox, type OutboxDeps } from './outbox.js';
import { Presence, type PresenceDeps } from './presence.js';
import { Registry, type RegistryDeps } from './registry.js';
import { Snapshots } from './snapshots.js';

type Needs = RegistryDeps &
  PresenceDeps &
  LostOrdersDeps &
  OutboxDeps &
  FrameHandlerDeps &
  ConnectionDeps;

export type TerminalsDeps = Omit<Needs, 'registry' | 'snapshots' | 'budgets' | 'handlers'> & {
  readonly trail: TrailLog;
};

export interface Terminals {
  readonly registry: Registry;
  readonly snapshots: Snapshots;
  readonly presence: Presence;
  readonly lostOrders: LostOrders;
  readonly outbox: Outbox;
  readonly budgets: Budgets;
  /** What each plugin connection is built with. */
  readonly connections: ConnectionDeps;
}

export function createTerminals(given: TerminalsDeps): Terminals {
  const registry = new Registry(given);
  const snapshots = new Snapshots(given);
  const deps = { ...given, registry, snapshots };
  const presence = new Presence(deps);
  const lostOrders = new LostOrders(deps);
  const outbox = new Outbox(deps);
  const frames = new FrameHandler(deps);
  const budgets = new Budgets(given);
  const handlers: ConnectionHandlers = {
    onOpen: (connection) => presence.opened(connection),
    openExecutionsOf: (userId, hello) => given.book.countOfSource(userId, sourceKey(hello)),
    identify: (connection, hello) => presence.identify(connection, hello),
    welcome(connection, source, hello) {
      given.trail.note('plugin_connected', () => connection.trail);
      presence.welcome(connection, source);
      const redeliver = outbox.resume(connection, source);
      return frames.handleKnown(connection, source, hello.executions ?? [], redeliver);
    },
    readAhead: (...received) => frames.readAhead(...received),
    onFrame: (...received) => frames.handle(...received),
    onHeard: (source) => registry.touch(source),
    onDrained: (connection, source) => outbox.drained(connection, source),
    onClosed(connection, reason) {
      given.trail.note('plugin_closed', () => ({ ...connection.trail, reason }));
      snapshots.closed(connection);
      presence.closed(connection);
      outbox.closed(connection, connection.session.userId);
    },
  };
  const connections = { ...deps, budgets, handlers };
  return { registry, snapshots, presence, lostOrders, outbox, budgets, connections };
}
