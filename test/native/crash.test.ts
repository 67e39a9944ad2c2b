/** What ends the whole process, and what does not: native-notes/request-lifetimes.md and others. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const program = fileURLToPath(new URL('./crash.program.js', import.meta.url));

/** Does the deed in a process. @returns the signal or exit code with which it ended, and its output. */
async function endOf(deed: string): Promise<[end: string | number | null, output: string]> {
  const child = spawn(
    '/bin/sh',
    ['-c', 'ulimit -c 0; exec "$@"', 'sh', process.execPath, program, deed],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return [signal ?? code, output];
}

const ends: Record<string, [end: string | number, output: string]> = {
  'no abort handler': ['SIGABRT', ''],
  'a whole answer, no abort handler': [0, 'alive\n'],
  'a part of an answer, no abort handler': ['SIGABRT', ''],
  'throw before onAborted': ['SIGABRT', 'uncaught early\n'],
  'throw after onAborted': [0, 'uncaught late\nalive\n'],
  'throw in onData': [0, 'uncaught in onData\naborted\nalive\n'],
  'a HEAD answered with endWithoutBody(n)': ['SIGABRT', ''],
  'an idle timeout of 5 seconds': ['SIGABRT', ''],
  'closing a false listen token': ['SIGSEGV', ''],
  'ending a thread that listens': ['SIGABRT', ''],
};

for (const [deed, end] of Object.entries(ends)) {
  t.test(`${deed}: ${end[0] === 0 ? 'the process lives' : `${end[0]}`}`, async (t) => {
    t.strictSame(await endOf(deed), end);
  });
}
