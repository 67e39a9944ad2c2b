/**
 * Performs the operator's commands in the gateway, the only process that has its store open. Owns
 * `admin.sock` in the data directory from `listen` to `stop`. An operation whose request was read is
 * performed to its end even when the command is gone, unless it needs rows from that command.
 */
import { chmodSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { every, type Timer } from '../lib/clock.js';
import { errorText } from '../lib/error-text.js';
import { privateFileMode } from '../lib/private-modes.js';
import { compileSchemas } from '../lib/schema.js';
import { StoreRefused } from '../store/refusal.js';
import { StoreFailure } from '../store/store.js';
import type { Operation, OperationContext, Rows } from './operation.js';
import { operations } from './operations.js';
import {
  badLine,
  type CommandLine,
  connectionsMax,
  type ErrorCode,
  type GatewayLine,
  linesOf,
  type Opening,
  pulseMs,
  rowOperationsMax,
  sendLine,
  silenceMs,
} from './protocol.js';
import { requests } from './requests.js';
import { shownFields } from './shown-fields.js';
import { openSocketPath, socketFile } from './socket-path.js';

export interface AdminServerDeps {
  readonly context: OperationContext;
  /** Version of the product: a command of another one may send other requests. */
  readonly version: string;
  /** Called when an operation throws an error that is not expected. */
  readonly onError: (error: unknown, operation: string) => void;
  /** The operations by name, with the check of their requests; default: the shipped ones. */
  readonly table?: OperationTable;
}

export interface OperationTable {
  readonly operations: Readonly<Record<string, Operation<never>>>;
  readonly isRequest: (operation: string, request: unknown) => boolean;
}

export interface AdminServer {
  /** Throws `StoreRefused` when the socket cannot be made. */
  listen(): Promise<void>;
  /** Refuses new requests; operations under way continue. */
  drain(): void;
  readonly operationsUnderWay: number;
  /** Ends the connections and removes the socket. */
  stop(): Promise<void>;
}

/** A command that reads nothing for longer is cut off: it would keep its place, and its copy of the store. */
const unreadMsMax = 60_000;

export function createAdminServer(deps: AdminServerDeps): AdminServer {
  const { context, version, onError } = deps;
  const { clock } = context;
  const table = deps.table ?? shippedTable();
  const { dataDir } = context.settings;
  const open = new Set<Socket>();
  let underWay = 0;
  let withRows = 0;
  let isDraining = false;
  let closePath = (): void => undefined;

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.setTimeout(silenceMs, () => socket.destroy());
    void converse(socket).catch((error: unknown) => {
      onError(error, 'unknown');
      socket.destroy();
    });
  });
  server.maxConnections = connectionsMax;

  async function converse(socket: Socket): Promise<void> {
    const lines = linesOf(socket);
    const { value, done } = await lines.next();
    // Closed before its request was complete.
    if (done === true) return void socket.destroy();
    const opening = judge(value);
    if ('error' in opening) return end(socket, lines, opening);
    socket.setTimeout(0);
    const rowPlaces = table.operations[opening.operation]?.hasRows === true ? 1 : 0;
    underWay++;
    withRows += rowPlaces;
    const watch = watchReader(socket);
    try {
      const last = await carryOut(socket, opening, rowsOver(socket, lines));
      if (last === undefined) socket.destroy();
      else await end(socket, lines, last);
    } finally {
      watch.cancel();
      underWay--;
      withRows -= rowPlaces;
    }
  }

  /** Cuts off a command that has read nothing of the waiting bytes for `unreadMsMax`. */
  function watchReader(socket: Socket): Timer {
    let taken = 0;
    let takenAt = clock.monotonic();
    return every(clock, pulseMs, () => {
      const before = taken;
      taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== before) takenAt = clock.monotonic();
      else if (clock.monotonic() - takenAt >= unreadMsMax) socket.destroy();
    });
  }

  function judge(message: unknown): Opening | Extract<GatewayLine, { error: unknown }> {
    const { version: theirs, operation, request } = (message ?? {}) as Partial<Opening>;
    if (message === badLine || typeof theirs !== 'string' || typeof operation !== 'string') {
      return failure('invalid_request', 'This is not a request of a Signalbox command.');
    }
    if (theirs !== version) {
      return failure('other_version', `The gateway has version ${version}, not ${theirs}.`);
    }
    if (isDraining) return failure('draining', 'The gateway is shutting down.');
    if (!Object.hasOwn(table.operations, operation)) {
      return failure('unknown_operation', `There is no operation ${JSON.stringify(operation)}.`);
    }
    if (!table.isRequest(operation, request)) {
      return failure('invalid_request', `The request of ${operation} does not fit its schema.`);
    }
    if (table.operations[operation]?.hasRows && withRows >= rowOperationsMax) {
      return failure(
        'busy',
        `${withRows} commands that list, show, export, import or copy are running. End those that are suspended, or wait.`,
      );
    }
    return { version: theirs, operation, request };
  }

  /** @returns the last line for the command; undefined when the command is gone and nothing was done. */
  async function carryOut(
    socket: Socket,
    opening: Opening,
    rows: Rows,
  ): Promise<GatewayLine | undefined> {
    const operation = table.operations[opening.operation] as Operation<unknown>;
    // A command that has given up, as on a gateway that was suspended, must have no effect.
    if (!(await written(socket, { accepted: true }))) return undefined;
    const pulse = every(clock, pulseMs, () => {
      if (socket.writable && !socket.writableNeedDrain) socket.write('\n');
    });
    return outcome(operation, opening, rows).finally(() => pulse.cancel());
  }

  async function outcome(
    { refuse, run }: Operation<unknown>,
    { operation, request }: Opening,
    rows: Rows,
  ): Promise<GatewayLine> {
    const ended = (outcome: string): void =>
      context.trail.note('command', {
        operation,
        request: shownFields(request as object),
        outcome,
      });
    try {
      const refusal = refuse?.(context.settings, request);
      const result = refusal ?? (await run(context, request, rows));
      ended(result.refused ?? 'done');
      return { result };
    } catch (error) {
      ended('failed');
      if (error instanceof StoreFailure) return failure('store_failed', error.message);
      onError(error, operation);
      return failure('internal_error', 'The gateway met an internal error; see its log.');
    }
  }

  return {
    async listen() {
      const file = join(dataDir, socketFile);
      try {
        const { path, close } = openSocketPath(dataDir);
        closePath = close;
        // This process holds the directory's lock, so the owner of this socket has ended.
        rmSync(file, { force: true });
        server.listen(path);
        await once(server, 'listening');
        chmodSync(file, privateFileMode);
      } catch (error) {
        if (error instanceof StoreRefused) throw error;
        throw new StoreRefused(
          `The gateway cannot listen for commands on ${file}: ${errorText(error)}. The data ` +
            'directory must lie on a file system that supports sockets.',
          { cause: error },
        );
      }
    },
    drain() {
      isDraining = true;
    },
    get operationsUnderWay() {
      return underWay;
    },
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
      closePath();
      rmSync(join(dataDir, socketFile), { force: true });
    },
  };
}

/** @returns whether it was written. */
function written(socket: Socket, message: GatewayLine): Promise<boolean> {
  return new Promise((resolve) => {
    socket.write(`${JSON.stringify(message)}\n`, (error) => resolve(error == null));
  });
}

/**
 * Sends the last line, and discards the rows that the command still sends until it closes: a socket that is
 * destroyed with unread bytes resets the connection, and the command would lose its result.
 */
async function end(
  socket: Socket,
  lines: AsyncGenerator<unknown, void, void>,
  message: GatewayLine,
): Promise<void> {
  if (!(await written(socket, message))) return void socket.destroy();
  await lines.return();
  socket.setTimeout(silenceMs, () => socket.destroy());
  socket.on('end', () => socket.destroy()).resume();
  socket.end();
}

function shippedTable(): OperationTable {
  const isValid = compileSchemas(requests);
  return { operations, isRequest: (name, request) => isValid(name, request) === true };
}

function rowsOver(socket: Socket, lines: AsyncGenerator<unknown, void, void>): Rows {
  return {
    send: (row) => sendLine(socket, { row } satisfies GatewayLine),
    async next() {
      const { value, done } = await lines.next();
      if (done === true || value === badLine) return 'lost';
      const line = value as CommandLine;
      if ('row' in line) return { row: line.row };
      return 'end';
    },
  };
}

function failure(code: ErrorCode, message: string) {
  return { error: { code, message } } as const;
}
