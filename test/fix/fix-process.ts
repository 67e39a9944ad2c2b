/** `signalbox fix` in a process of its own, against the gateway and the venue of a test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { eventually } from '../support/eventually.js';
import { password as usersPassword } from '../support/gateway-process.js';
import { signalbox } from '../support/signalbox.js';

export const source = { platform: 'terminal_a', instanceId: 'fix-1', accountName: 'ACC' } as const;

export interface FixProcessOptions {
  readonly directory: string;
  readonly url: string;
  readonly email: string;
  /** The user's password at the gateway; by default that of all users of a test. */
  readonly password?: string;
  readonly port: number;
  readonly session?: object;
  readonly more?: object;
  readonly secret?: string;
}

export interface FixProcess {
  readonly output: () => string;
  readonly errors: () => string;
  ended(): Promise<number | null>;
  /** Both sides are connected. */
  ready(): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM. @returns the exit code. */
  stop(): Promise<number | null>;
}

export function configFile(options: FixProcessOptions): string {
  const { directory, url, email, port, session, more } = options;
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'fix.json');
  const config = {
    gateway: { url, email },
    ...source,
    stateDir: join(directory, 'state'),
    session: { host: '127.0.0.1', port, senderCompId: 'TRADER', targetCompId: 'VENUE', ...session },
    orders: { account: 'A1', symbols: { EURUSD: 'EUR/USD' } },
    ...more,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

export function startFix(t: Test, options: FixProcessOptions, flags: string[] = []): FixProcess {
  const args = [signalbox, 'fix', '--config', configFile(options), ...flags];
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env['PATH'],
      SIGNALBOX_PASSWORD: options.password ?? usersPassword,
      ...(options.secret === undefined ? {} : { SIGNALBOX_FIX_PASSWORD: options.secret }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  t.teardown(() => end('SIGKILL'));
  return {
    output: () => output,
    errors: () => errors,
    ended: () => ended,
    async ready() {
      await eventually(() => {
        if (child.exitCode !== null) throw new Error(`it has ended: ${errors}`);
        return /logged on[^]*connected as/.test(output);
      });
    },
    async kill() {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
  };
}
