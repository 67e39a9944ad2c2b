/** A command's side of one connection to the gateway that owns its data directory. */
import { connect, type Socket } from 'node:net';
import { systemClock } from '../lib/clock.js';
import { graceMsMax } from '../lib/deadlines.js';
import { readVersion } from '../version.js';
import {
  badLine,
  type CommandLine,
  type GatewayLine,
  linesOf,
  type Opening,
  sendLine,
  silenceMs,
} from './protocol.js';
import { openSocketPath } from './socket-path.js';

export interface RowSource {
  /** Called with each row that the operation sends; the next row is read when it resolves. */
  readonly onRow?: (row: unknown) => void | Promise<void>;
  /** Sent to the operation. */
  readonly rows?: AsyncIterable<unknown> | Iterable<unknown>;
}

/**
 * How it ended: with the operation's result; `absent` when no gateway listens, as while one starts;
 * `silent` when nothing came for too long; `broken` when the gateway ended it without a result.
 */
export type Ending =
  | { readonly how: 'result'; readonly result: unknown }
  | { readonly how: 'error'; readonly code: string; readonly message: string }
  | { readonly how: 'absent' }
  | { readonly how: 'silent' | 'broken'; readonly isAccepted: boolean };

const absentCodes: readonly unknown[] = ['ENOENT', 'ECONNREFUSED', 'EAGAIN'];

export async function converse(
  dataDir: string,
  operation: string,
  request: unknown,
  { onRow, rows }: RowSource,
): Promise<Ending> {
  const { path, close } = openSocketPath(dataDir);
  const socket = connect(path);
  let failure: unknown;
  const rowsFailures: unknown[] = [];
  let isSilent = false as boolean;
  let isAccepted = false;
  socket.on('error', (error) => (failure = (error as NodeJS.ErrnoException).code));
  // Sends no end of the rows: the gateway takes them for cut off.
  const giveUp = (error: unknown): void => {
    rowsFailures.push(error);
    socket.destroy();
  };
  socket.setTimeout(silenceMs, () => {
    // Something has arrived and is not read yet.
    if (socket.readableLength > 0) return;
    const { bytesRead } = socket;
    // After a pause of this process, lines that came meanwhile are read only now.
    systemClock.setTimer(graceMsMax, () => {
      if (socket.bytesRead > bytesRead) return;
      isSilent = true;
      socket.destroy();
    });
  });
  try {
    await sendLine(socket, { version: readVersion(), operation, request } satisfies Opening);
    for await (const message of linesOf(socket)) {
      if (message === badLine) break;
      const line = message as GatewayLine;
      if ('error' in line) return { how: 'error', ...line.error };
      if ('result' in line) return { how: 'result', result: line.result };
      if ('row' in line) await onRow?.(line.row);
      else {
        isAccepted = true;
        if (rows !== undefined) void sendRows(socket, rows).catch(giveUp);
      }
    }
    if (rowsFailures.length > 0) throw rowsFailures[0];
    if (!isAccepted && absentCodes.includes(failure)) return { how: 'absent' };
    return { how: isSilent ? 'silent' : 'broken', isAccepted };
  } finally {
    socket.destroy();
    close();
  }
}

async function sendRows(socket: Socket, rows: NonNullable<RowSource['rows']>): Promise<void> {
  for await (const row of rows) {
    if (!(await sendLine(socket, { row } satisfies CommandLine))) return;
  }
  await sendLine(socket, { end: true } satisfies CommandLine);
}
