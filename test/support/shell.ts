/**
 * A bash in which a test runs the commands of a page, as a reader does who pastes them: variables,
 * functions and background jobs stay from one to the next. The first command that fails ends it. It
 * and all that it started end with the test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Test } from 'tap';
import './alone.js';
import { eventually } from './eventually.js';
import { signalbox } from './signalbox.js';

export interface Shell {
  /** Where the commands run. */
  readonly directory: string;
  /** @returns whether they went well, and what they said on both outputs. */
  run(commands: string): Promise<{ readonly ok: boolean; readonly output: string }>;
}

export interface ShellOptions {
  readonly directory: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** What commands that ask find on standard input. */
  readonly input?: string;
}

/**
 * Sources one file after another; each gets its output beside it. What it leaves running ends with it,
 * also when the test is gone without a word.
 */
const driver = `
set -eu
trap 'trap - TERM; kill 0' EXIT
while read -r -u 3 file; do
  . "$file" > "$file.out" 2>&1 3<&- 4>&-
  echo >&4
done`;

export function openShell(t: Test, { directory, environment, input }: ShellOptions): Shell {
  const child = spawn('bash', ['-c', driver], {
    cwd: directory,
    env: { ...environment },
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  child.stdin?.write(input);
  const files = child.stdio[3] as Writable;
  files.on('error', () => undefined);
  const done = createInterface({ input: child.stdio[4] as Readable });
  const ended = once(child, 'exit').then(() => false);
  t.teardown(async () => {
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (isRunning) process.kill(-(child.pid as number), 'SIGKILL');
    await ended;
    // Its jobs die a moment later, and until then they write to the directory.
    await eventually(() => !isGroupAlive(child.pid as number));
  });
  const scripts = mkdtempSync(join(directory, 'commands-'));
  let count = 0;
  return {
    directory,
    async run(commands) {
      const file = join(scripts, `${++count}`);
      writeFileSync(file, commands);
      writeFileSync(`${file}.out`, '');
      const isDone = once(done, 'line').then(() => true);
      files.write(`${file}\n`);
      const ok = await Promise.race([isDone, ended]);
      return { ok, output: readFileSync(`${file}.out`, 'utf8') };
    },
  };
}

function isGroupAlive(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

/**
 * Programs of the test's own, each the body of a shell script, that go before those of the machine.
 * @returns the PATH with them.
 */
export function pathWith(directory: string, programs: Readonly<Record<string, string>>): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return `${bin}:${process.env['PATH'] ?? ''}`;
}

/** The operator's command, for a shell. */
export const signalboxCommand = `'${process.execPath}' '${signalbox}'`;

/** The body of a program that is it. */
export const signalboxScript = `exec ${signalboxCommand} "$@"`;
