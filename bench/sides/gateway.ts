/**
 * The product as its operator runs it: `signalbox serve` with a data directory and a config file, and
 * everything on. Nothing is switched off to be measured; where a limit would bind, the load is spread
 * over enough users and keys, and the plan is one that allows as much.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { commandOf, type Product } from '../measure/product.js';
import { type Side, startSide } from '../measure/side.js';
import { removeDirectory } from '../measure/workspace.js';
import type { Population } from './population.js';

export interface GatewayConfig {
  /** Limits that the bench needs to differ from the shipped ones. */
  readonly limits?: Readonly<Record<string, number>>;
  readonly plans?: Readonly<Record<string, object>>;
}

export interface GatewayOptions {
  readonly product: Product;
  readonly population: Population;
  readonly config?: GatewayConfig;
}

/** The most that a plan may allow: the quota is counted and checked all the same. */
const plans = {
  business: { publicApi: true, signalsPerMinute: 1_000_000, signalsPerDay: 1_440_000_000 },
};

/** What `ops/systemd/two-processors.conf` starts Node with. */
export function gatewayFlags(processors: number): readonly string[] {
  return processors > 2 ? [] : ['--no-concurrent-marking', '--no-parallel-scavenge'];
}

/** `info.opsUrl` is where its metrics are. */
export async function startGateway(options: GatewayOptions): Promise<Side> {
  const { product, population, config = {} } = options;
  const file = `${population.dataDir}.config.json`;
  writeFileSync(file, JSON.stringify({ plans, ...config }));
  return startSide({
    name: `gateway of ${product.label}`,
    program: product.program ?? commandOf(product),
    args: [
      'serve',
      ...['--data-dir', population.dataDir, '--config', file],
      ...['--port', '0', '--ops-port', '0'],
    ],
    nodeFlags: [...gatewayFlags(availableParallelism()), ...(product.nodeFlags ?? [])],
  });
}

/** Ends a gateway and removes the data that it ran on. */
export async function closeGateway(side: Side, population: Population): Promise<void> {
  await side.stop();
  removeDirectory(population.dataDir);
}
