/** Runs `signalbox terminal` alone, with the exit code of the whole command line. */
import { CommanderError } from 'commander';
import { terminalCommand } from '../../src/cli/terminal.js';

try {
  await terminalCommand().exitOverride().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
