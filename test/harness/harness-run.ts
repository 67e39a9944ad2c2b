/**
 * The frame of every harness program: options with a seed, a temporary directory, a verdict and the
 * exit code. A run with a violation exits with 1 and keeps its directory. What a run starts must be
 * passed to `atExit`, so that nothing outlives it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Chance } from './chance.js';
import { Verdict } from './verdict.js';

const violationsShownMax = 5;

export interface HarnessRun<Option extends string> {
  /** Each option as given, or its default. */
  readonly options: Readonly<Record<Option, string>>;
  readonly seed: number;
  readonly chance: Chance;
  readonly directory: string;
  readonly verdict: Verdict;
  /** `stop` runs when the process exits for any reason; it must be synchronous. */
  readonly atExit: (stop: () => void) => void;
}

/**
 * @param name names the temporary directory and the run's chance.
 * @param defaults the options of the program beside `--seed`, with their defaults.
 * @param play returns the beginning of the last line, such as `10 rounds`.
 */
export async function runHarness<Option extends string>(
  name: string,
  defaults: Readonly<Record<Option, string>>,
  play: (run: HarnessRun<Option>) => Promise<string>,
): Promise<never> {
  const options = readOptions(defaults);
  const seed = Number(options.seed);
  const directory = mkdtempSync(join(tmpdir(), `signalbox-${name}-`));
  const verdict = new Verdict();
  console.log(`seed ${seed}, ${formatOptions(defaults, options)}, data in ${directory}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
  // One listener for all: Node warns of a leak when there are more than ten.
  const stops: (() => void)[] = [];
  process.on('exit', () => stops.forEach((stop) => stop()));
  const atExit = (stop: () => void): void => void stops.push(stop);
  const chance = new Chance(seed, name);
  let end = 'aborted';
  try {
    end = await play({ options, seed, chance, directory, verdict, atExit });
  } catch (error) {
    verdict.hold('the run completes', false, () => error);
  }
  for (const { rule, round, evidence } of verdict.violations.slice(0, violationsShownMax)) {
    console.log(`VIOLATION (seed ${seed}, round ${round}): ${rule}\n${evidence}`);
  }
  const isClean = verdict.violations.length === 0;
  if (isClean) rmSync(directory, { recursive: true });
  else console.log(`the data is kept in ${directory}`);
  console.log(`${end}, ${verdict.checks} checks, ${verdict.violations.length} violations`);
  process.exit(isClean ? 0 : 1);
}

function readOptions<Option extends string>(
  defaults: Readonly<Record<Option, string>>,
): Record<Option | 'seed', string> {
  const seed = `${Math.floor(Math.random() * 2 ** 32)}`;
  const known = Object.entries<string>({ ...defaults, seed }).map(
    ([option, value]) => [option, { type: 'string' as const, default: value }] as const,
  );
  return parseArgs({ options: Object.fromEntries(known) }).values as Record<
    Option | 'seed',
    string
  >;
}

function formatOptions(
  defaults: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
) {
  return Object.keys(defaults)
    .filter((option) => options[option] !== '')
    .map((option) => `${option} ${String(options[option])}`)
    .join(', ');
}
