/**
 * The frame of every harness program: options with a seed, a temporary directory, a verdict and the
 * exit code. A run with a violation exits with 1 and keeps its directory; one that is interrupted leaves nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../bench/measure/interruption.js';
import { Chance } from './chance.js';
import { Verdict } from './verdict.js';

const violationsShownMax = 5;

/** The options of a program beside `--seed`, with their defaults: a number is above 0, and every text is allowed. */
type Defaults = Readonly<Record<string, string | number>>;

export interface HarnessRun<Options extends Defaults> {
  /** Each option as given, or its default. */
  readonly options: Options;
  readonly seed: number;
  readonly chance: Chance;
  readonly directory: string;
  readonly verdict: Verdict;
}

/**
 * @param name names the temporary directory and the run's chance.
 * @param play returns the beginning of the last line, such as `10 rounds`.
 */
export async function runHarness<Options extends Defaults>(
  name: string,
  defaults: Options,
  play: (run: HarnessRun<Options>) => Promise<string>,
): Promise<never> {
  const { options, seed } = readOptions(defaults);
  const directory = mkdtempSync(join(tmpdir(), `signalbox-${name}-`));
  const verdict = new Verdict();
  console.log(`seed ${seed}, ${formatOptions(options)}, data in ${directory}`);
  exitOnSignals();
  // After a violation, or an error that nothing caught, the data shows what happened.
  process.on('exit', (code) => {
    if (code !== 1) rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  });
  const chance = new Chance(seed, name);
  let end = 'aborted';
  try {
    end = await play({ options, seed, chance, directory, verdict });
  } catch (error) {
    verdict.hold('the run completes', false, () => error);
  }
  for (const { rule, round, evidence } of verdict.violations.slice(0, violationsShownMax)) {
    console.log(`VIOLATION (seed ${seed}, round ${round}): ${rule}\n${evidence}`);
  }
  const isClean = verdict.violations.length === 0;
  if (!isClean) console.log(`the data is kept in ${directory}`);
  console.log(`${end}, ${verdict.checks} checks, ${verdict.violations.length} violations`);
  process.exit(isClean ? 0 : 1);
}

/** Throws when an option is unknown, or its value is not one: a run of no rounds would find no violation. */
function readOptions<Options extends Defaults>(
  defaults: Options,
): { readonly options: Options; readonly seed: number } {
  const all: Defaults = { ...defaults, seed: Math.floor(Math.random() * 2 ** 32) };
  const known = Object.entries(all).map(
    ([option, value]) => [option, { type: 'string' as const, default: `${value}` }] as const,
  );
  const { values } = parseArgs({ options: Object.fromEntries(known) });
  const read = Object.entries(values).map(([option, text]) => {
    if (typeof all[option] === 'string') return [option, text];
    const value = Number(text);
    if (value > 0 && value < Infinity) return [option, value];
    throw new Error(`--${option} takes a number above 0, not ${text}`);
  });
  const { seed, ...options } = Object.fromEntries(read) as Record<string, string | number>;
  return { options: options as Options, seed: seed as number };
}

function formatOptions(options: Defaults): string {
  return Object.entries(options)
    .filter(([, value]) => value !== '')
    .map(([option, value]) => `${option} ${value}`)
    .join(', ');
}
