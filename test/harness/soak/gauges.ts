/**
 * The figures that a soak watches, each with its allowed growth. Read from outside: the metrics, /proc,
 * and the pages of a copy of the store. A window keeps its lowest reading: for the heap, the one after a
 * collection.
 */
import { readdirSync } from 'node:fs';
import { open } from 'lmdb';
import { memoryBytes } from '../../../bench/measure/memory.js';
import { withStoreCopy } from '../../../src/admin/store-copy.js';
import { parseScrape, sumOf } from '../../../src/stats/scrape.js';
import { collections, type Collection } from '../../../src/store/key-layout.js';
import { askOps } from '../ask-ops.js';
import type { GatewayProcess } from '../../support/gateway-process.js';
import { shippedSettings } from '../../support/shipped-settings.js';
import type { Tolerance } from './flatness.js';

export interface Gauge extends Tolerance {
  readonly unit: 'MB' | '';
  /** Shorter runs print it without judging it. */
  readonly minutesMin: number;
}

const mb = 2 ** 20;
/** The sweep runs once a minute, and the pages it frees must have been reused. */
export const longRunMinutes = 10;

/** In a shorter run, idle connections of a burst outlast a window. */
const burstMinutes = 2;

// oxfmt-ignore
export const gauges = {
  /** The cache of decoded records takes some ten megabytes of both and is freed at once. */
  heapUsed:        { unit: 'MB', absolute: 12 * mb, relative: 0.1,  minutesMin: 0 },
  external:        { unit: 'MB', absolute: 18 * mb, relative: 0.1,  minutesMin: 0 },
  /** Resident memory without the mapped store. */
  residentOwn:     { unit: 'MB', absolute: 24 * mb, relative: 0.1,  minutesMin: 0 },
  resident:        { unit: 'MB', absolute: 32 * mb, relative: 0.1,  minutesMin: longRunMinutes },
  handles:         { unit: '',   absolute: 2,       relative: 0,    minutesMin: 0 },
  fileDescriptors: { unit: '',   absolute: 40,      relative: 0.1,  minutesMin: burstMinutes },
  openExecutions:  { unit: '',   absolute: 120,     relative: 0.25, minutesMin: 0 },
  storeFile:       { unit: 'MB', absolute: 8 * mb,  relative: 0.15, minutesMin: longRunMinutes },
  /** A third of the rows depends on whether one of three users is exchanged before or after a sweep. */
  pagesUsed:       { unit: '',   absolute: 1_000,   relative: 0.5,  minutesMin: longRunMinutes },
  pagesFree:       { unit: '',   absolute: 2_000,   relative: 0.25, minutesMin: longRunMinutes },
  rows:            { unit: '',   absolute: 2_000,   relative: 0.5,  minutesMin: longRunMinutes },
} as const satisfies Record<string, Gauge>;

export type GaugeName = keyof typeof gauges;
export type Reading = Record<GaugeName, number>;
type StoreGauge = 'pagesUsed' | 'pagesFree' | 'rows';

export async function readProcess(gateway: GatewayProcess): Promise<Omit<Reading, StoreGauge>> {
  const scrape = parseScrape((await askOps(gateway.opsUrl, '/metrics')).text);
  const read = (name: string): number => sumOf(scrape, name) ?? NaN;
  const pid = gateway.process.pid as number;
  return {
    heapUsed: read('nodejs_heap_size_used_bytes'),
    external: read('nodejs_external_memory_bytes'),
    residentOwn: memoryBytes(pid, 'own'),
    resident: read('process_resident_memory_bytes'),
    handles: read('nodejs_active_handles'),
    fileDescriptors: descriptorsOf(pid),
    openExecutions: read('open_executions'),
    storeFile: read('store_size_bytes'),
  };
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

interface TreeFigures {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly entryCount: number;
}

interface EnvironmentFigures extends TreeFigures {
  readonly root: TreeFigures;
  readonly free: TreeFigures;
  readonly lastPageNumber: number;
}

type Rows = Readonly<Record<Collection, number>>;

const metaPages = 2;

/** Reads a copy that the gateway makes: a second opener of its store could undo its commits. */
export async function readStore(
  dataDir: string,
): Promise<{ readonly reading: Pick<Reading, StoreGauge>; readonly rows: Rows }> {
  const copy = await withStoreCopy({ ...shippedSettings, dataDir }, readCopy);
  if (!('used' in copy)) throw new Error(`no copy of the store: ${JSON.stringify(copy)}`);
  return copy.used;
}

async function readCopy(directory: string) {
  const root = open(directory, { readOnly: true, noSubdir: false, maxDbs: collections.length + 1 });
  const figures = root.getStats() as unknown as EnvironmentFigures;
  const trees = collections.map((name) => {
    const database = root.openDB<string>(name, { encoding: 'string' });
    return [name, database.getStats() as unknown as TreeFigures] as const;
  });
  await root.close();
  const pagesUsed = [figures.root, figures.free, ...trees.map(([, tree]) => tree)]
    .map((tree) => tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages)
    .reduce((sum, count) => sum + count, metaPages);
  const counts = trees.map(([name, { entryCount }]) => [name, entryCount] as const);
  return {
    reading: {
      pagesUsed,
      pagesFree: figures.lastPageNumber + 1 - pagesUsed,
      rows: counts.reduce((sum, [, count]) => sum + count, 0),
    },
    rows: Object.fromEntries(counts) as Rows,
  };
}
