/**
 * Sends an input on its own connection from its own loopback address, since the gateway limits clients
 * without a credential by address. No check depends on timing: where no answer is due, the answer to a
 * later request on another connection shows that the gateway has read the whole input.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readAnswers, type Received } from './answers.js';
import type { Reading } from './http-reader.js';
import type { Input } from './input.js';

/** The wait for an answer that may or may not come. */
const patienceMs = 2_000;
/** The gateway closes the connection within this time, even on a slow machine. */
const closedWithinMs = 90_000;

export interface Exchange extends Received {
  /** From the first byte to the last. */
  readonly sentWithinMs: number;
  /** The gateway closed the connection, before or after the client. */
  readonly isClosed: boolean;
}

/** `barrier` resolves when the gateway has read everything sent before the call. */
export async function exchange(
  url: string,
  { pieces, isPlain, ending }: Input,
  { requests, end }: Reading,
  place: number,
  barrier: () => Promise<void>,
): Promise<Exchange> {
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
  const outcome = (): Received => readAnswers(received, isHead);
  const isOver = (): boolean => isClosed || socket.readableEnded || outcome().isStream;
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
    if (isPlain) await until(() => outcome().answers.length >= requests.length, closedWithinMs);
    else {
      await barrier();
      // A surplus answer would be a violation: give it the time to arrive.
      const asked = end === 'done' && requests.length > 0;
      if (asked) await until(() => outcome().answers.length > 0, patienceMs);
      await barrier();
    }
  }
  if (ending === 'reset') socket.resetAndDestroy();
  else socket.end();
  const gone = (): boolean => isClosed || socket.readableEnded;
  if (outcome().isStream) socket.destroy();
  else if (!gone()) await until(gone, closedWithinMs);
  const result = { ...outcome(), sentWithinMs, isClosed: gone() };
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

/** An address of 127.0.0.0/8 other than 127.0.0.1. */
function addressOf(place: number): string {
  const at = 256 + (place % (253 * 65_536));
  return `127.${1 + Math.floor(at / 65_536)}.${Math.floor(at / 256) % 256}.${at % 256}`;
}
