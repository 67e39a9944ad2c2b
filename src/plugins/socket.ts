/**
 * The WebSocket route of the uWS app: authenticates upgrades by session token, and binds each native socket
 * to a Connection. Checks what the native server does not: WebSocket version, subprotocol, no second close,
 * no send after a close, a bounded send buffer.
 */
import { authenticateSession } from '../auth/session-token.js';
import type { Clock } from '../lib/clock.js';
import type { HttpResponse, TemplatedApp, WebSocket } from '../http/uws.js';
import { RequestHead } from '../http/request-head.js';
import type { Reader } from '../store/store.js';
import {
  Connection,
  type ConnectionDeps,
  type ConnectionSession,
  type PluginSocket,
} from './connection.js';
import { frameBytesMax, pluginPath, subprotocol } from './protocol.js';

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

interface SocketData {
  readonly session: ConnectionSession;
  connection: Connection | undefined;
}

export interface PluginSocketsDeps {
  readonly store: Reader;
  readonly clock: Clock;
  readonly nextConnectionId: () => string;
  readonly nextTraceId: (traceparent: string) => string;
  readonly isDraining: () => boolean;
  readonly connection: ConnectionDeps;
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

  app.ws<SocketData>(pluginPath, {
    maxPayloadLength: frameBytesMax,
    maxBackpressure: droppingBytesMax,
    idleTimeout: idleTimeoutSeconds,
    sendPingsAutomatically: true,
    upgrade(res, req, context) {
      res.onAborted(() => undefined);
      guarded(() => {
        const head = new RequestHead(req);
        const isUpgrade = req.getHeader('upgrade').toLowerCase() === 'websocket';
        const offered = req.getHeader('sec-websocket-protocol');
        const key = req.getHeader('sec-websocket-key');
        const version = req.getHeader('sec-websocket-version');
        const extensions = req.getHeader('sec-websocket-extensions');
        const traceId = deps.nextTraceId(head.traceparent);
        // The native server treats every request with Sec-WebSocket-Key as an upgrade.
        if (!isUpgrade) return refuse(res, '426 Upgrade Required', traceId);
        const session = authenticateSession(deps.store, head.bearer, deps.clock.now());
        if (session === undefined) return refuse(res, '401 Unauthorized', traceId);
        // The plugin retries: until this gateway has restarted, or the user's move has ended.
        if (deps.isDraining() || session.user.moving !== undefined)
          return refuse(res, '503 Service Unavailable', traceId);
        const isOffered = offered.split(',').some((name) => name.trim() === subprotocol);
        if (version !== '13' || !isOffered) return refuse(res, '400 Bad Request', traceId);
        const data: SocketData = {
          session: {
            userId: session.user.userId,
            hash: session.hash,
            expiresAt: session.session.expiresAt,
          },
          connection: undefined,
        };
        res.upgrade(data, key, subprotocol, extensions, context);
      });
    },
    open(ws) {
      guarded(() => {
        const data = ws.getUserData();
        const connection = new Connection(
          deps.nextConnectionId(),
          data.session,
          socketOf(ws),
          deps.connection,
        );
        data.connection = connection;
        deps.connection.handlers.onOpen(connection);
      });
    },
    message(ws, message, isBinary) {
      guarded(() => {
        const { connection } = ws.getUserData();
        if (connection === undefined || connection.isClosed) return;
        connection.receive(message, isBinary);
      });
    },
    drain(ws) {
      guarded(() => ws.getUserData().connection?.drained());
    },
    close(ws) {
      guarded(() => ws.getUserData().connection?.closed());
    },
  });
}

function refuse(res: HttpResponse, status: string, traceId: string): void {
  res.writeStatus(status).writeHeader('X-Trace-Id', traceId);
  if (status.startsWith('426')) res.writeHeader('Upgrade', 'websocket');
  res.end();
}

/** The native socket throws on any use after a close by either side; Connection checks `isClosed` first. */
function socketOf(ws: WebSocket<SocketData>): PluginSocket {
  return {
    isCongested: () => ws.getBufferedAmount() > congestedBytes,
    send: (text) => ws.getBufferedAmount() <= outgoingBytesMax && ws.send(text) !== dropped,
    close: (code, reason) => ws.end(code, reason),
  };
}

/** What the native `send` returns when the outgoing buffer is full. */
const dropped = 2;
