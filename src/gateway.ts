/**
 * The composition root: the only place that constructs adapters and gives the rooms their doors to
 * one another. Owns the order in which everything starts and, in reverse, ends.
 */
import { availableParallelism } from 'node:os';
import { createAdminServer } from './admin/server.js';
import { createKeyUses } from './auth/api-key-uses.js';
import { createUserTokens } from './auth/user-token.js';
import { createCreateKey } from './endpoints/create-key.js';
import { createCancelOrder } from './endpoints/cancel-order.js';
import { createListSources } from './endpoints/list-sources.js';
import { createStreamEvents } from './endpoints/stream-events.js';
import { EventStreams } from './events/event-streams.js';
import { CancelAcceptance } from './signals/cancel-acceptance.js';
import { createListKeys } from './endpoints/list-keys.js';
import { createLogin } from './endpoints/login.js';
import { createReadOpenApi } from './endpoints/read-openapi.js';
import { createReadSignal } from './endpoints/read-signal.js';
import { createRevokeKey } from './endpoints/revoke-key.js';
import { createSubmitSignal } from './endpoints/submit-signal.js';
import { EventHub } from './events/hub.js';
import { createEntry } from './http/entry.js';
import { createGate } from './http/gate.js';
import { checkNativeBinary } from './http/native-binary.js';
import { createHttpServer } from './http/server.js';
import { createApp, listen, type HttpResponse, type Listener } from './http/uws.js';
import { every, systemClock } from './lib/clock.js';
import { createIdSource, randomHex } from './lib/ids.js';
import { Presence } from './plugins/presence.js';
import { FrameHandler } from './plugins/frame-handler.js';
import { Outbox } from './plugins/outbox.js';
import { Registry } from './plugins/registry.js';
import { pluginPath } from './plugins/protocol.js';
import { registerPluginSockets } from './plugins/socket.js';
import { AccountQuota } from './quota/account-quota.js';
import { createClientAddress } from './quota/partition.js';
import { createOpenApiDocument } from './openapi/document.js';
import { routes } from './routes.js';
import type { Settings } from './settings.js';
import { Acceptance } from './signals/acceptance.js';
import { announceExecution } from './signals/announcement.js';
import { Deadlines } from './lib/deadlines.js';
import { createEnvelopeReader } from './signals/envelope.js';
import { ExecutionBook } from './signals/execution-book.js';
import { Idempotency } from './signals/idempotency.js';
import { prepareDataDirectory, readJwtSecret } from './store/data-directory.js';
import { lockDirectory } from './store/directory-lock.js';
import { openStore } from './store/lmdb-store.js';
import { StartRefused } from './store/refusal.js';
import { WriteQueue } from './store/write-queue.js';
import { StorageHealth } from './store/storage-health.js';
import { createSweep } from './retention/sweep.js';
import { createInstruments } from './telemetry/instruments.js';
import type { Log } from './telemetry/log.js';
import { createMetrics } from './telemetry/metrics.js';
import { createOpsServer } from './telemetry/ops-server.js';
import { createHostMetrics } from './telemetry/host-metrics.js';
import { createTraceIds } from './telemetry/trace-id.js';
import { readVersion } from './version.js';
import { createHashPool } from './workers/hash-pool.js';

export interface Gateway {
  readonly url: string;
  readonly opsUrl: string;
  /** Drains: no new connections, plugins told to come back, everything durable flushed. */
  stop(): Promise<void>;
}

/** Logins that may wait for the hash pool: a second or two of work for its threads. */
const hashQueueMax = 64;
/** Longest wait at shutdown for answers that are still owed. */
const drainMs = 5_000;
/** How often events that are too old to be replayed are looked for. */
const eventAgingMs = 30_000;

export async function createGateway(settings: Settings, log: Log): Promise<Gateway> {
  const { limits, plans, platforms } = settings;
  const clock = systemClock;
  const ids = createIdSource(clock);
  const instruments = createInstruments(routes);
  const version = readVersion();
  let state: 'starting' | 'serving' | 'draining' = 'starting';

  const warning = prepareDataDirectory(settings.dataDir);
  if (warning !== undefined) log.warn(warning);
  const binary = checkNativeBinary();
  if (!binary.isKnown) log.warn(binary, 'the native HTTP server is not one that was tested');
  const lock = await lockDirectory(settings.dataDir, 'gateway');
  const health = new StorageHealth(clock);
  const store = openStore(settings.dataDir, {
    clock: systemClock,
    commitLatency: instruments.commitLatency,
    onCommit: (succeeded) => {
      if (!succeeded) noteFailedCommit();
      health.noteCommit(succeeded);
    },
  });
  health.watch(store);
  function noteFailedCommit(): void {
    instruments.commitsFailed.add();
    if (!health.isHealthy) return;
    log.error(
      { dataDir: settings.dataDir },
      'a commit failed: nothing is accepted until the disk takes writes again; is it full or broken?',
    );
  }
  function unexpected(fields: object, message: string): void {
    instruments.internalErrors.add();
    log.error(fields, message);
  }
  const writer = new WriteQueue(store);
  const jwtSecret = readJwtSecret(settings.dataDir, settings.jwtSecret);
  const userTokens = createUserTokens({
    secret: jwtSecret,
    clock,
    lifetimeMs: limits.userTokenLifetimeMs,
  });
  const keyUses = createKeyUses(store, clock);
  const hashPool = createHashPool({
    threads: Math.max(1, availableParallelism() - 1),
    queueMax: hashQueueMax,
  });

  const deadlines = new Deadlines(clock);
  const hub = new EventHub({ clock, limits, eventsPublished: instruments.eventsPublished });
  const registry = new Registry({ store, writer, clock, limits });
  const book: ExecutionBook = new ExecutionBook({
    store,
    writer,
    clock,
    deadlines,
    limits,
    isConnected: (connectionId) => presence.isOpen(connectionId),
    onChange: (userId, before, after) => {
      if (before.status !== after.status) instruments.executionsByStatus.add(after.status);
      announceExecution(hub, userId, before, after);
    },
  });
  const outbox = new Outbox({ store, clock, book, registry, ...instruments });
  const frames = new FrameHandler({ clock, book, registry, hub, writer, ...instruments });
  const presence = new Presence({
    store,
    clock,
    limits,
    deadlines,
    platforms,
    registry,
    frames,
    outbox,
    hub,
  });
  const idempotency = new Idempotency(store);
  const quota = new AccountQuota(store, clock);
  const acceptance = new Acceptance({
    store,
    clock,
    ids,
    limits,
    deadlines,
    idempotency,
    onAccepted: (userId, { request, executions }) => {
      instruments.signalsAccepted.add();
      const entries = executions.flatMap((execution) => {
        instruments.executionsByStatus.add(execution.status);
        if (execution.status === 'queued') return book.add(userId, execution);
        announceExecution(hub, userId, undefined, execution);
        return [];
      });
      outbox.dispatch(userId, request, entries);
    },
    onLost: (userId) => quota.refund(userId),
  });
  const cancels = new CancelAcceptance({
    book,
    clock,
    limits,
    idempotency,
    onAccepted: (entry) => outbox.sendCancel(entry),
  });
  const streams = new EventStreams({
    store,
    clock,
    deadlines,
    plans,
    hub,
    streamsClosed: instruments.streamsClosed,
  });
  health.onRecovery(() => {
    log.warn({ dataDir: settings.dataDir }, 'the disk takes writes again');
    acceptance.resolveDoubts();
    writer.retry();
  });

  const gate = createGate({ store, clock, limits, plans, userTokens, keyUses });
  const entry = createEntry(gate, {
    login: createLogin({ store, clock, limits, gate, hashPool, userTokens }),
    'create-key': createCreateKey({ store, clock, limits }),
    'list-keys': createListKeys({ store, keyUses }),
    'revoke-key': createRevokeKey({ store, clock, onRevoked: recheckUser }),
    'submit-signal': createSubmitSignal({
      clock,
      gate,
      limits,
      plans,
      envelopes: createEnvelopeReader(limits, new Set(platforms.map(({ token }) => token))),
      idempotency,
      acceptance,
      quota,
      terminals: {
        active: (userId) => registry.active(userId),
        isConnected: (userId, key) => registry.find(userId, key)?.connection !== undefined,
      },
      acceptLatency: instruments.acceptLatency,
    }),
    'read-signal': createReadSignal({ store }),
    'cancel-order': createCancelOrder({
      clock,
      gate,
      limits,
      book,
      idempotency,
      acceptance: cancels,
      canCancel: ({ userId, execution }) => {
        const source = registry.sourceOf(userId, execution);
        return source?.connection !== undefined && source.capabilities.includes('cancel');
      },
    }),
    'list-sources': createListSources({ activeSources: (userId) => registry.active(userId) }),
    'read-openapi': createReadOpenApi({
      clock,
      limits,
      document: createOpenApiDocument({ limits, platforms, version }),
    }),
    'stream-events': createStreamEvents({
      clock,
      limits,
      hub,
      streams,
      isActiveSource: (userId, key) => {
        const source = registry.find(userId, key);
        return source !== undefined && registry.isActive(source);
      },
    }),
  });

  /** Looks again at what a user has open, after a change to the user, a key or a session. */
  function recheckUser(userId: string): void {
    presence.recheck(userId);
    streams.recheck(userId);
    if (store.get('users', userId) !== undefined) return;
    book.forget(userId);
    hub.forget(userId);
    registry.forget(userId);
    quota.forget(userId);
  }

  const admin = createAdminServer({
    clock,
    version,
    context: {
      store,
      clock,
      ids,
      settings,
      importing: new Set(),
      effects: {
        userChanged: recheckUser,
        publicApiChanged: () => streams.recheckAll(),
        adoptUser: (userId) => {
          presence.adopt(userId);
          book.adopt(userId);
        },
        // A transaction comes after every write before it.
        settled: async () => {
          await store.transact(() => undefined);
          await writer.settled();
        },
      },
    },
    onError: (error, operation) =>
      unexpected({ err: error, operation }, 'an operation of the operator failed'),
  });
  const sweep = createSweep({
    store,
    clock,
    limits,
    onError: (error) => unexpected({ err: error }, 'the retention sweep failed; it tries again'),
  });

  const traceIds = createTraceIds();
  const clientAddress = createClientAddress(settings.trustProxy);
  const http = createHttpServer({
    routes,
    webSocketPaths: [pluginPath],
    clock,
    nextTraceId: (traceparent) => traceIds.next(traceparent),
    partitionOf: (res, forwardedFor) => clientAddress(peerOf(res), forwardedFor),
    handle: entry,
    onEnd: (routeIndex, status, durationMs) =>
      instruments.requestEnded(routeIndex, status, durationMs / 1000),
    onError: (error, traceId) => unexpected({ err: error, traceId }, 'an endpoint failed'),
  });

  /** The address that the PROXY protocol names counts only from a peer that is trusted. */
  function peerOf(res: HttpResponse): Uint8Array {
    const peer = new Uint8Array(res.getRemoteAddress());
    if (settings.trustProxy.length === 0 || !clientAddress.isTrusted(peer)) return peer;
    const proxied = new Uint8Array(res.getProxiedRemoteAddress());
    return proxied.length === 0 ? peer : proxied;
  }

  const { tlsCert, tlsKey } = settings;
  const tls =
    tlsCert === undefined || tlsKey === undefined
      ? undefined
      : { certificate: tlsCert, key: tlsKey };
  const app = createApp(tls);
  registerPluginSockets(app, {
    store,
    clock,
    nextConnectionId: () => `con_${randomHex(8)}`,
    nextTraceId: (traceparent) => traceIds.next(traceparent),
    isDraining: () => state === 'draining',
    connection: {
      clock,
      deadlines,
      limits,
      framesRejected: instruments.framesRejected,
      connectionsClosed: instruments.connectionsClosed,
      onOpen: (connection) => presence.opened(connection),
      onHello: (connection, hello) => presence.greet(connection, hello),
      onFrame: (connection, source, frame) => frames.take(connection, source, frame),
      onDrained: (connection) => outbox.drained(connection),
      onClosed: (connection) => presence.closed(connection),
    },
    onError: (error) => unexpected({ err: error }, 'a plugin connection failed'),
  });
  http.register(app);

  function readiness(): { ready: boolean; reason: string } {
    if (state !== 'serving') return { ready: false, reason: state };
    if (!health.isHealthy) return { ready: false, reason: 'the last commit failed' };
    return { ready: true, reason: 'ready' };
  }

  const ops = createOpsServer({
    host: settings.opsHost,
    port: settings.opsPort,
    readiness,
    metrics: createMetrics(instruments, {
      connectedPlugins: () => registry.connectedCount,
      hashPoolQueue: () => hashPool.waiting(),
      openExecutions: () => book.size,
      storeBytes: () => store.sizeBytes(),
      openStreams: () => streams.count,
      hashPoolQueueMax: () => hashQueueMax,
      isReady: () => readiness().ready,
      committedAt: () => health.committedAt,
      version,
      hostMetrics: createHostMetrics({ ...settings, clock }),
    }),
  });

  async function closeAll(): Promise<void> {
    deadlines.stop();
    await admin.stop();
    await store.close();
    await hashPool.close();
    await ops.close();
    lock.release();
  }

  /** Opens the ports last: who gets an answer gets it from a gateway that knows what it held. */
  async function open(): Promise<{ listener: Listener; opsUrl: string }> {
    const opsUrl = await ops.listen();
    registry.load();
    book.load();
    presence.awaitAll();
    await admin.listen();
    const listener = await listen(app, settings.host, settings.port);
    if (listener !== undefined) return { listener, opsUrl };
    throw new StartRefused(
      `Cannot listen on ${settings.host}:${settings.port}. Is another program using this port? ` +
        'Choose another with --port.',
    );
  }

  const { listener, opsUrl } = await open().catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  sweep.start();
  const aging = every(clock, eventAgingMs, () =>
    hub.age((userId) => store.get('users', userId) !== undefined),
  );
  state = 'serving';
  const scheme = tls === undefined ? 'http' : 'https';
  const url = `${scheme}://${hostInUrl(settings.host)}:${listener.port}`;
  log.info({ url, opsUrl, dataDir: settings.dataDir }, 'serving');

  return {
    url,
    opsUrl,
    async stop() {
      if (state === 'draining') return;
      state = 'draining';
      log.info('draining');
      listener.close();
      presence.drain();
      streams.drain();
      admin.drain();
      sweep.stop();
      aging.cancel();
      const openCount = (): number => http.openExchanges + admin.operationsUnderWay;
      const drained = await waitUntil(() => openCount() === 0, drainMs);
      if (!drained) log.warn({ open: openCount() }, 'some requests got no answer in time');
      registry.stop();
      await keyUses.stop().catch((error: unknown) => {
        log.warn({ err: error }, 'the last uses of API keys could not be written');
      });
      await writer.settled();
      app.close();
      await closeAll();
      log.info('stopped');
    },
  };

  async function waitUntil(isDone: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadline = clock.monotonic() + timeoutMs;
    while (!isDone()) {
      if (clock.monotonic() >= deadline) return false;
      await new Promise<void>((resolve) => clock.setTimer(10, resolve));
    }
    return true;
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
