/**
 * Tracks which terminals are connected: validates a hello, binds the connection to its source, replaces an
 * older connection, and publishes whether the source is online, stale, offline or replaced. Owns the set of
 * open connections, and when the sources that have left go offline.
 */
import { readSession } from '../auth/session-token.js';
import { isMoving } from '../auth/moving.js';
import type { EventHub } from '../events/hub.js';
import { toIsoTime, type Clock } from '../lib/clock.js';
import type { Deadline, Deadlines } from '../lib/deadlines.js';
import type { Limits } from '../limits.js';
import { isAccountName, type Platform } from '../platforms.js';
import type { Reader } from '../store/store.js';
import type { Connection } from './connection.js';
import {
  heartbeatMs,
  type CloseReason,
  type FrameErrorCode,
  type PluginFrameOf,
} from './protocol.js';
import type { Registry } from './registry.js';
import { numbersAfter, type Source } from './source.js';

export interface PresenceDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly deadlines: Deadlines;
  readonly platforms: readonly Platform[];
  readonly registry: Registry;
  readonly hub: EventHub;
}

/** The window must contain several heartbeats, so that one late heartbeat does not close the connection. */
const heartbeatsPerWindow = 4;

export type SourceStatus = 'online' | 'stale' | 'offline' | 'replaced';

export class Presence {
  readonly #deps: PresenceDeps;
  readonly #open = new Map<string, Connection>();
  /** When each source that has left goes offline: one deadline, however often it has left. */
  readonly #awaited = new WeakMap<Source, Deadline>();

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
  }

  opened(connection: Connection): void {
    this.#open.set(connection.connectionId, connection);
  }

  isOpen(connectionId: string): boolean {
    return this.#open.has(connectionId);
  }

  /** @returns the source that the connection is bound to, or why its hello is rejected or the connection ends. */
  identify(
    connection: Connection,
    hello: PluginFrameOf<'hello'>,
  ): Source | FrameErrorCode | { readonly close: CloseReason } {
    const { platforms, registry } = this.#deps;
    const { accountName, instanceId } = hello;
    const platform = platforms.find(({ token }) => token === hello.platform);
    if (platform === undefined) return 'unknown_platform';
    if (!isAccountName(platform, accountName)) return 'invalid_account';

    const { userId } = connection.session;
    const name = { platform: platform.token, instanceId, accountName };
    if (!registry.hasRoom(userId, name)) return { close: 'too_many_sources' };

    const { source, replaced } = registry.attach(
      userId,
      name,
      {
        capabilities: [...new Set(hello.capabilities)],
        software: hello.software ?? { name: '', version: '' },
      },
      connection,
    );
    if (replaced !== undefined) {
      this.#publish(source, 'replaced');
      replaced.close('replaced');
    }
    this.#publish(source, 'online');
    return source;
  }

  /** Begins the connection's `seq`s, and sends the welcome frame. */
  welcome(connection: Connection, source: Source): void {
    const { clock, limits } = this.#deps;
    const welcomed = source.durableSeq;
    connection.numbers = numbersAfter(welcomed, source.received.toMap());
    source.numbers = connection.numbers;
    const windowPart = Math.floor(limits.heartbeatWindowMs / heartbeatsPerWindow);
    connection.send({
      type: 'welcome',
      connectionId: connection.connectionId,
      heartbeatMs: Math.min(heartbeatMs, windowPart),
      serverTime: toIsoTime(clock.now()),
      lastSeq: welcomed,
      outgoingQueue: {
        eventsMax: limits.outgoingQueueEventsMax,
        ageMs: limits.outgoingQueueAgeMs,
      },
    });
  }

  closed(connection: Connection): void {
    this.#open.delete(connection.connectionId);
    const { source } = connection;
    if (source === undefined || !this.#deps.registry.detach(source, connection)) return;
    this.#publish(source, 'stale');
    this.#awaitReturn(source);
  }

  /** After a restart: publishes `offline` for active sources whose plugin does not reconnect in time. */
  awaitAll(): void {
    for (const source of this.#deps.registry.all()) this.#awaitIfActive(source);
  }

  /** Reads the sources of a user that was imported from another gateway. */
  adopt(userId: string): void {
    for (const source of this.#deps.registry.adopt(userId)) this.#awaitIfActive(source);
  }

  /** Closes the user's connections whose session has ended; all of them while the user is being moved. */
  recheck(userId: string): void {
    const now = this.#deps.clock.now();
    for (const connection of this.#open.values()) {
      const { session } = connection;
      if (session.userId !== userId) continue;
      const valid = readSession(this.#deps.store, session.hash, now);
      if (valid === undefined) connection.close('session_revoked');
      else if (isMoving(valid.user)) connection.close('server_draining');
    }
  }

  drain(): void {
    for (const connection of this.#open.values()) connection.close('server_draining');
  }

  #awaitIfActive(source: Source): void {
    if (this.#deps.registry.isActive(source)) this.#awaitReturn(source);
  }

  #awaitReturn(source: Source): void {
    const { deadlines, limits, registry } = this.#deps;
    deadlines.remove(this.#awaited.get(source));
    const deadline = deadlines.at(source.lastSeen + limits.heartbeatWindowMs + 1, () => {
      const isKnown = registry.find(source.userId, source.key) === source;
      if (isKnown && !registry.isActive(source)) this.#publish(source, 'offline');
    });
    this.#awaited.set(source, deadline);
  }

  #publish(source: Source, status: SourceStatus): void {
    this.#deps.hub.publish(source.userId, {
      name: 'source_status',
      source,
      sourceKey: source.key,
      occurredAt: toIsoTime(this.#deps.clock.now()),
      data: { status, capabilities: source.capabilities },
    });
  }
}
