#!/usr/bin/env node
/** The command `signalbox`: runs the command line of this process and ends with its exit code. */
import { runProgram } from './program.js';

const { stdout, stderr, env, argv } = process;

// `signalbox user list | head`: a reader that has read enough may close the pipe.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runProgram(argv.slice(2), {
  stdout: (text) => void stdout.write(text),
  stderr: (text) => void stderr.write(text),
  stdin: () => process.stdin,
  isTTY: stdout.isTTY,
  env,
});
