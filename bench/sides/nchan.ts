/**
 * Program: nginx with nchan on a free port, as peers/nginx-nchan.conf says. The argument is the number
 * of its workers, or `auto`. The kernel ends nginx with this process, however this one ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { thisProduct } from '../measure/product.js';
import { nchanModule } from '../measure/requirements.js';
import { newDirectory } from '../measure/workspace.js';

const host = '127.0.0.1';
const template = join(thisProduct.root, 'bench', 'peers', 'nginx-nchan.conf');
const startPatienceMs = 10_000;
const lookAgainMs = 20;

const directory = newDirectory('nchan');
const port = await freePort();
const config = join(directory, 'nginx.conf');
writeFileSync(
  config,
  fill(readFileSync(template, 'utf8'), {
    MODULE: nchanModule,
    WORKERS: process.argv[2] ?? '1',
    DIRECTORY: directory,
    PORT: String(port),
  }),
);
const nginx = spawn(
  'setpriv',
  ['--pdeathsig', 'TERM', 'nginx', '-c', config, '-p', directory, '-e', 'stderr'],
  {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` },
  },
);
nginx.on('exit', () => process.exit());
process.on('SIGTERM', () => nginx.kill('SIGTERM'));

await accepting();
console.log(JSON.stringify({ url: `http://${host}:${port}` }));

function fill(text: string, values: Record<string, string>): string {
  return text.replace(/@([A-Z]+)@/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the template asks for ${name}`);
    return value;
  });
}

/** nginx takes no port 0. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function accepting(): Promise<void> {
  for (const giveUpAt = performance.now() + startPatienceMs; ; await pause(lookAgainMs)) {
    const socket = connect(port, host);
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    } finally {
      socket.destroy();
    }
  }
}
