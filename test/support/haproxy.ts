/**
 * HAProxy as a process of its own, with the configuration that the project ships, unchanged: what is
 * of this machine comes in by the environment. Its port is a listening socket that it inherits, so that
 * no other program can take it. Ends with the test.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { eventually } from './eventually.js';
import { missing } from './installed.js';
import { socketFolder } from './socket-folder.js';

export const haproxyFolder = fileURLToPath(new URL('../../../ops/haproxy/', import.meta.url));
const configuration = `${haproxyFolder}signalbox.cfg`;

export interface HaproxyFiles {
  /** Certificate, chain and key in one PEM file. */
  readonly certificates: string;
  readonly map: string;
}

export interface Haproxy {
  readonly port: number;
  /** All that it has logged. */
  readonly log: () => string;
  /** One command on its admin socket. @returns its answer. */
  admin(command: string): Promise<string>;
}

/** For a subtest's `skip`. @returns false when the HAProxy in PATH is of this version or later. */
export function haproxyBefore(major: number, minor: number): string | false {
  const reason = missing('haproxy', ['-v']);
  if (reason !== false) return reason;
  const { stdout } = spawnSync('haproxy', ['-v'], { encoding: 'utf8' });
  const [, text = '', hasMajor, hasMinor] = /version ((\d+)\.(\d+)\S*)/.exec(stdout) ?? [];
  const isBefore =
    Number(hasMajor) < major || (Number(hasMajor) === major && Number(hasMinor) < minor);
  return isBefore && `HAProxy ${text} is too old: it takes ${major}.${minor}`;
}

/** For a subtest's `skip`. @returns why HAProxy runs as this test's user, and not as its own. */
export function noHaproxyUser(): string | false {
  if (process.geteuid?.() !== 0) return 'only root can start it as another user';
  return spawnSync('id', ['haproxy']).status === 0 ? false : 'there is no user haproxy';
}

/** @returns what HAProxy itself says of the configuration, and whether it accepts it. */
export function checkConfiguration(files: HaproxyFiles): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-V', '-f', configuration], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environmentOf(files) },
  });
  return { status, output: stdout + stderr };
}

export async function startHaproxy(
  t: Test,
  files: HaproxyFiles,
  environment: Readonly<Record<string, string>>,
): Promise<Haproxy> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const { fd } = (listener as unknown as { _handle: { fd: number } })._handle;
  const adminSocket = `${socketFolder(t)}/admin.sock`;
  const child = spawn('haproxy', ['-db', '-f', configuration], {
    env: {
      PATH: process.env['PATH'],
      ...environmentOf(files),
      ...environment,
      EDGE_HTTPS: 'fd@3',
      EDGE_ADMIN: adminSocket,
    },
    stdio: ['ignore', 'pipe', 'pipe', fd],
  });
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (log += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  listener.close();

  async function admin(command: string): Promise<string> {
    const socket = connect(adminSocket);
    await once(socket, 'connect');
    socket.end(`${command}\n`);
    let answer = '';
    for await (const chunk of socket.setEncoding('utf8')) answer += chunk as string;
    return answer.trim();
  }

  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`HAProxy did not start:\n${log}`);
    return admin('show info').catch(() => false);
  });
  return { port, log: () => log, admin };
}

function ownName(flag: '-un' | '-gn'): string {
  return spawnSync('id', [flag], { encoding: 'utf8' }).stdout.trim();
}

function environmentOf(files: HaproxyFiles): Record<string, string> {
  return {
    ...(noHaproxyUser() === false ? {} : { EDGE_USER: ownName('-un'), EDGE_GROUP: ownName('-gn') }),
    EDGE_CERTIFICATES: files.certificates,
    EDGE_MAP: files.map,
    EDGE_CONNECTIONS: '200',
  };
}
