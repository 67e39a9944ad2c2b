/**
 * Runs test files in this one process, one after another, each under a test of its own: whatever a file does
 * with the `t` that it imports is done to that test. A file ends when its tests have ended and nothing of it
 * is open, as the process of a file that runs alone does.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as tap from 'tap';
import { guardDirectories } from './alone.js';
import type { RunnerMessage } from './file-runner.js';

const [timeoutMs, closingMs] = process.argv.slice(2).map(Number) as [number, number];
/** USER_HZ: the clock in which /proc counts. */
const ticksPerSecond = 100;

// Each file has a time limit of its own.
tap.t.setTimeout(0);
process.on('message', (file: string) => void run(file));
process.on('disconnect', () => process.exit());
const openAtStart = countsOf(process.getActiveResourcesInfo());

async function run(file: string): Promise<void> {
  tell({ timeMs: timeoutMs });
  const began = cpuSeconds();
  const options: ConstructorParameters<typeof tap.Test>[0] = {
    name: file,
    timeout: timeoutMs,
    cb: async () => {
      forwardTo(test);
      test.testdirName = join('.tap/fixtures', relative('', file).replaceAll('/', '-'));
      await import(pathToFileURL(file).href);
    },
  };
  const test = new tap.Test(options);
  guardDirectories(test);
  test.on('data', (output: Buffer | string) => tell({ tap: output.toString() }));
  await new Promise<void>((resolve) => test.runMain(resolve));
  test.setTimeout(0);
  const complaint = (await neverClosed()) ?? failureUntold(test);
  const ok = complaint === undefined && test.results?.ok === true;
  tell({ ended: { ok, complaint, cpuSeconds: cpuSeconds() - began } });
}

/** Waits until the file has nothing open that would keep a process of its own alive, or for too long. */
async function neverClosed(): Promise<string | undefined> {
  const deadline = performance.now() + closingMs;
  while (openOfFile().length > 0) {
    if (performance.now() > deadline) return `never closed: ${openOfFile().join(', ')}`;
    await sleep(10);
  }
  return undefined;
}

/** @returns a failure that is not in the output of the test. */
function failureUntold({ results }: tap.Test): string | undefined {
  if (process.exitCode !== undefined) {
    return `the exit code would be ${process.exitCode}: see standard error`;
  }
  const isTold = results?.ok === true || (results?.fail ?? 0) > 0;
  return isTold ? undefined : 'an error after its end: see standard error';
}

function openOfFile(): string[] {
  const counts = countsOf(process.getActiveResourcesInfo());
  return [...counts].filter(([kind, n]) => n > (openAtStart.get(kind) ?? 0)).map(([kind]) => kind);
}

function countsOf(kinds: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** The module `tap` hands out one `t` to a process: what is called on it now becomes the test's. */
function forwardTo(test: tap.Test): void {
  const target = tap.t as unknown as Record<string, unknown>;
  const methods = test as unknown as Record<string, unknown>;
  for (const name of [...Object.keys(tap), 'teardown']) {
    const method = methods[name];
    // Bound, and not wrapped: the line that a failure names is the caller's.
    if (typeof method === 'function') target[name] = method.bind(test) as unknown;
  }
  target['setTimeout'] = (timeMs: number): void => {
    tell({ timeMs });
    test.setTimeout(timeMs);
  };
  Object.defineProperty(target, 'jobs', {
    configurable: true,
    get: () => test.jobs,
    set: (jobs: number) => {
      test.jobs = jobs;
    },
  });
}

/** Processor seconds of this process and, where /proc tells, of those that it has started and awaited. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childTicks() / ticksPerSecond;
}

function childTicks(): number {
  if (process.platform !== 'linux') return 0;
  // The fields that follow the command's name begin with the state; cutime and cstime are 13th and 14th.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return Number(fields[13]) + Number(fields[14]);
}

function tell(message: RunnerMessage): void {
  process.send?.(message);
}
