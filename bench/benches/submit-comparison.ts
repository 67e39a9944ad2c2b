/**
 * What the two benches of submit have in common: the gateway against another server that takes the
 * same signals, each on a store of its own on the same disk. Throughput first, closed loop; then
 * latency, open loop, both sides at the same rate, which is half of what the slower one can do. The
 * gateway has everything on and the shipped limits and plans; its users' terminals are known and not
 * connected, so that a signal is queued, and what is written is what the 202 promises and no more.
 */
import {
  answerDoubt,
  generatorCeiling,
  generatorDoubt,
  loadSide,
} from '../load/generator-check.js';
import type { LoadReport, LoadSpec } from '../load/load.js';
import { type Row, toRow } from '../measure/report.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { summarize } from '../measure/statistics.js';
import { newDirectory, removeDirectory } from '../measure/workspace.js';
import { watchAcceptance, type WatchedAcceptance } from '../sides/acceptance-puts.js';
import { type GatewayConfig, startGateway } from '../sides/gateway.js';
import { type Population, populate } from '../sides/population.js';
import { copyOf, queueing, retain } from '../sides/retained.js';
import type { BenchOptions } from './bench.js';

export interface Opponent {
  readonly bench: string;
  /** What the report calls it. */
  readonly name: string;
  /** Bounds of the ratios. */
  readonly aim: { readonly throughputAtLeast: number; readonly p99AtMost: number };
  /** On an empty directory, which is removed when the server has ended. */
  readonly start: (
    dataDir: string,
    population: Population,
    watched: WatchedAcceptance,
  ) => Promise<Side>;
}

export const connections = 64;
export const keysPerUser = 5;
const latencyRateShare = 0.5;

/** Users enough for any speed: with five keys each they may submit 6,000 signals a minute. */
export function submitUsers({ isSmoke }: BenchOptions): number {
  return isSmoke ? 20 : 400;
}

/** A store with users, keys and known terminals, to be copied for each turn. */
export async function submitPopulation(options: BenchOptions): Promise<Population> {
  const { product } = options;
  const population = await populate({ product, users: submitUsers(options), keysPerUser });
  await retain({ product, population, requests: 0 });
  return population;
}

/** A gateway on a fresh copy of the population's store, and how long it took to be ready. */
export async function withGateway<T>(
  { product }: Pick<BenchOptions, 'product'>,
  population: Population,
  work: (gateway: Side, startMs: number) => Promise<T>,
  config: GatewayConfig = queueing,
): Promise<T> {
  const copy = copyOf(population);
  try {
    const begunAt = performance.now();
    const gateway = await startGateway({ product, population: copy, config });
    try {
      return await work(gateway, performance.now() - begunAt);
    } finally {
      await gateway.stop();
    }
  } finally {
    removeDirectory(copy.dataDir);
  }
}

export function submitSpec(
  { warmupSeconds, seconds }: BenchOptions,
  population: Population,
): Omit<LoadSpec, 'url'> {
  const callers = population.keys.map((key) => ({ key }));
  return { workload: 'submit', callers, connections, warmupSeconds, seconds };
}

/** Throughput of the gateway alone. */
export async function submitAlone(options: BenchOptions): Promise<Figures> {
  const population = await submitPopulation(options);
  try {
    const { report } = await withGateway(options, population, (gateway) =>
      loadSide(gateway, submitSpec(options, population)),
    );
    const doubt = answerDoubt([report]);
    if (doubt !== undefined) throw new Error(`submit: ${doubt}`);
    return { requestsPerSecond: report.answersPerSecond };
  } finally {
    removeDirectory(population.dataDir);
  }
}

export async function compareSubmit(options: BenchOptions, opponent: Opponent): Promise<Row[]> {
  const { rounds, log, product } = options;
  const sides = ['ours', 'other'] as const;
  const names = { ours: 'gateway', other: opponent.name };
  const population = await submitPopulation(options);
  const spec = submitSpec(options, population);
  const watchedOn = copyOf(population);
  const watched = await watchAcceptance(product, watchedOn, queueing);
  removeDirectory(watchedOn.dataDir);
  log(`${opponent.bench}: an acceptance is ${putsText(watched)}`);
  const reports: LoadReport[] = [];

  async function turn(side: (typeof sides)[number], rate?: { ratePerSecond: number }) {
    const load = async (server: Side) => {
      const loaded = await loadSide(server, { ...spec, ...rate });
      reports.push(loaded.report);
      return loaded;
    };
    if (side === 'ours') return withGateway(options, population, load);
    const dataDir = newDirectory('other');
    const server = await opponent.start(dataDir, population, watched);
    try {
      return await load(server);
    } finally {
      await server.stop();
      removeDirectory(dataDir);
    }
  }

  const throughput = await alternate(sides, rounds, async (side, round) => {
    const { report, loopShare } = await turn(side);
    const perSecond = Math.round(report.answersPerSecond);
    log(`${opponent.bench}, round ${round + 1}, ${names[side]}: ${perSecond}/s`);
    return {
      requestsPerSecond: report.answersPerSecond,
      loopShare,
      loopUs: (loopShare * 1_000_000) / report.answersPerSecond,
    };
  });
  const ours = samplesOf(throughput.ours, 'requestsPerSecond');
  const other = samplesOf(throughput.other, 'requestsPerSecond');
  const medians = [summarize(ours).median, summarize(other).median];
  const ratePerSecond = Math.max(1, Math.round(latencyRateShare * Math.min(...medians)));

  const latency = await alternate(sides, rounds, async (side, round) => {
    const { latency } = (await turn(side, { ratePerSecond })).report;
    const [p50Ms, p99Ms] = [latency.percentile(50), latency.percentile(99)];
    const figures = `p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms.toFixed(3)} ms`;
    log(`${opponent.bench}, round ${round + 1}, ${names[side]}: ${figures}`);
    return { p50Ms, p99Ms };
  });

  const ceilingPerSecond = await generatorCeiling(spec, watched.answer);
  const bound = generatorDoubt({
    perSecond: Math.max(...medians),
    ceilingPerSecond,
    loopShare: summarize(samplesOf(throughput.ours, 'loopShare')).min,
  });
  const wrong = answerDoubt(reports);
  const { bench, name: otherName, aim } = opponent;
  const openLoop = `open loop at ${ratePerSecond} requests/s for both`;
  removeDirectory(population.dataDir);
  return [
    toRow({
      bench,
      figure: 'throughput',
      unit: 'requests/s',
      ours,
      other,
      otherName,
      aim: { is: 'at least', of: 'ratio', bound: aim.throughputAtLeast },
      doubt: [wrong, bound].filter((text) => text !== undefined).join('; ') || undefined,
      note:
        `${connections} connections, closed loop; an acceptance is ${putsText(watched)}; ` +
        `the generator reaches ${Math.round(ceilingPerSecond)} requests/s on the bare handler`,
    }),
    toRow({
      bench,
      figure: 'event loop time',
      unit: 'µs/request',
      ours: samplesOf(throughput.ours, 'loopUs'),
      other: samplesOf(throughput.other, 'loopUs'),
      otherName,
      doubt: wrong,
      note: 'processor time of the thread that answers, in the run of the throughput',
    }),
    toRow({
      bench,
      figure: 'p50',
      unit: 'ms',
      ours: samplesOf(latency.ours, 'p50Ms'),
      other: samplesOf(latency.other, 'p50Ms'),
      otherName,
      doubt: wrong,
      note: openLoop,
    }),
    toRow({
      bench,
      figure: 'p99',
      unit: 'ms',
      ours: samplesOf(latency.ours, 'p99Ms'),
      other: samplesOf(latency.other, 'p99Ms'),
      otherName,
      aim: { is: 'at most', of: 'ratio', bound: aim.p99AtMost },
      doubt: wrong,
      note: openLoop,
    }),
  ];
}

function putsText({ puts }: WatchedAcceptance): string {
  const sizes = puts.map(({ collection, keyBytes, valueBytes }) => {
    return `${collection} ${keyBytes} + ${valueBytes}`;
  });
  return `${puts.length} puts (bytes of key + value: ${sizes.join(', ')})`;
}
