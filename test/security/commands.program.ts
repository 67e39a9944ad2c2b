/**
 * Runs many lines of the command `signalbox` in one process, one after the other, as the operator
 * would one by one: `[{"args": […], "environment": {…}}, …]` on standard input.
 */
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { createProgram } from '../../src/cli/program.js';

interface Line {
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

for (const { args, environment = {} } of JSON.parse(readFileSync(0, 'utf8')) as Line[]) {
  const usual = process.env;
  process.env = { ...usual, ...environment };
  process.exitCode = 0;
  process.stdout.write(`\n$ ${args.join(' ')}\n`);
  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  process.stdout.write(`exit code ${process.exitCode}\n`);
  process.env = usual;
}
process.exitCode = 0;
