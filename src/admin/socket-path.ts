/**
 * Where the gateway of a data directory listens for commands. The kernel takes 107 bytes for the path
 * of a socket (103 on macOS); a longer one is reached through the open directory, which Linux allows.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { StoreRefused } from '../store/refusal.js';

export const socketFile = 'admin.sock';

const pathBytesMax = process.platform === 'darwin' ? 103 : 107;

export interface SocketPath {
  /** To bind or connect to, until it is closed. */
  readonly path: string;
  readonly close: () => void;
}

/** Throws `StoreRefused` where the path is too long and there is no way around it. */
export function openSocketPath(directory: string): SocketPath {
  const path = join(directory, socketFile);
  if (Buffer.byteLength(path) <= pathBytesMax) return { path, close: () => undefined };
  if (process.platform !== 'linux') {
    throw new StoreRefused(
      `The path ${path} is longer than the ${pathBytesMax} bytes that this system takes for a ` +
        'socket. Give a data directory with a shorter path.',
    );
  }
  const file = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${file}/${socketFile}`, close: () => closeSync(file) };
}
