/**
 * The figures that a soak watches, each with its allowed growth. Read from outside: the metrics, /proc,
 * and the store's pages by a short-lived reader. A window keeps its lowest reading: of the heap that is
 * what a collection has left.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { open } from 'lmdb';
import { parseScrape, sumOf } from '../../../src/stats/scrape.js';
import { collections, type Collection } from '../../../src/store/key-layout.js';
import { askOps } from '../ask-ops.js';
import type { GatewayProcess } from '../../support/gateway-process.js';
import type { Tolerance } from './flatness.js';

export interface Gauge extends Tolerance {
  readonly unit: 'MB' | '';
  /** Shorter runs print it without judging it. */
  readonly minutesMin: number;
}

const mb = 2 ** 20;
/** The sweep runs once a minute, and the pages it frees must have been reused. */
const sweptMinutes = 10;

/** Idle connections of a burst outlast a window of a run shorter than this. */
const burstMinutes = 2;

// oxfmt-ignore
export const gauges = {
  /** The cache of decoded records takes some ten megabytes of both and is freed at once. */
  heapUsed:        { unit: 'MB', absolute: 12 * mb, relative: 0.1,  minutesMin: 0 },
  external:        { unit: 'MB', absolute: 18 * mb, relative: 0.1,  minutesMin: 0 },
  /** Resident memory without the mapped store. */
  residentOwn:     { unit: 'MB', absolute: 24 * mb, relative: 0.1,  minutesMin: 0 },
  resident:        { unit: 'MB', absolute: 32 * mb, relative: 0.1,  minutesMin: sweptMinutes },
  handles:         { unit: '',   absolute: 2,       relative: 0,    minutesMin: 0 },
  fileDescriptors: { unit: '',   absolute: 40,      relative: 0.1,  minutesMin: burstMinutes },
  openExecutions:  { unit: '',   absolute: 120,     relative: 0.25, minutesMin: 0 },
  storeFile:       { unit: 'MB', absolute: 8 * mb,  relative: 0.15, minutesMin: sweptMinutes },
  pagesUsed:       { unit: '',   absolute: 1_000,   relative: 0.15, minutesMin: sweptMinutes },
  pagesFree:       { unit: '',   absolute: 2_000,   relative: 0.25, minutesMin: sweptMinutes },
  rows:            { unit: '',   absolute: 2_000,   relative: 0.15, minutesMin: sweptMinutes },
} as const satisfies Record<string, Gauge>;

export type GaugeName = keyof typeof gauges;
export type Reading = Record<GaugeName, number>;

export async function readGauges(gateway: GatewayProcess, dataDir: string): Promise<Reading> {
  const scrape = parseScrape((await askOps(gateway.opsUrl, '/metrics')).text);
  const read = (name: string): number => sumOf(scrape, name) ?? NaN;
  const pid = gateway.process.pid as number;
  const store = readStore(dataDir);
  return {
    heapUsed: read('nodejs_heap_size_used_bytes'),
    external: read('nodejs_external_memory_bytes'),
    residentOwn: residentOwnBytes(pid),
    resident: read('process_resident_memory_bytes'),
    handles: read('nodejs_active_handles_total'),
    fileDescriptors: descriptorsOf(pid),
    openExecutions: read('open_executions'),
    storeFile: read('store_size_bytes'),
    pagesUsed: store.pagesUsed,
    pagesFree: store.pagesFree,
    rows: Object.values(store.rows).reduce((sum, count) => sum + count, 0),
  };
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function residentOwnBytes(pid: number): number {
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) * 1024;
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

export interface StoreFigures {
  readonly pagesUsed: number;
  readonly pagesFree: number;
  readonly rows: Readonly<Record<Collection, number>>;
}

const metaPages = 2;

/** Opens the store only for the reading: a long-lived reader keeps freed pages from being reused. */
export function readStore(dataDir: string): StoreFigures {
  const root = open(dataDir, { readOnly: true, noSubdir: false, maxDbs: collections.length + 1 });
  try {
    const figures = root.getStats() as unknown as EnvironmentFigures;
    const trees = collections.map((name) => {
      const database = root.openDB<string>(name, { encoding: 'string' });
      return [name, database.getStats() as unknown as TreeFigures] as const;
    });
    const pagesUsed = [figures.root, figures.free, ...trees.map(([, tree]) => tree)]
      .map((tree) => tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages)
      .reduce((sum, count) => sum + count, metaPages);
    return {
      pagesUsed,
      pagesFree: figures.lastPageNumber + 1 - pagesUsed,
      rows: Object.fromEntries(trees.map(([name, { entryCount }]) => [name, entryCount])) as Record<
        Collection,
        number
      >,
    };
  } finally {
    void root.close();
  }
}
