/**
 * Readers that violate the rules of a client: they stop reading, read single bytes, half-close, or
 * leave without reading. They work on raw sockets, so they do not use test/support/event-reader.ts.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { nextTurn } from '../../../../src/lib/turn.js';
import { request } from '../../../support/raw-client.js';
import type { Chance } from '../../chance.js';

export interface MisbehavingReaderDeps {
  readonly url: string;
  readonly key: string;
  /** Path and query of the stream. */
  readonly path: string;
  readonly chance: Chance;
  /** Publishes `count` events and waits for their acknowledgements. */
  readonly publish: (count: number, bytes: number) => Promise<void>;
}

/** @returns what it has read, to be searched for values of other users. */
type MisbehavingReader = (deps: MisbehavingReaderDeps) => Promise<string>;

const bytesOfAnEvent = 30_000;
/** More events of that size than the buffers of both sockets hold and a subscriber may have pending. */
const eventsToStop = Math.ceil(socketBufferBytesMax() / bytesOfAnEvent) + 300;

export const misbehavingReaders: Readonly<Record<string, MisbehavingReader>> = {
  /** The gateway must cut its stream rather than skip events. */
  async 'stops reading'({ publish, ...deps }) {
    const { socket, read } = await ask(deps);
    socket.pause();
    await publish(eventsToStop, bytesOfAnEvent);
    socket.resume();
    await closed(socket);
    return read();
  },
  async 'takes a byte at a time'({ publish, ...deps }) {
    const { socket, read } = await ask(deps);
    socket.pause();
    await publish(3, 100);
    socket.removeAllListeners('data');
    let text = '';
    for (let left = 300; left > 0; left--) {
      const byte = socket.read(1) as Buffer | null;
      if (byte === null) await nextTurn();
      else text += byte.toString('latin1');
    }
    socket.destroy();
    return read() + text;
  },
  async 'closes its half'({ publish, ...deps }) {
    const { socket, read } = await ask(deps);
    socket.end();
    await publish(3, 100);
    await closed(socket);
    return read();
  },
  async 'leaves at once'(deps) {
    const { socket, read } = await ask(deps, false);
    socket.destroy();
    return read();
  },
  async 'resets in the middle of an event'({ publish, ...deps }) {
    const { socket, read } = await ask(deps);
    const published = publish(5, bytesOfAnEvent);
    await once(socket, 'data');
    socket.resetAndDestroy();
    await published;
    return read();
  },
  async 'asks again on the same connection'({ publish, ...deps }) {
    const { socket, read } = await ask(deps);
    socket.write(requestOf(deps));
    await publish(2, 100);
    socket.destroy();
    return read();
  },
};

/** The system lets the buffers of a connection grow up to these. */
function socketBufferBytesMax(): number {
  const bytesMax = ['tcp_rmem', 'tcp_wmem'].map((name) => {
    try {
      return Number(readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').trim().split(/\s+/).at(-1));
    } catch {
      return 4 * 2 ** 20;
    }
  });
  return bytesMax.reduce((sum, bytes) => sum + bytes, 0);
}

function requestOf({ key, path }: Omit<MisbehavingReaderDeps, 'publish'>): string {
  return request('GET', path, [`Authorization: Bearer ${key}`]);
}

async function ask(
  deps: Omit<MisbehavingReaderDeps, 'publish'>,
  waits = true,
): Promise<{ socket: Socket; read: () => string }> {
  const { hostname, port } = new URL(deps.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('end', () => socket.end());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(requestOf(deps));
  if (waits) await Promise.race([once(socket, 'data'), closed(socket)]);
  return { socket, read: () => text };
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}
