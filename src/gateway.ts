/**
 * The gateway: the core behind its ports. The only place that builds adapters; owns the order in which
 * everything starts and, in reverse, ends.
 */
import { availableParallelism } from 'node:os';
import { createAdminServer } from './admin/server.js';
import { isPublicApiEnabled } from './auth/accounts.js';
import { haltText, readHalt } from './auth/brakes.js';
import { createKeyUses } from './auth/api-key-uses.js';
import { createUserTokens } from './auth/user-token.js';
import { Core } from './core.js';
import { createEndpoints } from './endpoints/all.js';
import { obstacleOf, openGatewayStore } from './gateway-store.js';
import { createAddressOf } from './http/address-of.js';
import { ConnectionLimit } from './http/connection-limit.js';
import { createEntry } from './http/entry.js';
import { createGate } from './http/gate.js';
import { checkNativeBinary } from './http/native-binary.js';
import { loadBoundSockets } from './http/socket-bounds.js';
import { refusalOf } from './http/trail-fields.js';
import { createHttpServer } from './http/server.js';
import { createApp, listen } from './http/uws.js';
import { systemClock, waitUntil } from './lib/clock.js';
import { hostInUrl } from './lib/host.js';
import { createIdSource, randomHex } from './lib/ids.js';
import { watchSleep } from './lib/sleep-watch.js';
import { stepByTurns } from './lib/turn.js';
import { createOpenApiDocument, type OpenApiDocument } from './openapi/document.js';
import { toOpenApi30 } from './openapi/three-zero.js';
import { pluginPath } from './plugins/protocol.js';
import { registerPluginSockets } from './plugins/socket.js';
import { createSweep } from './retention/sweep.js';
import { routes } from './routes.js';
import type { Settings } from './settings.js';
import { newestRequestId } from './signals/newest-request.js';
import { prepareDataDirectory } from './store/data-directory.js';
import { lockDirectory } from './store/directory-lock.js';
import { readJwtSecret } from './store/jwt-secret.js';
import { createHostMetrics } from './telemetry/host-metrics.js';
import { createInstruments } from './telemetry/instruments.js';
import type { Log } from './telemetry/log.js';
import { createMetrics } from './telemetry/metrics.js';
import { createOpsServer } from './telemetry/ops-server.js';
import { createTraceIds } from './telemetry/trace-id.js';
import { createTrail } from './telemetry/trail.js';
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
/** Longest wait at shutdown for answers that are owed, in whole or in part. */
const drainMs = 5_000;

export async function createGateway(settings: Settings, log: Log): Promise<Gateway> {
  const { limits, plans, platforms, dataDir } = settings;
  const clock = systemClock;
  const instruments = createInstruments(routes);
  const version = readVersion();
  let state: 'starting' | 'serving' | 'draining' = 'starting';

  function unexpected(fields: object, message: string): void {
    instruments.internalErrors.add();
    log.error(fields, message);
  }

  const warning = prepareDataDirectory(dataDir);
  if (warning !== undefined) log.warn(warning);
  const binary = checkNativeBinary();
  if (!binary.isKnown) log.warn(binary, 'the native HTTP server is not one that was tested');
  const lock = await lockDirectory(dataDir, 'gateway');
  const opened = openGatewayStore({ dataDir, clock, instruments, log });
  const { store, health } = opened;
  const ids = createIdSource(clock, newestRequestId(store, clock.now()));
  const trail = createTrail(log, clock);
  const core = new Core({
    store,
    health,
    clock,
    ids,
    limits,
    plans,
    platforms,
    instruments,
    trail,
  });
  const userTokens = createUserTokens({
    secret: readJwtSecret(dataDir, settings.jwtSecret),
    clock,
    lifetimeMs: limits.userTokenLifetimeMs,
  });
  const keyUses = createKeyUses(store, clock);
  const hashPool = createHashPool({
    threads: Math.max(1, availableParallelism() - 1),
    queueMax: hashQueueMax,
    onError: (error) => unexpected({ err: error }, 'a thread that hashes passwords ended'),
  });
  const sweep = createSweep({
    store,
    clock,
    retentionClock: core.retentionClock,
    limits,
    onError: (error) => unexpected({ err: error }, 'the retention sweep failed; it tries again'),
  });

  const gate = createGate({ store, clock, limits, rights: core.rights, userTokens, keyUses });
  const openApi31 = (): OpenApiDocument => createOpenApiDocument({ limits, platforms, version });
  const endpoints = createEndpoints({
    core,
    store,
    clock,
    limits,
    plans,
    platforms,
    gate,
    hashPool,
    userTokens,
    keyUses,
    trail,
    documents: { openApi31, openApi30: () => toOpenApi30(openApi31()) },
    acceptLatency: instruments.acceptLatency,
  });

  const admin = createAdminServer({
    version,
    context: {
      ...{ store, clock, ids, settings, effects: core, trail },
      ...{ importing: new Set(), ending: new Set() },
    },
    onError: (error, operation) => unexpected({ err: error, operation }, 'an operation failed'),
  });
  const nextTraceId = createTraceIds();
  const addressOf = createAddressOf(settings.trustProxy);
  const isDraining = (): boolean => state === 'draining';
  const http = createHttpServer({
    routes,
    webSocketPaths: [pluginPath],
    clock,
    nextTraceId,
    addressOf,
    unsentBytesMax: limits.unsentBytesPerConnection,
    handle: createEntry(gate, endpoints),
    isDraining,
    onEnd: (routeIndex, status, durationMs) =>
      instruments.requestEnded(routeIndex, status, durationMs / 1000),
    onRefused(exchange, code) {
      instruments.refusals.add(code);
      trail.note('refused', () => refusalOf(exchange, code));
    },
    onError: (error, traceId) => unexpected({ err: error, traceId }, 'an endpoint failed'),
  });
  const connectionLimit = new ConnectionLimit({
    clock,
    onRefused: () => instruments.connectionsRefused.add(),
    tell: (refused) =>
      log.warn(
        refused,
        'connections were closed at once: the limit of open files (LimitNOFILE) has no room for more',
      ),
  });
  const app = createApp(settings);
  connectionLimit.watch(app);
  registerPluginSockets(app, {
    store,
    clock,
    nextConnectionId: () => `con_${randomHex(8)}`,
    nextTraceId,
    addressOf,
    isDraining,
    connection: core.terminals.connections,
    connectionLimit,
    trail,
    upgradesRefused: instruments.upgradesRefused,
    onError: (error) => unexpected({ err: error }, 'a plugin connection failed'),
  });
  http.register(app);

  function readiness(): { ready: boolean; reason: string } {
    if (state !== 'serving') return { ready: false, reason: state };
    const obstacle = obstacleOf(opened);
    if (obstacle !== undefined) return { ready: false, reason: obstacle };
    const reason = haltText(readHalt(store)) ?? 'ready';
    return {
      ready: true,
      reason: isPublicApiEnabled(store) ? reason : `${reason}, Public API disabled`,
    };
  }
  const ops = createOpsServer({
    host: settings.opsHost,
    port: settings.opsPort,
    readiness,
    clock,
    metrics: createMetrics(
      instruments,
      {
        connectedPlugins: () => core.terminals.registry.connectedCount,
        hashPoolQueue: () => hashPool.waiting(),
        openExecutions: () => core.book.size,
        storeBytes: () => store.sizeBytes(),
        indexLagMs: () => store.index().lagMs,
        indexWaitingBytes: () => store.index().waitingBytes,
        openStreams: () => core.streams.count,
        hashPoolQueueMax: () => hashQueueMax,
        isHalted: () => core.brakes.isHalted,
        isPublicApiEnabled: () => isPublicApiEnabled(store),
        isReady: () => readiness().ready,
        committedAt: () => health.committedAt,
        commitAgeMs: () => health.commitAgeMs,
        retentionLagMs: () => sweep.lagMs(),
        retentionRemovals: () => sweep.removals(),
        version,
        hostMetrics: createHostMetrics({ ...settings, clock }),
      },
      clock,
    ),
  });

  async function closeAll(): Promise<void> {
    opened.stopLooking();
    await core.stop();
    app.close();
    await admin.stop();
    await store.close();
    await hashPool.close();
    await ops.close();
    lock.release();
  }

  /** Opens the API port last, so that every answer comes from a gateway that has read its store. */
  async function open() {
    const opsUrl = await ops.listen();
    // The ops port answers meanwhile.
    await stepByTurns(core.load());
    await admin.listen();
    const boundSockets = await loadBoundSockets().catch(() => undefined);
    connectionLimit.measure();
    const listener = await listen(app, settings.host, settings.port);
    if (boundSockets?.(listener.port) !== true) {
      log.warn(
        'a connection that sends very fast can make the others wait, and the streams of a bot that has vanished stay ' +
          'open for a quarter of an hour: install the optional package koffi, or set net.ipv4.tcp_rmem and ' +
          'net.ipv4.tcp_retries2 (ops/security.md)',
      );
    }
    return { listener, opsUrl };
  }
  const { listener, opsUrl } = await open().catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  sweep.start();
  const sleep = watchSleep(clock, (ms) => core.cancelAfter.slept(ms));
  state = 'serving';
  const scheme = settings.tlsCert === undefined ? 'http' : 'https';
  const url = `${scheme}://${hostInUrl(settings.host)}:${listener.port}`;
  log.info({ version, url, opsUrl, dataDir }, 'serving');

  return {
    url,
    opsUrl,
    async stop() {
      if (state === 'draining') return;
      state = 'draining';
      log.info('draining');
      listener.close();
      core.drain();
      admin.drain();
      sweep.stop();
      sleep.cancel();
      const openCount = (): number => http.openExchanges + admin.operationsUnderWay;
      const drained = await waitUntil(clock, () => openCount() === 0, drainMs);
      if (!drained)
        log.warn({ open: openCount() }, 'some requests did not get their whole answer in time');
      await keyUses.stop().catch((error: unknown) => {
        log.warn({ err: error }, 'the last uses of API keys could not be written');
      });
      await closeAll();
      trail.tellOmitted();
      log.info('stopped');
    },
  };
}
