/**
 * The short form of each program: the run that the tests make, with every kind of check in as few
 * seconds as possible. `npm test` runs each once, in the test file of its name.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

interface ShortForm {
  /** Path below test/harness/, without `.program.ts`. */
  readonly program: string;
  readonly args: readonly string[];
  /** Matches the last line that the program prints. */
  readonly lastLine: RegExp;
}

/** A program that runs longer is killed and fails: several times what the slowest takes on two cores. */
const timeoutMs = 280_000;

// oxfmt-ignore
const shortForms = {
  // Each kind of fault once, except those of the disk, which may abort the process (native-notes/lmdb.md).
  crash: {
    program: 'crash/crash',
    args: ['--rounds', '6', '--faults', 'load,draining'],
    lastLine: /^6 rounds, \d+ checks, 0 violations$/,
  },
  // A step forward and back, a blocked event loop, a suspended process.
  time: {
    program: 'time/time',
    args: ['--rounds', '3', '--faults', 'forward and taken,and held,while suspended'],
    lastLine: /^3 rounds, \d+ checks, 0 violations$/,
  },
  // The shortest run in which every outcome of an execution occurs; growth is judged over 7 windows of 3 s.
  soak: {
    program: 'soak/soak',
    args: ['--minutes', '0.5', '--rate', '60'],
    lastLine: /^0\.5 minutes, \d+ deeds, \d+ checks, 0 violations$/,
  },
  // A recording of three lives, a hundred power cuts of it, one of them with a real start.
  power: {
    program: 'power/power',
    args: ['--directories', '100'],
    lastLine: /^100 directories, \d+ checks, 0 violations$/,
  },
  'fuzz http': fuzz('http', 300),
  'fuzz idle': fuzz('idle', 500),
  'fuzz plugins': fuzz('plugins', 300),
  'fuzz readers': fuzz('readers', 40),
} as const satisfies Record<string, ShortForm>;

type ShortFormName = keyof typeof shortForms;

function fuzz(target: string, inputs: number): ShortForm {
  return {
    program: 'fuzz/fuzz',
    args: ['--target', target, '--inputs', `${inputs}`],
    lastLine: new RegExp(`^1 targets of ${inputs} inputs, \\d+ checks, 0 violations$`),
  };
}

/** Tests that the program ends with 0, its last line and no violation. @param skip why it cannot run here. */
export function testShortForm(
  t: Test,
  title: string,
  name: ShortFormName,
  skip: string | false = false,
): void {
  const { program, args, lastLine } = shortForms[name];
  const file = fileURLToPath(new URL(`./${program}.program.js`, import.meta.url));
  t.setTimeout(timeoutMs + 10_000);
  t.test(title, { timeout: timeoutMs + 10_000, skip }, async (t) => {
    const child = spawn(process.execPath, ['--enable-source-maps', file, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const status = await new Promise((resolve) => child.once('close', resolve));
    // Tests of their own, since a runner may show no more of a failure than its name.
    for (const [violation] of output.matchAll(/^VIOLATION .*/gm)) {
      await t.test(violation, (t) => Promise.resolve(t.fail(violation)));
    }
    t.equal(status, 0, output);
    t.match(output.trimEnd().split('\n').at(-1), lastLine);
  });
}
