#!/usr/bin/env node
/** The command `signalbox`: runs the command line of this process and ends with its exit code. */
import { errorText } from '../lib/error-text.js';
import { systemClock } from '../lib/clock.js';
import { createActivityOutput, lastLinesMs } from './activity-output.js';
import { exitCodes } from './command.js';
import { runProgram } from './program.js';

const { stdout, stderr, env, argv } = process;

let isLost = false;
let ifUnread: string | undefined;
stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `signalbox user list | head`: a reader that has read enough may close the pipe.
  const isRead = error.code === 'EPIPE' && ifUnread === undefined;
  if (isRead || isLost) return;
  isLost = true;
  process.exitCode ??= exitCodes.refused;
  const advice =
    ifUnread ??
    'Make room there, and check whether the command is in effect before you run it again.';
  stderr.write(`The output cannot be written: ${errorText(error)}. ${advice}\n`);
});
// Nobody is left to be told, and the command goes on.
stderr.on('error', () => undefined);

const tell = (text: string): void => void stderr.write(text);
const printActivity = createActivityOutput(stdout, tell);
let isActive = false as boolean;

const exitCode = await runProgram(argv.slice(2), {
  stdout(text, told) {
    ifUnread = told;
    stdout.write(text);
  },
  activity(text) {
    isActive = true;
    printActivity(text);
  },
  stderr: tell,
  stdin: () => process.stdin,
  isTTY: stdout.isTTY,
  env,
});
if (exitCode !== exitCodes.done) process.exitCode = exitCode;
// Lines that nobody reads would keep the process up.
if (isActive) systemClock.setTimer(lastLinesMs, () => process.exit());
