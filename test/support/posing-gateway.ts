/** Stands for a gateway that owns a data directory, and answers commands as the test says. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { openSocketPath } from '../../src/admin/socket-path.js';
import { lockDirectory } from '../../src/store/directory-lock.js';

/** Until the test ends. @param answer is called with each connection, whose request is not read. */
export async function poseAsGateway(
  t: Test,
  dataDir: string,
  answer: (socket: Socket) => void,
): Promise<void> {
  const lock = await lockDirectory(dataDir, 'gateway');
  const { path, close } = openSocketPath(dataDir);
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
    answer(socket);
  });
  await once(server.listen(path), 'listening');
  t.teardown(() => {
    server.close();
    close();
    lock.release();
  });
}

export function endAfter(...lines: readonly object[]): (socket: Socket) => void {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return (socket) => void socket.end(text);
}
