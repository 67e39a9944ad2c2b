/**
 * The socket on which a service manager hears from its services: a Unix datagram socket, which Node
 * cannot open, so it is opened through the C library. Ends with the test.
 */
import koffi from 'koffi';
import type { Test } from 'tap';
import { eventually } from './eventually.js';
import { socketFolder } from './socket-folder.js';

const familyUnix = 1;
const typeDatagram = 2;
const doNotWait = 0x40;

export interface NotifySocket {
  readonly path: string;
  /** The next notice, line by line. */
  next(boundMs?: number): Promise<string[]>;
}

export function openNotifySocket(t: Test): NotifySocket {
  const path = `${socketFolder(t)}/notify`;
  const libc = koffi.load('libc.so.6');
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const bind = libc.func('int bind(int fd, const void *address, uint32_t length)');
  const receive = libc.func('intptr_t recv(int fd, void *buffer, size_t length, int flags)');
  const close = libc.func('int close(int fd)');

  const address = Buffer.concat(
    [Uint16Array.of(familyUnix), Buffer.from(`${path}\0`)].map(bytesOf),
  );
  const fd = socket(familyUnix, typeDatagram, 0) as number;
  if (fd < 0 || bind(fd, address, address.length) !== 0) throw new Error(`cannot bind ${path}`);
  t.teardown(() => void close(fd));

  const buffer = Buffer.alloc(4096);
  return {
    path,
    next: (boundMs) =>
      eventually(() => {
        const length = Number(receive(fd, buffer, buffer.length, doNotWait));
        return length > 0 && buffer.toString('utf8', 0, length).split('\n');
      }, boundMs),
  };
}

function bytesOf(part: Uint8Array | Uint16Array): Buffer {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}
