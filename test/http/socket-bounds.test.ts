/** Bytes that the system keeps of a connection that is not read, and its wait for a client that vanished. */
import { readdirSync, readlinkSync } from 'node:fs';
import koffi from 'koffi';
import t from 'tap';
import { loadBoundSockets } from '../../src/http/socket-bounds.js';
import { serve } from '../native/tiny-app.js';
import { RawClient, request } from '../support/raw-client.js';

/** Most bytes that the native server reads at once. */
const readBytes = 512 * 1024;
const getsockopt = koffi
  .load(null)
  .func(
    'int getsockopt(int fd, int level, int name, _Out_ int *value, _Inout_ unsigned int *size)',
  );

/** @returns the file descriptors of this process's sockets. */
function sockets(): string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  });
}

function optionOf(fd: string, level: number, name: number): number {
  const value = [0];
  getsockopt(Number(fd), level, name, value, [4]);
  return value[0] as number;
}
const receiveBufferOf = (fd: string): number => optionOf(fd, 1, 8);
const userTimeoutOf = (fd: string): number => optionOf(fd, 6, 18);

t.test('what a connection has sent and nobody has read never fills a read', async (t) => {
  const app = await serve(t, (app) => {
    app.get('/', (res) => void res.end('x'));
  });
  const bound = await loadBoundSockets();
  t.equal(bound(app.port), true);
  const before = sockets();
  const client = await RawClient.connect(app.url);
  t.teardown(() => client.cut());
  await client.send(request('GET', '/'));
  t.equal((await client.answer())?.status, 200);
  // The client's socket, and the server's.
  const added = sockets().filter((fd) => !before.includes(fd));
  t.equal(added.length, 2);
  const sizes = added.map(receiveBufferOf);
  t.ok(sizes.includes(256 * 1024) && 256 * 1024 < readBytes, `${sizes.join(' and ')} bytes`);
  t.same(added.map(userTimeoutOf).sort(), [0, 45_000], 'one that has vanished is given up');
});

t.test('a port at which this process does not listen', async (t) => {
  const bound = await loadBoundSockets();
  t.equal(bound(1), false);
});
