/**
 * `npm run bench`: runs the benches of benches/all.ts, prints a table and writes everything as JSON.
 * A bench whose requirements are missing is skipped and said to be.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { benches } from './benches/all.js';
import { type Bench, type BenchOptions, smoke } from './benches/bench.js';
import { type Environment, readEnvironment } from './measure/environment.js';
import { exitOnSignals } from './measure/interruption.js';
import { thisProduct } from './measure/product.js';
import { type Row, toTable } from './measure/report.js';
import { missing } from './measure/requirements.js';

/** The shape of the JSON file. */
export interface Results {
  readonly environment: Environment;
  readonly settings: Pick<BenchOptions, 'rounds' | 'seconds' | 'warmupSeconds' | 'isSmoke'>;
  readonly rows: readonly Row[];
  readonly skipped: readonly { readonly bench: string; readonly why: string }[];
}

const shipped = { rounds: 4, seconds: 4, warmupSeconds: 2, isSmoke: false };

const help = `npm run bench [-- NAME… [--smoke] [--rounds N] [--seconds N] [--json FILE]]

Measures this tree's gateway and prints one row for each figure. Benches:
${benches.map(({ name, summary, needs }) => `  ${name.padEnd(16)}${summary}${needs.length === 0 ? '' : ` (needs ${needs.join(', ')})`}`).join('\n')}

  --smoke      tiny counts: shows in seconds that the benches work, measures nothing
  --rounds N   samples of each side (${shipped.rounds})
  --seconds N  length of one measurement (${shipped.seconds})
  --json FILE  where the results go (build/bench-results.json)

What the benches need beside Node is installed by bench/setup.sh. bench/README.md says how to read a row.`;

const flags = {
  smoke: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  json: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

exitOnSignals();
process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: flags, allowPositionals: true });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const chosen = choose(positionals);
  const defaults = values.smoke ? smoke : shipped;
  const rounds = positive(values.rounds) ?? defaults.rounds;
  const seconds = positive(values.seconds) ?? defaults.seconds;
  if (chosen === undefined || Number.isNaN(rounds) || Number.isNaN(seconds)) {
    console.error(`There is no such bench or setting.\n\n${help}`);
    return 2;
  }
  const settings = { ...defaults, rounds, seconds };
  const environment = readEnvironment(thisProduct);
  console.log(heading(environment));

  const rows: Row[] = [];
  const skipped: { bench: string; why: string }[] = [];
  let failures = 0;
  const skip = (bench: string, why: string): void => {
    skipped.push({ bench, why });
    console.log(`SKIPPED ${bench}: ${why}`);
  };
  for (const bench of chosen) {
    const lacks = missing(bench.needs);
    if (lacks.length > 0) {
      skip(bench.name, `this machine lacks ${lacks.join(', ')}; run bench/setup.sh`);
      continue;
    }
    const log = (line: string): void => console.log(`  ${line}`);
    try {
      console.log(`${bench.name}: ${bench.summary}`);
      rows.push(...(await bench.run({ ...settings, log, product: thisProduct })));
    } catch (error) {
      failures++;
      skip(
        bench.name,
        `it failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
  }
  console.log(`\n${toTable(rows)}`);
  const file = values.json ?? 'build/bench-results.json';
  const results: Results = { environment, settings, rows, skipped };
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  console.log(`\nWritten to ${file}.`);
  return failures === 0 ? 0 : 1;
}

/** @returns undefined when one of the names is no bench's. */
function choose(names: readonly string[]): readonly Bench[] | undefined {
  if (names.length === 0) return benches;
  const chosen = benches.filter(({ name }) => names.includes(name));
  return chosen.length === new Set(names).size ? chosen : undefined;
}

/** @returns NaN for what is no positive number. */
function positive(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  return value > 0 ? value : NaN;
}

function heading(environment: Environment): string {
  const { commit, isDirty, node, cpu, cores, kernel, disk } = environment;
  const lines = [
    `commit ${commit}${isDirty ? ', with changes that are not committed' : ''}`,
    `Node ${node}, ${cpu}, ${cores} cores, Linux ${kernel}, data in ${disk.directory}`,
  ];
  if (disk.isMemory) {
    lines.push('The data directory is in memory: no figure below pays for a disk. Set BENCH_DIR.');
  }
  return `${lines.join('\n')}\n`;
}
