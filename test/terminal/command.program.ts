/** Runs `signalbox terminal` alone: the rest of the command line is not loaded. */
import { runProgram } from '../../src/cli/program.js';

const { stdout, stderr } = process;
process.exitCode = await runProgram(['terminal', ...process.argv.slice(2)], {
  stdout: (text) => void stdout.write(text),
  stderr: (text) => void stderr.write(text),
  stdin: () => process.stdin,
  isTTY: stdout.isTTY,
  env: process.env,
});
