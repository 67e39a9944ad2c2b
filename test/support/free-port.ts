import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ranges from which Linux and macOS take a port for a connection, or for a server that asks for any: what
 * else runs on the machine cannot get it before the program has it.
 */
const ports = { first: 20_000, last: 29_999 };

/** A port of loopback that nobody listens on, for a program that has to be told one before it starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.first, ports.last + 1);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
