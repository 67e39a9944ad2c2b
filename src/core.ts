/**
 * The gateway without its ports: executions, terminals, events and acceptances on one store and one clock. Knows
 * neither HTTP nor the native socket. Builds these parts, connects them, and owns how they load, drain and stop.
 */
import { Brakes } from './auth/brakes.js';
import { KeyRights } from './auth/key-rights.js';
import { EventStreams } from './events/event-streams.js';
import { EventHub } from './events/hub.js';
import { every, type Clock, type Timer } from './lib/clock.js';
import { Deadlines } from './lib/deadlines.js';
import type { IdSource } from './lib/ids.js';
import { stepByTurns } from './lib/turn.js';
import type { Limits } from './limits.js';
import type { TrailLog } from './model/trail-events.js';
import { isWaiting } from './model/cancellation.js';
import type { Plans } from './plans.js';
import type { Platform } from './platforms.js';
import { createTerminals, type Terminals } from './plugins/terminals.js';
import { AccountQuota } from './quota/account-quota.js';
import { Acceptance } from './signals/acceptance.js';
import { Announcer } from './signals/announcer.js';
import { CancelAcceptance } from './signals/cancel-acceptance.js';
import { CompletionWaits } from './signals/completion-waits.js';
import { CancelAfter } from './signals/cancel-after.js';
import { CancelAllAcceptance } from './signals/cancel-all-acceptance.js';
import { CancelAll } from './signals/cancel-all.js';
import type { CancelAllOrder } from './signals/cancel-judge.js';
import type { CancelAllResult } from './signals/cancelled-orders.js';
import { ExecutionBook } from './signals/execution-book.js';
import { ExecutionTimeouts } from './signals/execution-timeouts.js';
import { Idempotency } from './signals/idempotency.js';
import { OwedCancels } from './signals/owed-cancels.js';
import { RiskLimits } from './signals/risk-limits.js';
import { Stops } from './signals/stops.js';
import { RetentionClock } from './retention/retention-clock.js';
import type { StorageHealth } from './store/storage-health.js';
import { StoreFailure, type Store } from './store/store.js';
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
  readonly trail: TrailLog;
}

/** How often events that are too old to be replayed are dropped. */
const eventAgingMs = 30_000;

export class Core {
  readonly storage: StorageHealth;
  readonly retentionClock: RetentionClock;
  readonly deadlines: Deadlines;
  readonly rights: KeyRights;
  readonly brakes: Brakes;
  readonly stops: Stops;
  readonly quota: AccountQuota;
  readonly owed: OwedCancels;
  readonly writer: WriteQueue;
  readonly hub: EventHub;
  readonly streams: EventStreams;
  readonly waits: CompletionWaits;
  readonly announcer: Announcer;
  readonly timeouts: ExecutionTimeouts;
  readonly book: ExecutionBook;
  readonly idempotency: Idempotency;
  readonly risks: RiskLimits;
  readonly acceptance: Acceptance;
  readonly cancels: CancelAcceptance;
  readonly cancelAll: CancelAll;
  readonly cancelAllAcceptance: CancelAllAcceptance;
  readonly cancelAfter: CancelAfter;
  readonly terminals: Terminals;
  readonly #store: Store;
  readonly #clock: Clock;
  #aging: Timer | undefined;
  #agingSteps: Generator<void, void, void> | undefined;

  constructor(deps: CoreDeps) {
    const { store, health, clock, limits, instruments } = deps;
    this.#store = store;
    this.storage = health;
    this.#clock = clock;
    const deadlines = (this.deadlines = new Deadlines(clock));
    const rights = (this.rights = new KeyRights(deps));
    const brakes = (this.brakes = new Brakes(store));
    const quota = (this.quota = new AccountQuota(store, clock));
    const retentionClock = (this.retentionClock = new RetentionClock(clock));
    const writer = (this.writer = new WriteQueue(store));
    const idempotency = (this.idempotency = new Idempotency(store));

    const hub = (this.hub = new EventHub({ clock, limits, ...instruments }));
    this.streams = new EventStreams({ clock, deadlines, rights, hub, ...instruments });
    const waits = (this.waits = new CompletionWaits({ deadlines, rights }));
    const announcer = (this.announcer = new Announcer({ hub, waits, ...instruments }));

    const timeouts = (this.timeouts = new ExecutionTimeouts({
      clock,
      deadlines,
      limits,
      isConnected: (connectionId) => this.terminals.presence.isOpen(connectionId),
      apply: (entry, move) => void this.book.apply(entry, move),
      release: (entry) => this.book.release(entry),
    }));
    const owed = (this.owed = new OwedCancels());
    const book = (this.book = new ExecutionBook({
      store,
      owed,
      writer,
      clock,
      retentionClock,
      limits,
      brakes,
      timeouts,
      onChange: (entry, before, after) => {
        announcer.announce(entry.userId, before, after);
        if (isWaiting(after.cancel)) this.terminals.outbox.sendWaitingCancel(entry);
      },
    }));

    this.risks = new RiskLimits({ clock, openOrders: book.openOrders });
    const stops = (this.stops = new Stops({ brakes, book }));
    const own = { retentionClock, writer, hub, book, owed, timeouts, stops, deadlines };
    const parts = { ...deps, ...instruments, ...own };
    const { registry, outbox } = (this.terminals = createTerminals(parts));

    const acceptance = (this.acceptance = new Acceptance({
      ...parts,
      announcer,
      idempotency,
      quota,
      dispatch: (request, entries) => outbox.dispatch(request, entries),
    }));
    this.cancels = new CancelAcceptance({
      ...parts,
      idempotency,
      send: (entry) => outbox.sendCancel(entry),
    });
    const cancelAll = (this.cancelAll = new CancelAll({
      ...parts,
      mayCancel: (userId, execution) => registry.mayCancel(userId, execution),
    }));
    this.cancelAllAcceptance = new CancelAllAcceptance({
      ...parts,
      idempotency,
      acceptance,
      cancelAll,
    });
    this.cancelAfter = new CancelAfter({
      ...parts,
      acceptance,
      cancelAll,
    });
    health.onRecovery(() => writer.retry());
  }

  /**
   * Reads what the last process left, in steps of a few milliseconds. Run it once, to its end, before a port opens
   * whose requests reach the core.
   */
  *load(): Generator<void, void, void> {
    yield* this.terminals.registry.load();
    const debts = this.owed.load(this.#store);
    const stopped = yield* this.book.load();
    this.cancelAll.resume(debts);
    void this.stops.resume(stopped);
    // Follows the writes of what was recovered.
    if (this.#store.isCopy()) {
      this.writer.write({ records: [], done: () => this.#store.endCopy() });
    }
    this.cancelAfter.load();
    this.terminals.presence.awaitAll();
    this.terminals.lostOrders.begin();
    const isUser = (userId: string): boolean => this.#store.get('users', userId) !== undefined;
    this.#aging = every(this.#clock, eventAgingMs, () => {
      this.#agingSteps = this.hub.age(isUser);
      void stepByTurns(this.#agingSteps);
    });
  }

  /** Ends what the user has open and may not keep, after a change to the user, a key or a session. */
  userChanged(userId: string): void {
    const { registry, presence, budgets } = this.terminals;
    const isGone = this.#store.get('users', userId) === undefined;
    // Comes first: a connection that closes writes its source to the store while the registry still knows it.
    if (isGone) registry.forget(userId);
    presence.recheck(userId);
    this.streams.recheck(userId);
    void this.waits.recheck(userId);
    if (!isGone) return;
    const { book, hub, quota, cancelAfter } = this;
    for (const part of [book, hub, quota, budgets, cancelAfter]) part.forget(userId);
  }

  /**
   * Denies the executions that a stop covers and that were not sent, after settling what is in doubt.
   * Resolves when the denials are on disk, or the disk refuses them.
   * @param keyId of the API key whose revocation is the stop.
   */
  async endUnsent(userId?: string, keyId?: number): Promise<void> {
    await this.acceptance.settleDoubts();
    await this.stops.enforce(userId, keyId);
  }

  /** Reads the terminals and open executions of a user that arrives from another gateway, before it is visible. */
  async adoptUser(userId: string): Promise<void> {
    this.terminals.presence.adopt(userId);
    const debts = this.owed.load(this.#store, userId);
    await stepByTurns(this.book.adopt(userId));
    this.cancelAll.resume(debts);
  }

  /**
   * Cancels open orders of a user. Rejects when the commit fails or takes long, or waits for an earlier
   * cancel of the user that the disk refuses; the commit is retried until it succeeds.
   */
  cancelOrders(order: CancelAllOrder): Promise<CancelAllResult> {
    return this.cancelAllAcceptance.ofOperator(order);
  }

  /** Ends the streams and waits that are no longer allowed, after the Public API was switched. Resolves when all are. */
  async publicApiChanged(): Promise<void> {
    await Promise.all([this.streams.recheckAll(), this.waits.recheckAll()]);
  }

  /**
   * Resolves when every write that was requested before the call is on disk, and every cancel of all orders
   * applied. Rejects while the disk refuses writes.
   */
  async settled(): Promise<void> {
    // A transaction follows all earlier writes, and its success shows that the disk takes writes again.
    await this.#store.transact(() => undefined);
    this.writer.retry();
    // A cancel of all orders waits for acceptances in doubt.
    await this.acceptance.settleDoubts();
    await this.cancelAll.settled();
    await this.writer.settled();
    if (this.writer.isHeld) throw new StoreFailure('what was decided before is not on disk yet');
  }

  /** Closes plugin connections and streams, and tells both to reconnect later; ends the waits. */
  drain(): void {
    this.terminals.presence.drain();
    this.streams.drain();
    this.waits.drain();
  }

  /** Writes what is left. The store may be closed after it; no deadline fires any more. */
  async stop(): Promise<void> {
    this.#aging?.cancel();
    // The steps that are left would read a closed store.
    this.#agingSteps?.return();
    this.cancelAll.stop();
    this.stops.stop();
    this.terminals.lostOrders.stop();
    this.terminals.registry.stop();
    // What is being accepted has its outcome first: it is entered into the book, which reads the store. A full disk
    // would refuse this wait if it did not use the reserve, of which it takes nothing.
    await this.#store
      .transact(() => undefined, { usesReserve: true })
      .catch((error: unknown) => {
        if (!(error instanceof StoreFailure)) throw error;
      });
    // Nothing else will ask for a retry.
    this.writer.retry();
    // A flush may lead to further writes; with the ports closed, they come to an end.
    do await this.writer.settled();
    while (this.writer.isBusy);
    this.terminals.outbox.stop();
    this.deadlines.stop();
  }
}
