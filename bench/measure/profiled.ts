/** A gateway that takes a CPU profile of itself, and that profile. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CpuProfile } from './cpu-profile.js';
import { type Product, productModule } from './product.js';
import { newDirectory } from './workspace.js';

/** Between two samples. */
export const samplingMicroseconds = 250;

export interface Profiled {
  readonly product: Product;
  /** What the main thread of the product's busiest process did, when it has ended. */
  readonly read: () => CpuProfile;
}

export function profiled(product: Product): Profiled {
  const directory = newDirectory('profiles');
  const nodeFlags = [
    '--cpu-prof',
    `--cpu-prof-dir=${directory}`,
    `--cpu-prof-interval=${samplingMicroseconds}`,
  ];
  return {
    // Module by module: the command as it is installed has them joined, and a profile would not name them.
    product: { ...product, nodeFlags, program: productModule(product, 'cli/signalbox.js') },
    read() {
      // A bench may run gateways for its preparations too: the one under load has the most samples.
      const files = readdirSync(directory).map((name) => join(directory, name));
      const largest = files.sort((a, b) => statSync(b).size - statSync(a).size)[0] as string;
      return JSON.parse(readFileSync(largest, 'utf8')) as CpuProfile;
    },
  };
}
