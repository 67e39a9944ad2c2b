/**
 * Bounds what the system keeps of a connection until it is read. The native server reads a connection again in the
 * same turn when a read has filled its buffer of 512 KiB, so that one that sends fast enough would hold the event loop
 * (native-notes/request-lifetimes.md). Where the system keeps less, no read fills that buffer. Node and the native
 * server have no such option; the package koffi, which calls the system's own function, is optional.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The system adds as much again for its own needs. */
const receiveBufferBytes = 128 * 1024;

/** Of Linux, on x86 and ARM. */
const solSocket = 1;
const soRcvbuf = 8;

/** Of a row of /proc/net/tcp. */
const listening = '0A';
const inodeField = 9;

/**
 * Bounds the receive buffers of the connections that this process will accept at a port it listens on.
 * @returns whether it was done.
 */
export type BoundReceiveBuffers = (port: number) => boolean;

/** Rejects where the package is not installed, or the system is not Linux. */
export async function loadBoundReceiveBuffers(): Promise<BoundReceiveBuffers> {
  const { default: koffi } = await import('koffi');
  // The functions of the process itself, whatever the C library is called.
  const setsockopt = koffi
    .load(null)
    .func('int setsockopt(int fd, int level, int name, const int *value, unsigned int size)');
  return (port) => {
    // A connection inherits the option of the socket that accepts it.
    const done = listeningAt(port).map(
      (fd) => setsockopt(fd, solSocket, soRcvbuf, [receiveBufferBytes], 4) === 0,
    );
    return done.length > 0 && done.every(Boolean);
  };
}

/** @returns the file descriptors of the sockets that listen there. */
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

/** Empty for the descriptor that the directory was read with, and is closed. */
function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
