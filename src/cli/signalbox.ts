#!/usr/bin/env node
/** The command `signalbox`: runs the command line and ends with its exit code. */
import { CommanderError } from 'commander';
import { exitCodes } from './command.js';
import { createProgram } from './program.js';

// `signalbox user list | head`: whoever has read enough may close the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  const program = await createProgram(process.argv[2], process.argv[3]);
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // commander has printed the help or what was wrong.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
}
