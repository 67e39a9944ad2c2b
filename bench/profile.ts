/**
 * `npm run bench:profile -- NAME`: the load of one bench on a gateway that takes a CPU profile of
 * itself, and the profile as two tables: where the processor was, and on whose behalf. How to read
 * them: native-notes/profile.md.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benches } from './benches/all.js';
import { type CpuProfile, summarizeProfile, type ProfileLine } from './measure/cpu-profile.js';
import { exitOnSignals } from './measure/interruption.js';
import { thisProduct } from './measure/product.js';
import { newDirectory } from './measure/workspace.js';

const samplingMicroseconds = 250;
const linesShown = 30;
const settings = { rounds: 1, seconds: 8, warmupSeconds: 2, isSmoke: false };

const profiled = benches.filter(({ ours }) => ours !== undefined);

exitOnSignals();
process.exitCode = await main();

async function main(): Promise<number> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const bench = profiled.find(({ name }) => name === positionals[0]);
  if (bench?.ours === undefined || positionals.length !== 1) {
    console.error(`npm run bench:profile -- ${profiled.map(({ name }) => name).join(' | ')}`);
    return 2;
  }
  const directory = newDirectory('profiles');
  const nodeFlags = [
    '--cpu-prof',
    `--cpu-prof-dir=${directory}`,
    `--cpu-prof-interval=${samplingMicroseconds}`,
  ];
  const log = (line: string): void => console.log(`  ${line}`);
  const figures = await bench.ours({ ...settings, log, product: { ...thisProduct, nodeFlags } });
  console.log(JSON.stringify(figures));

  // A bench may run gateways for its preparations too: the one under load has the most samples.
  const files = readdirSync(directory).map((name) => join(directory, name));
  const largest = files.sort((a, b) => statSync(b).size - statSync(a).size)[0] as string;
  const profile = JSON.parse(readFileSync(largest, 'utf8')) as CpuProfile;
  const { busyShare, self, inclusive } = summarizeProfile(profile);
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
