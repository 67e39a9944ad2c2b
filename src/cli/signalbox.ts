#!/usr/bin/env node
/** The command `signalbox`: runs the command line of this process and ends with its exit code. */
import { errorText } from '../lib/error-text.js';
import { exitCodes } from './command.js';
import { runProgram } from './program.js';

const { stdout, stderr, env, argv } = process;

let isLost = false;
stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `signalbox user list | head`: a reader that has read enough may close the pipe.
  if (error.code === 'EPIPE' || isLost) return;
  isLost = true;
  process.exitCode ??= exitCodes.refused;
  stderr.write(
    `The output cannot be written: ${errorText(error)}. Make room there, and check whether the ` +
      'command is in effect before you run it again.\n',
  );
});
// Nobody is left to be told, and the command goes on.
stderr.on('error', () => undefined);

const exitCode = await runProgram(argv.slice(2), {
  stdout: (text) => void stdout.write(text),
  stderr: (text) => void stderr.write(text),
  stdin: () => process.stdin,
  isTTY: stdout.isTTY,
  env,
});
if (exitCode !== exitCodes.done) process.exitCode = exitCode;
