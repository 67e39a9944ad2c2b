/**
 * What the product really writes and answers for one submit, found out by watching it: a gateway takes
 * some signals, and the entries that its store has gained are the puts of an acceptance. So the ceiling
 * follows the record layout. Entries written now and then, such as a key's last use, are rarer than one
 * a signal and do not count; nor do entries that are overwritten, so the ceiling does less work, never
 * more.
 */
import { open } from 'lmdb';
import { runLoad } from '../load/load.js';
import { submitSource } from '../load/workloads/submit.js';
import type { Product } from '../measure/product.js';
import { answerTo } from './bare-handler.js';
import type { ConstantAnswer } from './constant.js';
import { type GatewayConfig, startGateway } from './gateway.js';
import type { Population } from './population.js';

/** One put of an acceptance, in bytes as they lie in the store. */
export interface AcceptancePut {
  readonly collection: string;
  readonly keyBytes: number;
  readonly valueBytes: number;
}

export interface WatchedAcceptance {
  readonly puts: readonly AcceptancePut[];
  readonly answer: ConstantAnswer;
}

const watch = { workload: 'submit', connections: 1, warmupSeconds: 0, seconds: 0.2 } as const;
/** More than there are collections. */
const databasesMax = 64;

/** Uses the population's store up: its gateway is started, takes signals and is stopped. */
export async function watchAcceptance(
  product: Product,
  population: Population,
  config: GatewayConfig,
): Promise<WatchedAcceptance> {
  const before = await entriesOf(population.dataDir);
  const caller = { key: population.keys[0] as string };
  const gateway = await startGateway({ product, population, config });
  let answer: ConstantAnswer;
  let signals: number;
  try {
    answer = await answerTo(gateway.url, submitSource([caller], 'watching').next(0));
    const { byStatus } = await runLoad({ ...watch, url: gateway.url, callers: [caller] });
    // On a fast disk the key may come to its limit: what is refused puts nothing.
    signals = 1 + (byStatus['202'] ?? 0);
  } finally {
    await gateway.stop();
  }
  if (!answer.statusLine.startsWith('202')) throw new Error(`a signal got ${answer.statusLine}`);
  const after = await entriesOf(population.dataDir);
  const puts = [...after].flatMap(([collection, entries]) => {
    const added = [...entries].filter(([key]) => before.get(collection)?.has(key) !== true);
    return putsOf(collection, added, added.length / signals);
  });
  return { puts, answer };
}

/** Collection → key (latin1) → bytes of its value. */
type Entries = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The entries of a store that no process has open. */
export async function entriesOf(dataDir: string): Promise<Entries> {
  // Read as bytes: nothing is known here of how keys and records are written.
  const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;
  const root = open(dataDir, { noSubdir: false, readOnly: true, maxDbs: databasesMax });
  try {
    return new Map(
      [...root.getKeys()].map((name): [string, Map<string, number>] => {
        const database = root.openDB<Buffer, Buffer>(String(name), binary);
        const entries = new Map<string, number>();
        for (const { key, value } of database.getRange()) {
          entries.set(key.toString('latin1'), value.length);
        }
        return [String(name), entries];
      }),
    );
  } finally {
    await root.close();
  }
}

function putsOf(
  collection: string,
  added: readonly [key: string, valueBytes: number][],
  perSignal: number,
): AcceptancePut[] {
  const mean = (sizes: readonly number[]): number =>
    Math.round(sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  return Array.from({ length: Math.round(perSignal) }, () => ({
    collection,
    keyBytes: mean(added.map(([key]) => key.length)),
    valueBytes: mean(added.map(([, bytes]) => bytes)),
  }));
}
