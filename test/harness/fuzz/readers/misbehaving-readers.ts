/**
 * Readers that no library would be: they stop, take a byte at a time, close one half, come and go
 * without reading. Each plays its part against one source and is gone again.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { request } from '../../../support/raw-client.js';
import type { Chance } from '../../chance.js';

export interface OddReaderDeps {
  readonly url: string;
  readonly key: string;
  /** Path and query of the stream. */
  readonly path: string;
  readonly chance: Chance;
  /** Has so many events published, and waits until they are. */
  readonly publish: (count: number, bytes: number) => Promise<void>;
}

/** @returns what it has read, to be searched for what is not its own. */
type OddReader = (deps: OddReaderDeps) => Promise<string>;

const bytesOfAnEvent = 30_000;
/** More than the sockets between the two hold, in events of that size. */
const eventsToStop = 400;

export const oddReaders: Readonly<Record<string, OddReader>> = {
  /** It must be broken off, not skipped over. */
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
      if (byte === null) await new Promise((resolve) => setImmediate(resolve));
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

function requestOf({ key, path }: Omit<OddReaderDeps, 'publish'>): string {
  return request('GET', path, [`Authorization: Bearer ${key}`]);
}

async function ask(
  deps: Omit<OddReaderDeps, 'publish'>,
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
