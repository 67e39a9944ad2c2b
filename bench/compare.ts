/**
 * `npm run bench:compare -- REF`: this tree's gateway against another commit's, both under this tree's
 * bench programs. The other one is checked out beside, built, and removed in the end. Exit code 1 when
 * a figure fell by more than the tolerance.
 */
import { parseArgs } from 'node:util';
import { benches } from './benches/all.js';
import { type Bench, smoke } from './benches/bench.js';
import { exitOnSignals } from './measure/interruption.js';
import { openOtherTree } from './measure/other-tree.js';
import { type Product, thisProduct } from './measure/product.js';
import { type Row, toRow, toTable } from './measure/report.js';
import { missing } from './measure/requirements.js';
import { alternate, type Figures, samplesOf } from './measure/rounds.js';

/** Median of five. */
const shipped = { rounds: 5, seconds: 4, warmupSeconds: 2, isSmoke: false };
/** A smaller loss may be the machine's, a larger one is the change's. */
const tolerance = 0.05;

const comparable = benches.filter(({ ours }) => ours !== undefined);
const help = `npm run bench:compare -- REF [NAME…] [--smoke] [--rounds N]

Measures this tree's gateway against the commit REF, in alternating fresh processes, and ends with
exit code 1 when a figure is worse by more than ${tolerance * 100}%. Benches: ${comparable.map(({ name }) => name).join(', ')}.

  --smoke     tiny counts: shows that the comparison works, judges nothing
  --rounds N  samples of each side (${shipped.rounds})`;

const flags = {
  smoke: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

exitOnSignals();
process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: flags, allowPositionals: true });
  const [ref, ...names] = positionals;
  const defaults = values.smoke ? smoke : shipped;
  const rounds = Number(values.rounds ?? defaults.rounds);
  const isKnown = names.every((name) => comparable.some((bench) => bench.name === name));
  if (values.help || ref === undefined || !isKnown || !Number.isInteger(rounds) || rounds < 1) {
    console.log(help);
    return values.help ? 0 : 2;
  }
  const chosen = comparable.filter(({ name }) => names.length === 0 || names.includes(name));
  console.log(`Building ${ref} beside this tree …`);
  const other = openOtherTree(thisProduct, ref);
  try {
    const rows: Row[] = [];
    for (const bench of chosen) {
      const lacks = missing(bench.needs);
      if (lacks.length > 0)
        console.log(`SKIPPED ${bench.name}: this machine lacks ${lacks.join(', ')}`);
      else rows.push(...(await compare(bench, other.product, { ...defaults, rounds })));
    }
    console.log(`\n${toTable(rows)}`);
    const fallen = rows.filter(({ met }) => met === false);
    if (fallen.length === 0 || values.smoke) return 0;
    console.log(
      `\nWorse by more than ${tolerance * 100}%: ${fallen.map((row) => `${row.bench} ${row.figure}`).join(', ')}.`,
    );
    return 1;
  } finally {
    other.remove();
  }
}

async function compare(
  { name, ours }: Bench,
  other: Product,
  settings: typeof shipped,
): Promise<Row[]> {
  const products = { ours: thisProduct, other };
  const log = (line: string): void => console.log(`  ${line}`);
  const measured = await alternate(['ours', 'other'], settings.rounds, async (side, round) => {
    const product = products[side];
    const figures = (await ours?.({ ...settings, log, product })) as Figures;
    log(`${name}, round ${round + 1}, ${product.label}: ${JSON.stringify(figures)}`);
    return figures;
  });
  return Object.keys(measured.ours[0] ?? {}).map((figure) => {
    return toRow({
      bench: name,
      figure,
      // The figure's name ends with it.
      unit: '',
      ours: samplesOf(measured.ours, figure),
      other: samplesOf(measured.other, figure),
      otherName: other.label,
      aim: figure.endsWith('PerSecond')
        ? { is: 'at least', of: 'ratio', bound: 1 - tolerance }
        : { is: 'at most', of: 'ratio', bound: 1 + tolerance },
    });
  });
}
