/**
 * The WebSocket route of the uWS app: authenticates upgrades by session token, and binds each native socket
 * to a Connection. Checks what the native server does not: WebSocket version, subprotocol, no second close,
 * no send after a close, a bounded send buffer.
 */
import { isMoving } from '../auth/moving.js';
import { authenticateSession } from '../auth/session-token.js';
import type { Clock } from '../lib/clock.js';
import type { AddressOf } from '../http/address-of.js';
import type { ConnectionLimit } from '../http/connection-limit.js';
import type { HttpRequest, HttpResponse, TemplatedApp, WebSocket } from '../http/uws.js';
import { RequestHead } from '../http/request-head.js';
import { headersOfStatus, statusLine } from '../http/status-line.js';
import type { CounterSet } from '../lib/instruments.js';
import type { TrailLog } from '../model/trail-events.js';
import { addressText } from '../quota/partition.js';
import type { Reader } from '../store/store.js';
import {
  Connection,
  type ConnectionDeps,
  type ConnectionSession,
  type PluginSocket,
} from './connection.js';
import { Intake } from './intake.js';
import {
  frameBytesMax,
  messageBytesMax,
  pluginPath,
  subprotocol,
  upgradeRefusals,
  type UpgradeRefusal,
} from './protocol.js';

/** Limit of the send buffer; above it the connection is closed as too slow. */
const outgoingBytesMax = 1024 * 1024;
/** A backlog pauses at this size of the send buffer, well below its limit. */
const congestedBytes = outgoingBytesMax / 4;
/**
 * Size above which the native server drops frames. It drops close frames, too, and the plugin would not get the
 * close code: so this is above our own limit by more than a frame.
 */
const droppingBytesMax = outgoingBytesMax + 4 * frameBytesMax;
/** A peer that answers no ping for this many seconds is disconnected. */
const idleTimeoutSeconds = 60;

const route = `GET ${pluginPath}`;
/** `Retry-After` if no connection is free: when one will end is not known. */
const freeConnectionMs = 10_000;

interface SocketData {
  readonly session: ConnectionSession;
  connection: Connection | undefined;
  /** The native socket is closed, and throws on any use. */
  isGone: boolean;
}

export interface PluginSocketsDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly nextConnectionId: () => string;
  readonly nextTraceId: (traceparent: string) => string;
  readonly addressOf: AddressOf;
  readonly isDraining: () => boolean;
  readonly trail: TrailLog;
  readonly upgradesRefused: CounterSet<UpgradeRefusal>;
  readonly connection: ConnectionDeps;
  readonly connectionLimit: Pick<ConnectionLimit, 'webSocketClosed'>;
  readonly onError: (error: unknown) => void;
}

export function registerPluginSockets(app: TemplatedApp, deps: PluginSocketsDeps): void {
  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      deps.onError(error);
    }
  };

  /**
   * Answers and ends the connection: nothing tells whether the client reads, and the native server keeps
   * every answer that it does not (native-notes/backpressure.md). @param retryMs when to try again; 0 when
   * that is not known.
   */
  function refuseUpgrade(
    res: HttpResponse,
    code: UpgradeRefusal,
    who: { traceId: string; clientAddress: string; userId: string | undefined },
    retryMs: number,
  ): void {
    const status = upgradeRefusals[code];
    deps.upgradesRefused.add(code);
    deps.trail.note('refused', { ...who, route, status, code, keyId: undefined });
    res.cork(() => {
      res.writeStatus(statusLine(status)).writeHeader('X-Trace-Id', who.traceId);
      if (retryMs > 0) res.writeHeader('Retry-After', String(Math.ceil(retryMs / 1_000)));
      for (const [name, value] of headersOfStatus(status)) res.writeHeader(name, value);
      res.end('', true);
    });
  }

  const intake = new Intake(deps.clock, deps.onError);

  function control(ws: WebSocket<SocketData>, message: ArrayBuffer): void {
    try {
      ws.getUserData().connection?.admit(message.byteLength);
    } catch (error) {
      deps.onError(error);
    }
  }

  app.ws<SocketData>(pluginPath, {
    maxPayloadLength: messageBytesMax,
    maxBackpressure: droppingBytesMax,
    idleTimeout: idleTimeoutSeconds,
    sendPingsAutomatically: true,
    upgrade(res, req, context) {
      let isGone = false;
      res.onAborted(() => (isGone = true));
      guarded(() => {
        const head = new RequestHead(req);
        const isUpgrade = req.getHeader('upgrade').toLowerCase() === 'websocket';
        const isOffered = offers(req, subprotocol);
        const key = req.getHeader('sec-websocket-key');
        const version = req.getHeader('sec-websocket-version');
        const extensions = req.getHeader('sec-websocket-extensions');
        const traceId = deps.nextTraceId(head.traceparent);
        const clientAddress = addressText(deps.addressOf(res, head.forwardedFor));
        const refuse = (code: UpgradeRefusal, userId?: string, retryMs = 0): void =>
          refuseUpgrade(res, code, { traceId, clientAddress, userId }, retryMs);
        if (head.isAmbiguous) {
          // A turn later, for the reason that `refuseLater` in http/server.ts gives.
          setImmediate(guarded, () => {
            if (!isGone) refuse('bad_request');
          });
          return;
        }
        // The native server treats every request with Sec-WebSocket-Key as an upgrade.
        if (!isUpgrade) return refuse('upgrade_required');
        const session = authenticateSession(deps.store, head.bearer, deps.clock.now());
        if (session === undefined) return refuse('invalid_session');
        const { userId } = session.user;
        // The plugin retries: until this gateway has restarted, or the user's move has ended.
        if (deps.isDraining()) return refuse('shutting_down', userId);
        if (isMoving(session.user)) return refuse('account_moving', userId);
        if (version !== '13' || !isOffered) return refuse('bad_upgrade', userId);
        const budget = deps.connection.budgets.of(userId);
        if (!budget.hasFreeConnection)
          return refuse('too_many_connections', userId, freeConnectionMs);
        const { barredMs } = budget;
        if (barredMs > 0) return refuse('too_fast', userId, barredMs);
        if (!budget.spendUpgrade()) return refuse('too_fast', userId, budget.barredMs);
        const { hash } = session;
        const { expiresAt } = session.session;
        const data: SocketData = {
          session: { userId, hash, expiresAt, traceId, clientAddress },
          connection: undefined,
          isGone: false,
        };
        // Headers need a status before them, or the native server writes 200.
        res.cork(() => void res.writeStatus(statusLine(101)).writeHeader('X-Trace-Id', traceId));
        res.upgrade(data, key, subprotocol, extensions, context);
      });
    },
    open(ws) {
      guarded(() => {
        const data = ws.getUserData();
        const connection = new Connection(
          deps.nextConnectionId(),
          data.session,
          socketOf(ws, data, intake),
          deps.connection,
        );
        data.connection = connection;
        deps.connection.handlers.onOpen(connection);
      });
    },
    // One read may bring thousands of messages: a closure for each would cost as much as counting it.
    message(ws, message, isBinary) {
      try {
        const { connection } = ws.getUserData();
        if (connection?.admit(message.byteLength) !== true) return;
        if (intake.take(connection, message, isBinary) === 'refused') connection.tooFast();
      } catch (error) {
        deps.onError(error);
      }
    },
    ping: control,
    pong: control,
    drain(ws) {
      guarded(() => ws.getUserData().connection?.drained());
    },
    close(ws) {
      const data = ws.getUserData();
      data.isGone = true;
      deps.connectionLimit.webSocketClosed();
      guarded(() => data.connection && intake.close(data.connection));
    },
  });
}

/** Looks at all headers, as a client may offer its subprotocols in several. */
function offers(req: HttpRequest, wanted: string): boolean {
  let isOffered = false;
  req.forEach((name, value) => {
    if (name !== 'sec-websocket-protocol') return;
    isOffered ||= value.split(',').some((offered) => offered.trim() === wanted);
  });
  return isOffered;
}

/** A frame sent after the peer has closed is lost, as one on the way is: `send` counts it as sent. */
function socketOf(
  ws: WebSocket<SocketData>,
  data: Readonly<SocketData>,
  intake: Intake,
): PluginSocket {
  return {
    isCongested: () => data.isGone || ws.getBufferedAmount() > congestedBytes,
    send: (text) =>
      data.isGone || (ws.getBufferedAmount() <= outgoingBytesMax && ws.send(text) !== dropped),
    endBehind: () => data.connection && intake.close(data.connection),
    close(code, reason) {
      if (!data.isGone) ws.end(code, reason);
    },
  };
}

/** What the native `send` returns when the outgoing buffer is full. */
const dropped = 2;
