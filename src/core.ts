/**
 * The gateway without its ports: executions, terminals, events and acceptances on one store and one clock. Knows
 * neither HTTP nor the native socket. Builds these parts, connects them, and owns how they load, drain and stop.
 */
import { KeyRights } from './auth/key-rights.js';
import { EventStreams } from './events/event-streams.js';
import { EventHub } from './events/hub.js';
import { every, type Clock, type Timer } from './lib/clock.js';
import { Deadlines } from './lib/deadlines.js';
import type { IdSource } from './lib/ids.js';
import type { Limits } from './limits.js';
import type { Plans } from './plans.js';
import type { Platform } from './platforms.js';
import type { ConnectionDeps } from './plugins/connection.js';
import { FrameHandler } from './plugins/frame-handler.js';
import { Outbox } from './plugins/outbox.js';
import { Presence } from './plugins/presence.js';
import { Registry } from './plugins/registry.js';
import { AccountQuota } from './quota/account-quota.js';
import { Acceptance } from './signals/acceptance.js';
import { Announcer } from './signals/announcer.js';
import { CancelAcceptance } from './signals/cancel-acceptance.js';
import { ExecutionBook } from './signals/execution-book.js';
import { ExecutionTimeouts } from './signals/execution-timeouts.js';
import { Idempotency } from './signals/idempotency.js';
import type { StorageHealth } from './store/storage-health.js';
import type { Store } from './store/store.js';
import { WriteQueue } from './store/write-queue.js';
import type { Instruments } from './telemetry/instruments.js';

export interface CoreDeps {
  readonly store: Store;
  readonly health: StorageHealth;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly limits: Limits;
  readonly plans: Plans;
  readonly platforms: readonly Platform[];
  readonly instruments: Instruments;
}

/** How often events that are too old to be replayed are dropped. */
const eventAgingMs = 30_000;

export class Core {
  readonly deadlines: Deadlines;
  readonly rights: KeyRights;
  readonly quota: AccountQuota;
  readonly writer: WriteQueue;
  readonly hub: EventHub;
  readonly streams: EventStreams;
  readonly announcer: Announcer;
  readonly timeouts: ExecutionTimeouts;
  readonly book: ExecutionBook;
  readonly idempotency: Idempotency;
  readonly acceptance: Acceptance;
  readonly cancels: CancelAcceptance;
  readonly registry: Registry;
  readonly presence: Presence;
  readonly outbox: Outbox;
  readonly frames: FrameHandler;
  /** What each plugin connection is built with. */
  readonly connections: ConnectionDeps;
  readonly #store: Store;
  readonly #clock: Clock;
  #aging: Timer | undefined;

  constructor(deps: CoreDeps) {
    const { store, health, clock, limits, instruments } = deps;
    this.#store = store;
    this.#clock = clock;
    const deadlines = (this.deadlines = new Deadlines(clock));
    const rights = (this.rights = new KeyRights(deps));
    const quota = (this.quota = new AccountQuota(store, clock));
    const writer = (this.writer = new WriteQueue(store));
    const idempotency = (this.idempotency = new Idempotency(store));

    const hub = (this.hub = new EventHub({ clock, limits, ...instruments }));
    this.streams = new EventStreams({ clock, deadlines, rights, hub, ...instruments });
    const announcer = (this.announcer = new Announcer({ hub, ...instruments }));

    const timeouts = (this.timeouts = new ExecutionTimeouts({
      clock,
      deadlines,
      limits,
      isConnected: (connectionId) => this.presence.isOpen(connectionId),
      apply: (entry, move) => void this.book.apply(entry, move),
      release: (entry) => this.book.release(entry),
    }));
    const book = (this.book = new ExecutionBook({
      store,
      writer,
      clock,
      timeouts,
      onChange: (userId, before, after) => announcer.announce(userId, before, after),
    }));

    const registry = (this.registry = new Registry({ store, writer, clock, limits }));
    const terminals = { ...deps, ...instruments, deadlines, writer, hub, book, timeouts, registry };
    const presence = (this.presence = new Presence(terminals));
    const outbox = (this.outbox = new Outbox(terminals));
    const frames = (this.frames = new FrameHandler(terminals));
    this.connections = {
      ...terminals,
      handlers: {
        onOpen: (connection) => presence.opened(connection),
        identify: (connection, hello) => presence.identify(connection, hello),
        welcome: (connection, source, hello) => {
          presence.welcome(connection, source);
          frames.handleKnown(source, hello.executions ?? []);
          outbox.resume(connection, source);
        },
        onFrame: (connection, source, frame) => frames.handle(connection, source, frame),
        onDrained: (connection, source) => outbox.drained(connection, source),
        onClosed: (connection) => presence.closed(connection),
      },
    };

    const acceptance = (this.acceptance = new Acceptance({
      ...terminals,
      announcer,
      idempotency,
      quota,
      dispatch: (userId, request, entries) => outbox.dispatch(userId, request, entries),
    }));
    this.cancels = new CancelAcceptance({
      ...terminals,
      idempotency,
      send: (entry) => outbox.sendCancel(entry),
    });
    health.onRecovery(() => {
      acceptance.resolveDoubts();
      writer.retry();
    });
  }

  /** Reads what the last process left. Call it once, before the ports open. */
  load(): void {
    this.registry.load();
    this.book.load();
    this.presence.awaitAll();
    this.#aging = every(this.#clock, eventAgingMs, () =>
      this.hub.age((userId) => this.#store.get('users', userId) !== undefined),
    );
  }

  /** Ends what the user has open and may not keep, after a change to the user, a key or a session. */
  userChanged(userId: string): void {
    this.presence.recheck(userId);
    this.streams.recheck(userId);
    if (this.#store.get('users', userId) !== undefined) return;
    for (const part of [this.book, this.hub, this.registry, this.quota]) part.forget(userId);
  }

  /** Reads the terminals and open executions of a user that arrives from another gateway. */
  adoptUser(userId: string): void {
    this.presence.adopt(userId);
    this.book.adopt(userId);
  }

  /** Ends the streams that are no longer allowed, after the Public API was switched. */
  publicApiChanged(): void {
    this.streams.recheckAll();
  }

  /** Resolves when every write that was requested before the call is on disk. */
  async settled(): Promise<void> {
    // A transaction comes after all writes before it.
    await this.#store.transact(() => undefined);
    await this.writer.settled();
  }

  /** Closes plugin connections and streams, and tells both to reconnect later. */
  drain(): void {
    this.presence.drain();
    this.streams.drain();
  }

  /** Writes what is left. The store may be closed after it; no deadline fires any more. */
  async stop(): Promise<void> {
    this.#aging?.cancel();
    this.registry.stop();
    await this.writer.settled();
    this.deadlines.stop();
  }
}
