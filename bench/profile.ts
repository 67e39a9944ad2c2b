/**
 * `npm run bench:profile -- NAME`: the load of one bench on a gateway that takes a CPU profile of
 * itself, and the profile as two tables: where the processor was, and on whose behalf. How to read
 * them: native-notes/profile.md.
 */
import { parseArgs } from 'node:util';
import { benches } from './benches/all.js';
import { type ProfileLine, summarizeProfile } from './measure/cpu-profile.js';
import { exitOnSignals } from './measure/interruption.js';
import { thisProduct } from './measure/product.js';
import { profiled } from './measure/profiled.js';

const linesShown = 30;
const settings = { rounds: 1, seconds: 8, warmupSeconds: 2, isSmoke: false };

const comparable = benches.filter(({ ours }) => ours !== undefined);

exitOnSignals();
process.exitCode = await main();

async function main(): Promise<number> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const bench = comparable.find(({ name }) => name === positionals[0]);
  if (bench?.ours === undefined || positionals.length !== 1) {
    console.error(`npm run bench:profile -- ${comparable.map(({ name }) => name).join(' | ')}`);
    return 2;
  }
  const { product, read } = profiled(thisProduct);
  const log = (line: string): void => console.log(`  ${line}`);
  const figures = await bench.ours({ ...settings, log, product });
  console.log(JSON.stringify(figures));

  const { busyShare, self, inclusive } = summarizeProfile(read());
  console.log(`\nBusy ${percent(busyShare)} % of the time. Of that, in the function itself:`);
  print(self);
  console.log('\nIn the function and what it calls:');
  print(inclusive);
  return 0;
}

function print(lines: readonly ProfileLine[]): void {
  for (const { share, place } of lines.slice(0, linesShown)) {
    console.log(`${percent(share).padStart(6)} %  ${place}`);
  }
}

function percent(share: number): string {
  return (share * 100).toFixed(1);
}
