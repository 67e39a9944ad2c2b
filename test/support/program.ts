/**
 * A small program of the tests in a process of its own. It talks over Node's IPC channel, one text a
 * message, and never outlives its test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export interface Program {
  /** The next message; rejects with what the program wrote to standard error when it ends first. */
  next(): Promise<string>;
  /** Messages that have come and were not taken. */
  rest(): string[];
  say(text: string): void;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

export interface ProgramOptions {
  /** Largest file that the process may write, in the shell's blocks of 512 or 1024 bytes. */
  readonly fileBlocksMax?: number;
}

/** @param path of the program below test/, without `.program.ts`. */
export function startProgram(
  t: Test,
  path: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Program {
  const file = fileURLToPath(new URL(`../${path}.program.js`, import.meta.url));
  const child = spawn(
    '/bin/sh',
    ['-c', 'ulimit -f "$0"; exec "$@"', `${options.fileBlocksMax ?? 'unlimited'}`].concat(
      process.execPath,
      file,
      args,
    ),
    { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
  );
  const messages: string[] = [];
  let errors = '';
  let wake: () => void = () => undefined;
  child.on('message', (text) => {
    messages.push(text as string);
    wake();
  });
  child.stderr?.on('data', (chunk) => {
    errors += String(chunk);
  });
  const gone = new Promise<void>((resolve) => {
    child.once('close', () => {
      resolve();
      wake();
    });
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  t.teardown(kill);

  return {
    async next() {
      while (messages.length === 0) {
        if (hasEnded(child)) throw new Error(`${path} ended without a message: ${errors}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return messages.shift() as string;
    },
    rest: () => messages.splice(0),
    say: (text) => void child.send(text),
    kill,
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
