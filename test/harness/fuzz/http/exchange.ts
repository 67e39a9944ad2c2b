/**
 * Plays an input on a connection of its own, from an address of its own: the gateway's limits on
 * clients without a credential, and its condemning of an address, are per address. No answer depends
 * on how long anything takes: where none need come, a request on another connection that was sent
 * later and is answered shows that the gateway has read all of the input.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readAnswers, type Received } from './answers.js';
import type { Reading } from './http-reader.js';
import type { Input } from './input.js';

/** How long an answer is waited for that may come or not. */
const patienceMs = 2_000;
/** By then the gateway has closed whatever is to be closed, on the slowest machine. */
const closedWithinMs = 90_000;

export interface Heard extends Received {
  /** From the first byte to the last. */
  readonly sentWithinMs: number;
  /** The gateway closed the connection, before or behind the client. */
  readonly isClosed: boolean;
}

/** `reach` resolves when the gateway has read what was sent before. */
export async function converse(
  url: string,
  { pieces, isPlain, ending }: Input,
  { requests, end }: Reading,
  place: number,
  reach: () => Promise<void>,
): Promise<Heard> {
  const { hostname, port } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    localAddress: addressOf(place),
    allowHalfOpen: true,
    noDelay: true,
  });
  let received = '';
  let isClosed = false;
  let wake = (): void => undefined;
  const stir = (): void => wake();
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    stir();
  });
  socket.on('end', stir);
  socket.on('close', () => {
    isClosed = true;
    stir();
  });
  await once(socket, 'connect').catch(() => undefined);
  const isHead = (at: number): boolean => requests[at]?.method === 'HEAD';
  const heard = (): Received => readAnswers(received, isHead);
  const isOver = (): boolean => isClosed || socket.readableEnded || heard().isStream;
  const until = async (isEnough: () => boolean, withinMs: number): Promise<void> => {
    const end = performance.now() + withinMs;
    const timer = setTimeout(stir, withinMs + 1);
    while (!isEnough() && !isOver() && performance.now() < end) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
    clearTimeout(timer);
  };

  const startedAt = performance.now();
  await write(socket, pieces);
  const sentWithinMs = performance.now() - startedAt;
  if (ending === 'leave') {
    if (isPlain) await until(() => heard().answers.length >= requests.length, closedWithinMs);
    else {
      await reach();
      // One more than was asked for would be one too many, and must have the time to come.
      const asked = end === 'done' && requests.length > 0;
      if (asked) await until(() => heard().answers.length > 0, patienceMs);
      await reach();
    }
  }
  if (ending === 'reset') socket.resetAndDestroy();
  else socket.end();
  const gone = (): boolean => isClosed || socket.readableEnded;
  if (heard().isStream) socket.destroy();
  else if (!gone()) await until(gone, closedWithinMs);
  const result = { ...heard(), sentWithinMs, isClosed: gone() };
  socket.destroy();
  return result;
}

async function write(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return;
    await new Promise<void>((resolve) => {
      socket.write(piece, 'latin1', () => resolve());
    });
    if (pieces.length > 1) await new Promise(setImmediate);
  }
}

/** One of the sixteen million of the loopback network, other than 127.0.0.1. */
function addressOf(place: number): string {
  const at = 256 + (place % (253 * 65_536));
  return `127.${1 + Math.floor(at / 65_536)}.${Math.floor(at / 256) % 256}.${at % 256}`;
}
