/** A harness program that did nothing, or left something behind, must not look like one that found nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.js';

const program = fileURLToPath(new URL('./time/time.program.js', import.meta.url));

function start(t: Test, args: readonly string[]) {
  const directory = t.testdir();
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', TMPDIR: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { child, directory, ended: once(child, 'close') as Promise<[number | null]> };
}

/** Processes whose command line names the directory. */
function processesOf(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(directory);
      } catch {
        return false; // It has ended.
      }
    });
}

for (const args of [
  ['--rounds', 'ten'],
  ['--rounds', '0'],
  ['--seed', '1e999'],
]) {
  t.test(`a run with ${args.join(' ')} does not begin`, async (t) => {
    const { child, directory, ended } = start(t, args);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    t.equal((await ended)[0], 1);
    t.match(said, `${args[0] ?? ''} takes a number above 0, not ${args[1] ?? ''}`);
    t.strictSame(readdirSync(directory), []);
  });
}

t.test('an interrupted run leaves no process and no directory', async (t) => {
  const { child, directory, ended } = start(t, []);
  await eventually(() => processesOf(directory).length > 0);
  child.kill('SIGINT');
  t.equal((await ended)[0], 130);
  await eventually(() => processesOf(directory).length === 0);
  t.strictSame(readdirSync(directory), []);
});
