/**
 * What the two benches of submit have in common: the gateway against another server that takes the
 * same signals, each on a store of its own on the same disk. Throughput first, closed loop; then
 * latency, open loop, both sides at the same rate, which is half of what the slower one can do. The
 * gateway has everything on and the shipped limits and plans; its users' terminals are known and not
 * connected, so that a signal is queued, and what is written is what the 202 promises and no more.
 */
import { limits } from '../../src/limits.js';
import { answerDoubt, generatorCeiling, loadSide, ratioDoubt } from '../load/generator-check.js';
import { latencyFigures, latencyText, type LoadReport, type LoadSpec } from '../load/load.js';
import { wrkSubmits } from '../load/wrk.js';
import type { Row } from '../measure/report.js';
import { missing } from '../measure/requirements.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { summarize } from '../measure/statistics.js';
import { newDirectory, removeDirectory } from '../measure/workspace.js';
import { watchAcceptance, type WatchedAcceptance } from '../sides/acceptance-puts.js';
import { type GatewayConfig, startGateway } from '../sides/gateway.js';
import { type Population, populate } from '../sides/population.js';
import { copyOf, queueing, retain } from '../sides/retained.js';
import type { BenchOptions } from './bench.js';
import { type SubmitAims, submitRows } from './submit-rows.js';

export interface Opponent {
  readonly bench: string;
  /** Its name in the report. */
  readonly name: string;
  readonly aim: SubmitAims;
  /** Starts it on an empty directory, which is removed when the server has ended. */
  readonly start: (
    dataDir: string,
    population: Population,
    watched: WatchedAcceptance,
  ) => Promise<Side>;
}

export const connections = 64;
export const keysPerUser = limits.activeKeysPerUserMax.value;
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

  async function onSide<T>(
    side: (typeof sides)[number],
    work: (server: Side) => Promise<T>,
  ): Promise<T> {
    if (side === 'ours') return withGateway(options, population, work);
    const dataDir = newDirectory('other');
    const server = await opponent.start(dataDir, population, watched);
    try {
      return await work(server);
    } finally {
      await server.stop();
      removeDirectory(dataDir);
    }
  }

  async function turn(side: (typeof sides)[number], changes: Partial<LoadSpec> = {}) {
    const loaded = await onSide(side, (server) => loadSide(server, { ...spec, ...changes }));
    reports.push(loaded.report);
    return loaded;
  }

  async function latency(title: string, changes: Partial<LoadSpec>) {
    return alternate(sides, rounds, async (side, round) => {
      const figures = latencyFigures((await turn(side, changes)).report);
      const text = `${title}: ${latencyText(figures)}`;
      log(`${opponent.bench}, round ${round + 1}, ${names[side]}, ${text}`);
      return figures;
    });
  }

  const throughput = await alternate(sides, rounds, async (side, round) => {
    const { report, loopShare, loopUs } = await turn(side);
    const perSecond = Math.round(report.answersPerSecond);
    log(`${opponent.bench}, round ${round + 1}, ${names[side]}: ${perSecond}/s`);
    return {
      requestsPerSecond: report.answersPerSecond,
      loopShare,
      loopUs,
    };
  });
  const medians = sides.map(
    (side) => summarize(samplesOf(throughput[side], 'requestsPerSecond')).median,
  );
  const ratePerSecond = Math.max(1, Math.round(latencyRateShare * Math.min(...medians)));
  const openLoop = await latency('open loop', { ratePerSecond });
  const alone =
    opponent.aim.aloneP50AtMost === undefined
      ? undefined
      : await latency('one connection', { connections: 1 });
  const ceilingPerSecond = await generatorCeiling(spec, watched.answer);
  const bound = ratioDoubt({
    ...throughput,
    otherName: opponent.name,
    ceilingPerSecond,
    atLeast: opponent.aim.throughputAtLeast,
  });
  const wrk = await wrkFigures();
  removeDirectory(population.dataDir);
  return submitRows({
    bench: opponent.bench,
    otherName: opponent.name,
    aim: opponent.aim,
    throughput,
    openLoop,
    alone,
    wrk,
    wrong: answerDoubt(reports),
    bound,
    throughputNote:
      `${connections} connections, closed loop; an acceptance is ${putsText(watched)}; ` +
      `the generator reaches ${Math.round(ceilingPerSecond)} requests/s on the bare handler`,
    openLoopNote: `open loop at ${ratePerSecond} requests/s for both`,
  });

  /** The same, measured by wrk; undefined where it is not installed, and in a smoke run. */
  async function wrkFigures() {
    if (options.isSmoke || missing(['wrk']).length > 0) return undefined;
    const wrkLoad = async (server: Side) => {
      const keys = population.keys;
      await wrkSubmits({ url: server.url, keys, connections, seconds: options.warmupSeconds });
      return wrkSubmits({ url: server.url, keys, connections, seconds: options.seconds });
    };
    return alternate(sides, rounds, async (side, round) => {
      const figures = await onSide(side, wrkLoad);
      log(
        `${opponent.bench}, round ${round + 1}, ${names[side]}, by wrk: ${JSON.stringify(figures)}`,
      );
      return figures;
    });
  }
}

function putsText({ puts }: WatchedAcceptance): string {
  const sizes = puts.map(({ collection, keyBytes, valueBytes }) => {
    return `${collection} ${keyBytes} + ${valueBytes}`;
  });
  return `${puts.length} puts (bytes of key + value: ${sizes.join(', ')})`;
}
