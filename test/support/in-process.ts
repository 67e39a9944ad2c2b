/** The command `signalbox` within the test's own process: what it prints, and its exit code. */
import { Readable } from 'node:stream';
import { createProgram, runProgram } from '../../src/cli/program.js';
import type { Io } from '../../src/cli/io.js';

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `input`: what comes on its standard input. */
export async function runInProcess(args: readonly string[], input = ''): Promise<CliResult> {
  let [stdout, stderr] = ['', ''];
  const code = await runProgram(args, {
    stdout: (text) => void (stdout += text),
    activity: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    stdin: () => Readable.from([input]),
    isTTY: false,
    env: process.env,
  });
  return { code, stdout, stderr };
}

/** Runs the operator's command on a data directory. */
export function signalboxIn(
  dataDir: string,
  args: readonly string[],
  input = '',
): Promise<CliResult> {
  return runInProcess([...args, '--data-dir', dataDir], input);
}

const nowhere: Io = {
  stdout: () => undefined,
  activity: () => undefined,
  stderr: () => undefined,
  stdin: () => Readable.from([]),
  isTTY: false,
  env: {},
  exitCode: () => undefined,
};

/** The whole command line, to be looked at. */
export function programToRead(): ReturnType<typeof createProgram> {
  return createProgram(nowhere);
}
