/**
 * The gateway's rooms between HTTP and the native socket, wired as the composition root wires them,
 * on a simulated clock and a store in memory. `restart` is the same store in a new life.
 */
import { EventHub } from '../../src/events/hub.js';
import { createIdSource } from '../../src/lib/ids.js';
import { Counter, CounterSet, Histogram, latencyBounds } from '../../src/lib/instruments.js';
import type { Limits } from '../../src/limits.js';
import { shippedPlatforms } from '../../src/platforms.js';
import { Presence } from '../../src/plugins/presence.js';
import { Connection, type ConnectionDeps } from '../../src/plugins/connection.js';
import { FrameHandler } from '../../src/plugins/frame-handler.js';
import { Outbox } from '../../src/plugins/outbox.js';
import { connectionEnds } from '../../src/plugins/protocol.js';
import { Registry } from '../../src/plugins/registry.js';
import { Acceptance, type Accepted } from '../../src/signals/acceptance.js';
import { announceExecution } from '../../src/signals/announcement.js';
import { CancelAcceptance } from '../../src/signals/cancel-acceptance.js';
import { Deadlines } from '../../src/lib/deadlines.js';
import type { Envelope } from '../../src/signals/envelope.js';
import type { BookEntry } from '../../src/signals/book-entry.js';
import { ExecutionBook } from '../../src/signals/execution-book.js';
import type { Execution } from '../../src/model/execution.js';
import { Idempotency } from '../../src/signals/idempotency.js';
import { sourceKey } from '../../src/model/source-name.js';
import { route } from '../../src/signals/routing.js';
import type { User } from '../../src/model/records.js';
import { StorageHealth } from '../../src/store/storage-health.js';
import { WriteQueue } from '../../src/store/write-queue.js';
import { StoreFailure, type Store } from '../../src/store/store.js';
import { createMemoryStore, type MemoryStore } from './memory-store.js';
import { shippedLimits } from './shipped-limits.js';
import { SimulatedClock } from './simulated-clock.js';
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

export interface SignalWish {
  readonly signalId?: string;
  readonly idempotencyKey?: string;
  readonly ttlMs?: number;
  readonly platform?: string;
  readonly type?: string;
  readonly cmd?: string;
  readonly instanceId?: string;
  /** JSON text. */
  readonly payload?: string;
}

export type Told = [userId: string, before: Execution | undefined, after: Execution];

export interface Life {
  readonly clock?: SimulatedClock;
  readonly store?: MemoryStore;
  readonly limits?: Partial<Limits>;
}

export class SimulatedGateway {
  readonly clock: SimulatedClock;
  readonly memory: MemoryStore;
  readonly store: Store;
  readonly limits: Limits;
  readonly health: StorageHealth;
  readonly writer: WriteQueue;
  readonly deadlines: Deadlines;
  readonly hub: EventHub;
  readonly registry: Registry;
  readonly book: ExecutionBook;
  readonly outbox: Outbox;
  readonly frames: FrameHandler;
  readonly presence: Presence;
  readonly idempotency: Idempotency;
  readonly acceptance: Acceptance;
  readonly cancels: CancelAcceptance;
  readonly reportsIgnored = new Counter();
  readonly fillsDuplicate = new Counter();
  readonly framesRejected = new Counter();
  readonly connectionsClosed = new CounterSet(connectionEnds);
  readonly submitsSent = new Counter();
  readonly confirmLatency = new Histogram(latencyBounds);
  /** Changes of executions, as they were told. */
  readonly told: Told[] = [];
  readonly lost: string[] = [];
  #connections = 0;
  #signals = 0;

  constructor({ clock, store, limits }: Life = {}) {
    this.clock = clock ?? new SimulatedClock();
    this.memory = store ?? createMemoryStore();
    this.limits = shippedLimits(limits);
    const shared = { clock: this.clock, limits: this.limits };
    this.health = new StorageHealth(this.clock);
    this.store = telling(this.memory, this.health);
    this.health.watch(this.store);
    this.writer = new WriteQueue(this.store);
    this.deadlines = new Deadlines(this.clock);
    this.hub = new EventHub({ ...shared, eventsPublished: new Counter() });
    this.registry = new Registry({ ...shared, store: this.store, writer: this.writer });
    this.book = new ExecutionBook({
      ...shared,
      store: this.store,
      writer: this.writer,
      deadlines: this.deadlines,
      isConnected: (connectionId) => this.presence.isOpen(connectionId),
      onChange: (userId, before, after) => {
        this.told.push([userId, before, after]);
        announceExecution(this.hub, userId, before, after);
      },
    });
    const rooms = { ...shared, store: this.store, book: this.book, registry: this.registry };
    this.outbox = new Outbox({
      ...rooms,
      submitsSent: this.submitsSent,
      dispatchLatency: new Histogram(latencyBounds),
    });
    this.frames = new FrameHandler({
      ...rooms,
      hub: this.hub,
      writer: this.writer,
      reportsIgnored: this.reportsIgnored,
      fillsDuplicate: this.fillsDuplicate,
      confirmLatency: this.confirmLatency,
    });
    this.presence = new Presence({
      ...rooms,
      deadlines: this.deadlines,
      platforms: shippedPlatforms,
      frames: this.frames,
      outbox: this.outbox,
      hub: this.hub,
    });
    this.idempotency = new Idempotency(this.store);
    this.acceptance = new Acceptance({
      ...rooms,
      ids: createIdSource(this.clock),
      deadlines: this.deadlines,
      idempotency: this.idempotency,
      onAccepted: (userId, { request, executions }) => {
        const entries = executions.flatMap((execution) => {
          if (execution.status === 'queued') return this.book.add(userId, execution);
          announceExecution(this.hub, userId, undefined, execution);
          return [];
        });
        this.outbox.dispatch(userId, request, entries);
      },
      onLost: (userId) => this.lost.push(userId),
    });
    this.cancels = new CancelAcceptance({
      ...rooms,
      idempotency: this.idempotency,
      onAccepted: (entry) => this.outbox.sendCancel(entry),
    });
    this.health.onRecovery(() => {
      this.acceptance.resolveDoubts();
      this.writer.retry();
    });
    this.registry.load();
    this.book.load();
    this.presence.awaitAll();
  }

  /** A crash: nothing of this life's memory survives, and none of its timers fires. */
  restart(): SimulatedGateway {
    this.deadlines.stop();
    const clock = new SimulatedClock(this.clock.now());
    return new SimulatedGateway({ clock, store: this.memory, limits: this.limits });
  }

  /** A new connection; it has said nothing yet. */
  connect(session: { userId?: string; expiresAt?: number } = {}): ScriptedPlugin {
    const plugin = new ScriptedPlugin();
    const deps: ConnectionDeps = {
      clock: this.clock,
      deadlines: this.deadlines,
      limits: this.limits,
      framesRejected: this.framesRejected,
      connectionsClosed: this.connectionsClosed,
      onOpen: (connection) => this.presence.opened(connection),
      onHello: (connection, hello) => this.presence.greet(connection, hello),
      onFrame: (connection, source, frame) => this.frames.take(connection, source, frame),
      onDrained: (connection) => this.outbox.drained(connection),
      onClosed: (connection) => this.presence.closed(connection),
    };
    const connection = new Connection(
      `con_${++this.#connections}`,
      {
        userId: session.userId ?? 'u1',
        hash: 'hash',
        expiresAt: session.expiresAt ?? this.clock.now() + 86_400_000,
      },
      plugin,
      deps,
    );
    plugin.connection = connection;
    deps.onOpen(connection);
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
    answer: (accepted: Accepted | undefined) => void,
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
    };
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
          this.registry.active(owner.userId),
        ),
        isConnected: ({ platform, instanceId, accountName }) =>
          instanceId !== null &&
          accountName !== null &&
          this.registry.find(owner.userId, sourceKey({ platform, instanceId, accountName }))
            ?.connection !== undefined,
        signalsToday: number,
      },
      answer,
    );
  }

  /** Accepts, waits for the answer and what follows it. @returns the accepted execution ids. */
  async submit(wish: SignalWish = {}): Promise<string[]> {
    let accepted: Accepted | undefined;
    this.accept(wish, (answer) => (accepted = answer));
    await turns();
    return accepted?.executions.map(({ executionId }) => executionId) ?? [];
  }

  /** Asks for a cancel as the endpoint does, past its checks. */
  async cancel(executionId: string, key = `cancel ${executionId}`): Promise<string | undefined> {
    const answers: (string | undefined)[] = [];
    this.cancels.accept(this.entry(executionId), key, 'cancel', (body) => answers.push(body));
    await turns();
    const [body] = answers;
    return body === undefined
      ? undefined
      : (JSON.parse(body) as { cancelRequestId: string }).cancelRequestId;
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

  /** Advances in steps, so that commits and what they set off happen in between. */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      await turns();
    }
  }
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
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** As the real store does: whoever watches hears of a commit before who asked for it. */
function telling(memory: MemoryStore, health: StorageHealth): Store {
  return {
    ...memory,
    write(fill) {
      const written = memory.write(fill);
      written.then(
        () => health.noteCommit(true),
        (error: unknown) => {
          if (error instanceof StoreFailure) health.noteCommit(false);
        },
      );
      return written;
    },
  };
}
