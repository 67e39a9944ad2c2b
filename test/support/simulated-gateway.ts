/**
 * The real core on a simulated clock and a store in memory, with scripted plugins in place of sockets. `restart`
 * starts a new core on the same store.
 */
import { Core } from '../../src/core.js';
import { createIdSource } from '../../src/lib/ids.js';
import { nextTurn } from '../../src/lib/turn.js';
import type { Limits } from '../../src/limits.js';
import type { Execution } from '../../src/model/execution.js';
import type { User } from '../../src/model/records.js';
import { sourceKey } from '../../src/model/source-name.js';
import { shippedPlans } from '../../src/plans.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { Connection } from '../../src/plugins/connection.js';
import { routes } from '../../src/routes.js';
import { newestRequestId } from '../../src/signals/newest-request.js';
import type { NotAccepted } from '../../src/signals/pending-signal.js';
import type { Accepted } from '../../src/signals/accepted-signal.js';
import type { BookEntry } from '../../src/signals/book-entry.js';
import type { CancelledOrders } from '../../src/signals/cancelled-orders.js';
import type { Envelope } from '../../src/signals/envelope.js';
import type { OrderFilter } from '../../src/signals/order-filter.js';
import { route } from '../../src/signals/routing.js';
import { holdRecords } from '../../src/store/held-records.js';
import { StorageHealth } from '../../src/store/storage-health.js';
import type { Store } from '../../src/store/store.js';
import { createInstruments } from '../../src/telemetry/instruments.js';
import { createMemoryStore, type MemoryStore } from './memory-store.js';
import { shippedLimits } from './shipped-limits.js';
import { SimulatedClock } from './simulated-clock.js';
import { RecordedTrail } from './recorded-trail.js';
import { ScriptedPlugin } from './scripted-plugin.js';

export const user: User = {
  userId: 'u1',
  email: 'u1@example.com',
  plan: 'business',
  passwordHash: '',
  confirmed: true,
  frozen: false,
  tokenGeneration: 1,
  sessionGeneration: 1,
  createdAt: 0,
};

export const unlimited = { publicApi: true, signalsPerMinute: Infinity, signalsPerDay: Infinity };

/** The trail of each signal and cancel-all. */
export const ofBot = { keyId: 1, traceId: 'a'.repeat(32), clientAddress: '192.0.2.1' };

export interface SignalWish {
  readonly signalId?: string;
  readonly idempotencyKey?: string;
  readonly ttlMs?: number;
  readonly platform?: string;
  readonly type?: string;
  readonly cmd?: string;
  readonly instanceId?: string;
  readonly accountName?: string;
  /** The API key that submits it. */
  readonly keyId?: number;
  /** JSON text. */
  readonly payload?: string;
}

/** An announced change of an execution; `before` is undefined for one that was just accepted. */
export type Change = [userId: string, before: Execution | undefined, after: Execution];

export interface Life {
  readonly clock?: SimulatedClock;
  readonly store?: MemoryStore;
  readonly limits?: Partial<Limits>;
  /** Whether the test itself runs `loading` to its end. */
  readonly isStarting?: boolean;
}

export class SimulatedGateway {
  readonly clock: SimulatedClock;
  readonly memory: MemoryStore;
  readonly store: Store;
  readonly limits: Limits;
  readonly health: StorageHealth;
  readonly instruments = createInstruments(routes);
  readonly trail = new RecordedTrail();
  readonly core: Core;
  /** Changes of executions, in the order in which they were announced. */
  readonly changes: Change[] = [];
  /** The load of the core, which has ended unless the gateway is starting. */
  readonly loading: Generator<void, void, void>;
  /** Users whose quota got a signal back. */
  readonly refunds: string[] = [];
  #connections = 0;
  #signals = 0;

  constructor({ clock, store, limits, isStarting = false }: Life = {}) {
    this.clock = clock ?? new SimulatedClock();
    this.memory = store ?? createMemoryStore(this.clock);
    this.limits = shippedLimits(limits);
    this.health = new StorageHealth(this.clock);
    this.store = holdRecords(this.memory);
    this.memory.watchCommits((succeeded) => this.health.noteCommit(succeeded));
    this.health.watch(this.store);
    this.core = new Core({
      store: this.store,
      health: this.health,
      clock: this.clock,
      ids: createIdSource(this.clock, newestRequestId(this.store, this.clock.now())),
      limits: this.limits,
      plans: shippedPlans,
      platforms: shippedPlatforms,
      instruments: this.instruments,
      trail: this.trail,
    });
    this.#record();
    this.loading = this.core.load();
    while (!isStarting && this.loading.next().done !== true);
  }

  get deadlines() {
    return this.core.deadlines;
  }
  get hub() {
    return this.core.hub;
  }
  get writer() {
    return this.core.writer;
  }
  get registry() {
    return this.core.terminals.registry;
  }
  get presence() {
    return this.core.terminals.presence;
  }
  get book() {
    return this.core.book;
  }
  get outbox() {
    return this.core.terminals.outbox;
  }
  get acceptance() {
    return this.core.acceptance;
  }
  get idempotency() {
    return this.core.idempotency;
  }

  #record(): void {
    const { announcer, quota } = this.core;
    const announce = announcer.announce.bind(announcer);
    announcer.announce = (userId, before, after) => {
      if (before !== undefined || after.status !== 'queued') {
        this.changes.push([userId, before, after]);
      }
      announce(userId, before, after);
    };
    const decide = quota.decide.bind(quota);
    quota.decide = (userId, requestId, isAccepted) => {
      if (!isAccepted) this.refunds.push(userId);
      decide(userId, requestId, isAccepted);
    };
  }

  /** The end of this life: none of its timers fires, and what it does in slices goes no further. */
  stop(): void {
    const { deadlines, cancelAll, stops, terminals } = this.core;
    for (const part of [deadlines, cancelAll, stops, terminals.lostOrders]) part.stop();
  }

  /** A crash: nothing of this life's memory survives. */
  restart(life: Pick<Life, 'clock' | 'isStarting'> = {}): SimulatedGateway {
    this.stop();
    const clock = new SimulatedClock(this.clock.now());
    return new SimulatedGateway({ clock, store: this.memory, limits: this.limits, ...life });
  }

  /** A new connection; it has said nothing yet. */
  connect(session: { userId?: string; expiresAt?: number } = {}): ScriptedPlugin {
    const plugin = new ScriptedPlugin();
    const connection = new Connection(
      `con_${++this.#connections}`,
      {
        userId: session.userId ?? 'u1',
        hash: 'hash',
        expiresAt: session.expiresAt ?? this.clock.now() + 86_400_000,
        traceId: 'trace',
        clientAddress: '192.0.2.1',
      },
      plugin,
      this.core.terminals.connections,
    );
    plugin.connection = connection;
    this.core.terminals.connections.handlers.onOpen(connection);
    return plugin;
  }

  /** Connects and says hello as `desk-1`, with `Sim101` on `terminal_a`. */
  async plugin(hello: object = {}, userId = 'u1'): Promise<ScriptedPlugin> {
    const plugin = this.connect({ userId });
    plugin.hello(hello);
    await turns();
    return plugin;
  }

  /** As the endpoint does, past its checks. */
  accept(
    wish: SignalWish,
    answer: (accepted: Accepted | NotAccepted) => void,
    owner: User = user,
  ): void {
    const number = ++this.#signals;
    const payload = wish.payload ?? '{"instrument":"ES","side":"buy","quantity":10}';
    const envelope: Envelope = {
      v: 1,
      signalId: wish.signalId ?? `s${number}`,
      ts: this.clock.now(),
      ttlMs: wish.ttlMs ?? 60_000,
      platform: wish.platform ?? 'terminal_a',
      type: wish.type ?? 'order',
      cmd: wish.cmd ?? 'submit',
      payload: JSON.parse(payload) as object,
      ...(wish.instanceId === undefined ? {} : { instanceId: wish.instanceId }),
      ...(wish.accountName === undefined ? {} : { accountName: wish.accountName }),
    };
    this.core.quota.take(owner.userId, unlimited, this.clock.now());
    this.acceptance.accept(
      {
        user: owner,
        idempotencyKey: wish.idempotencyKey ?? `k${number}`,
        fingerprint: `signal ${envelope.signalId}`,
        envelope,
        payload,
        targets: route(
          [envelope.platform],
          envelope.instanceId ?? null,
          envelope.accountName ?? null,
          this.registry.active(owner.userId),
          Math.min(this.limits.executionsPerSignal, this.book.roomOf(owner.userId)),
        ),
        isConnected: (source) => this.registry.isConnected(owner.userId, source),
        acceptedAt: this.clock.now(),
        trail: { ...ofBot, keyId: wish.keyId ?? 1 },
      },
      answer,
    );
  }

  /** Accepts, waits for the answer and what follows it. @returns the accepted execution ids. */
  async submit(wish: SignalWish = {}): Promise<string[]> {
    let accepted: Accepted | NotAccepted | undefined;
    this.accept(wish, (answer) => (accepted = answer));
    await turns();
    const { executions } = typeof accepted === 'object' ? accepted : { executions: [] };
    return executions.map(({ executionId }) => executionId);
  }

  /** A submit that left on a connection that broke, and became unknown. @returns its execution id. */
  async lostSubmit(ttlMs: number, wish: SignalWish = {}): Promise<string> {
    const plugin = await this.plugin();
    const [executionId = ''] = await this.submit({ ...wish, ttlMs });
    plugin.drop();
    await this.pass(60_000);
    return executionId;
  }

  /** Asks for a cancel as the endpoint does, past its checks. */
  async cancel(executionId: string, key = `cancel ${executionId}`): Promise<string | undefined> {
    const answers: (string | undefined)[] = [];
    this.core.cancels.accept(this.entry(executionId), key, 'cancel', (body) => answers.push(body));
    await turns();
    const [body] = answers;
    return body === undefined
      ? undefined
      : (JSON.parse(body) as { cancelRequestId: string }).cancelRequestId;
  }

  /** Asks for the cancel of all orders as the endpoint does, past its checks. @returns the bodies told. */
  cancelAllNow(filter: OrderFilter = {}, key = `all ${++this.#signals}`): (string | undefined)[] {
    const answers: (string | undefined)[] = [];
    this.core.cancelAllAcceptance.accept(
      { userId: 'u1', filter, idempotencyKey: key, fingerprint: 'cancel-all', trail: ofBot },
      (body) => answers.push(body),
    );
    return answers;
  }

  async cancelAll(filter: OrderFilter = {}, key?: string): Promise<CancelledOrders> {
    const answers = this.cancelAllNow(filter, key);
    while (answers.length === 0) await turns(1);
    await turns();
    return JSON.parse(answers[0] ?? 'null') as CancelledOrders;
  }

  /** @returns what a request with the Idempotency-Key `k` would meet. */
  keyState(fingerprint: string): string {
    return this.idempotency.lookUp('u1', 'k', () => fingerprint, this.clock.now()).kind;
  }

  entry(executionId: string, userId = 'u1'): BookEntry {
    const entry = this.book.find(userId, executionId);
    if (entry === undefined) throw new Error(`no ${executionId}`);
    return entry;
  }

  execution(executionId: string): Execution {
    return this.entry(executionId).execution;
  }

  /** What a bot would read. */
  durable(executionId: string): Execution | undefined {
    const key: [string, string] = ['u1', executionId];
    return this.store.get('openExecutions', key) ?? this.store.get('finalExecutions', key);
  }

  /**
   * Advances in steps, so that commits and what they set off happen in between. A commit that hangs is found only in
   * steps of at most 500 ms: a longer one counts as a loop that was blocked.
   */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      this.health.look();
      await turns();
    }
  }
}

/** An order that was sent to its plugin. */
export async function dispatched() {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const [id = ''] = await gateway.submit();
  return { gateway, plugin, id };
}

/** An order that its plugin has reported as working. */
export async function working() {
  const all = await dispatched();
  all.plugin.say({ type: 'report', seq: 1, executionId: all.id, status: 'working' });
  await turns();
  return all;
}

/** What the streams of a source of u1 were given, up to 64 KiB of it. */
export function publishedEvents(gateway: SimulatedGateway, instanceId = 'desk-1') {
  const source = sourceKey({ platform: 'terminal_a', instanceId, accountName: 'Sim101' });
  const slice = gateway.hub.ringOf('u1').next(0, source, gateway.clock.monotonic());
  const text = Buffer.from(slice?.bytes ?? '').toString();
  return [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, name, data]) => ({
    name,
    data: JSON.parse(data ?? '') as Partial<Execution> & { data: { status: string } },
  }));
}

/** Lets every commit and all that follows from it happen. */
export async function turns(count = 12): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}
