/**
 * Runs many lines of the command `signalbox` in one process, one after the other, as the operator
 * would one by one: `[{"args": […], "environment": {…}}, …]` on standard input.
 */
import { readFileSync } from 'node:fs';
import { runProgram } from '../../src/cli/program.js';

interface Line {
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

for (const { args, environment = {} } of JSON.parse(readFileSync(0, 'utf8')) as Line[]) {
  process.stdout.write(`\n$ ${args.join(' ')}\n`);
  const code = await runProgram(args, {
    stdout: (text) => void process.stdout.write(text),
    activity: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    stdin: () => process.stdin,
    isTTY: false,
    env: { ...process.env, ...environment },
  });
  process.stdout.write(`exit code ${code}\n`);
}
