/** The command `signalbox` in a process of its own, while the test goes on. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { endWithTest } from './end-with-test.js';
import { signalboxIn, type CliResult } from './in-process.js';
import { signalbox } from './signalbox.js';

export interface RunningCommand {
  readonly process: ChildProcess;
  /** What it has printed so far. */
  readonly stdout: () => string;
  readonly ended: Promise<CliResult>;
}

/** `input`: what comes on its standard input. */
export function startCommand(args: readonly string[], input = ''): RunningCommand {
  // The test runner would load itself into the command and take signals from it.
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child = endWithTest(spawn(process.execPath, [signalbox, ...args], { env, stdio: 'pipe' }));
  // A command that does not read, or was killed, leaves its input behind.
  child.stdin.on('error', () => undefined).end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return {
    process: child,
    stdout: () => stdout,
    ended: once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr })),
  };
}

export function runCommand(args: readonly string[]): Promise<CliResult> {
  return startCommand(args).ended;
}

/** What the doctor says of the store in a data directory. */
export async function storeFinding(dataDir: string): Promise<unknown> {
  const free = ['--port', '0', '--ops-port', '0'];
  const { stdout } = await signalboxIn(dataDir, ['doctor', '--json', ...free]);
  const { findings } = JSON.parse(stdout) as { findings: readonly { readonly check: string }[] };
  return findings.find(({ check }) => check === 'store');
}
