/**
 * Bounds what the system does for a connection: how much it keeps unread, and how long it waits for a peer
 * that has vanished. When a read has filled its buffer of 512 KiB, the native server reads the connection
 * again in the same turn, so a client that sends fast enough would hold the event loop
 * (native-notes/request-lifetimes.md). Node and the native server have no such options; the package koffi,
 * which calls the system's own function, is optional.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Options of Linux on x86 and ARM; a connection inherits them from the socket that accepts it. */
const options = [
  // SOL_SOCKET, SO_RCVBUF, in bytes. The system adds as much again for its own needs.
  { level: 1, name: 8, value: 128 * 1024 },
  // IPPROTO_TCP, TCP_USER_TIMEOUT, in milliseconds. The system waits a quarter of an hour, during which
  // the streams of a bot whose machine has vanished count.
  { level: 6, name: 18, value: 45_000 },
] as const;

/** The state and the index of the inode in a row of /proc/net/tcp. */
const listening = '0A';
const inodeField = 9;

/**
 * Bounds the connections that this process will accept at a port it listens on.
 * @returns whether every option was set.
 */
export type BoundSockets = (port: number) => boolean;

/** Rejects where the package is not installed, or the system is not Linux. */
export async function loadBoundSockets(): Promise<BoundSockets> {
  const { default: koffi } = await import('koffi');
  // The functions of the process itself, whatever the C library is called.
  const setsockopt = koffi
    .load(null)
    .func('int setsockopt(int fd, int level, int name, const int *value, unsigned int size)');
  return (port) => {
    const done = listeningAt(port).flatMap((fd) =>
      options.map(({ level, name, value }) => setsockopt(fd, level, name, [value], 4) === 0),
    );
    return done.length > 0 && done.every(Boolean);
  };
}

/** @returns the file descriptors of the sockets that listen at the port. */
function listeningAt(port: number): number[] {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listeningIn(table, port)));
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => inodes.has(/^socket:\[(\d+)\]$/.exec(linkOf(fd))?.[1]));
}

function listeningIn(table: string, port: number): (string | undefined)[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync(`/proc/self/net/${table}`, 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === listening && local?.endsWith(suffix) === true)
    .map((fields) => fields[inodeField]);
}

/** @returns '' for a closed descriptor, such as the one that the directory was read with. */
function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
