/**
 * The real gateway in a process of its own, on free ports and a data directory of the test's. Ends
 * with the test: nothing that it starts outlives it.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { watchAnswersOf } from './answer-watch.js';
import { endWithTest } from './end-with-test.js';
import { type CliResult, signalboxIn } from './in-process.js';
import { signalbox } from './signalbox.js';

export interface GatewayOptions {
  readonly dataDir: string;
  /** Content of the config file: limits, plans, platforms. */
  readonly config?: object;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Largest file that it may write, in the shell's blocks of 512 or 1024 bytes: a disk that is full. */
  readonly fileBlocksMax?: number;
  /** The user and group that it runs as; the test's own unless given, which only root can. */
  readonly uid?: number;
  /** A program, with its arguments, that starts the gateway in its own place. */
  readonly under?: readonly string[];
  /** Called with the process as soon as it is started, long before it is ready. */
  readonly onSpawn?: (process: ChildProcess) => void;
}

export interface GatewayProcess {
  readonly url: string;
  readonly opsUrl: string;
  readonly process: ChildProcess;
  /** All that it has logged so far. */
  readonly log: () => string;
  /** SIGTERM. @returns the exit code, or null when a signal ended it. */
  stop(): Promise<number | null>;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
}

export async function startGateway(options: GatewayOptions): Promise<GatewayProcess> {
  const flags = ['--data-dir', options.dataDir, '--port', '0', '--ops-port', '0'];
  if (options.config !== undefined) {
    const file = `${options.dataDir}.config.json`;
    writeFileSync(file, JSON.stringify(options.config));
    flags.push('--config', file);
  }
  const limit = options.fileBlocksMax ?? 'unlimited';
  const { under = [] } = options;
  const command = [
    ...under,
    process.execPath,
    signalbox,
    'serve',
    ...flags,
    ...(options.flags ?? []),
  ];
  // The test runner would load itself into the gateway and take signals from it (SIGXFSZ among them).
  const shell = 'ulimit -f "$0"; export NODE_OPTIONS="$1"; shift; exec "$@"';
  const nodeOptions = options.environment?.['NODE_OPTIONS'] ?? '';
  const child = endWithTest(
    spawn('/bin/sh', ['-c', shell, `${limit}`, nodeOptions, ...command], {
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    }),
  );
  options.onSpawn?.(child);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, 'line') as Promise<[string]>;
  const first = await Promise.race([ready, ended.then(() => undefined)]);
  if (first === undefined) throw new Error(`the gateway did not start:\n${log}`);
  const { url, opsUrl } = JSON.parse(first[0]) as { url: string; opsUrl: string };
  void ended.then(watchAnswersOf(url));
  return {
    url,
    opsUrl,
    process: child,
    log: () => log,
    async stop() {
      child.kill('SIGTERM');
      return (await ended)[0];
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs the operator's command on a data directory, in a process of its own. */
export function signalboxCli(dataDir: string, args: readonly string[], input = ''): CliResult {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [signalbox, ...args, '--data-dir', dataDir],
    { input, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } },
  );
  return { code: status, stdout, stderr };
}

export const password = 'correct horse';

/** Adds a user with this password. */
export async function addUser(
  dataDir: string,
  email: string,
  plan = 'business',
  flags: readonly string[] = [],
): Promise<void> {
  const args = ['user', 'add', email, '--plan', plan, '--password-stdin', ...flags];
  const { code, stderr } = await signalboxIn(dataDir, args, `${password}\n`);
  if (code !== 0) throw new Error(stderr);
}
