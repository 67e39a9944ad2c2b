/**
 * Whether work per request grows with what is stored: submit and status on a store that retains a
 * million signals of ten thousand keys, against the same load on a store with no more users than the
 * load has and one signal each. The load comes from the same number of keys on both, which on the full
 * store lie spread among all.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { answerDoubt, generatorCeiling, loadSide, ratioDoubt } from '../load/generator-check.js';
import type { Caller } from '../load/workload.js';
import type { LoadReport } from '../load/load.js';
import { workloads } from '../load/workloads.js';
import { type Row, type RowInput, toRow } from '../measure/report.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import { memoryBytes } from '../measure/memory.js';
import { removeDirectory } from '../measure/workspace.js';
import { answerTo } from '../sides/bare-handler.js';
import type { ConstantAnswer } from '../sides/constant.js';
import { startGateway } from '../sides/gateway.js';
import { type Population, populate } from '../sides/population.js';
import { copyOf, queueing, retain } from '../sides/retained.js';
import type { Bench, BenchOptions } from './bench.js';
import { connections, keysPerUser, submitUsers, withGateway } from './submit-comparison.js';

interface Stored {
  readonly population: Population;
  readonly callers: readonly Caller[];
}

interface Size {
  readonly users: number;
  readonly requests: number;
}

const throughputs = ['submit', 'status'] as const;
type Throughput = (typeof throughputs)[number];

const aim = { is: 'at least', of: 'ratio', bound: 0.95 } as const;
const startAim = { is: 'at most', of: 'value', bound: 5_000 } as const;
/** Time of submits before the kill. */
const killAfterMs = 1_000;

export const growth: Bench = {
  name: 'growth',
  summary:
    'submit and status with 1,000,000 retained signals and 10,000 keys, against an empty store',
  needs: [],
  run,
};

function fullSize({ isSmoke }: BenchOptions): Size {
  return isSmoke ? { users: 40, requests: 400 } : { users: 2_000, requests: 1_000_000 };
}

async function run(options: BenchOptions): Promise<Row[]> {
  const { rounds, log, warmupSeconds, seconds } = options;
  const sides = ['full', 'empty'] as const;
  const loaded = submitUsers(options);
  const full = fullSize(options);
  const begunAt = performance.now();
  const stores = {
    full: await store(options, full, loaded),
    empty: await store(options, { users: loaded, requests: loaded }, loaded),
  };
  log(`growth: stores written in ${Math.round((performance.now() - begunAt) / 1000)} s`);
  const reports: LoadReport[] = [];
  const answers: Partial<Record<Throughput, ConstantAnswer>> = {};

  const figures = await alternate(sides, rounds, async (side, round): Promise<Figures> => {
    const { population, callers } = stores[side];
    const spec = { callers, connections, warmupSeconds, seconds };
    const restartMs = await startAfterKill(options, population, callers);
    const measured = await withGateway(options, population, async (gateway, startMs) => {
      const startBytes = memoryBytes(gateway.pid, 'resident');
      for (const workload of throughputs) {
        const request = workloads[workload].source(callers, 'watching').next(0);
        answers[workload] ??= await answerTo(gateway.url, request);
      }
      const submit = await loadSide(gateway, { ...spec, workload: 'submit' });
      const status = await loadSide(gateway, { ...spec, workload: 'status' });
      reports.push(submit.report, status.report);
      return {
        submitPerSecond: submit.report.answersPerSecond,
        statusPerSecond: status.report.answersPerSecond,
        submitLoopShare: submit.loopShare,
        statusLoopShare: status.loopShare,
        submitLoopUs: submit.loopUs,
        statusLoopUs: status.loopUs,
        startMs,
        restartMs,
        startMib: startBytes / 2 ** 20,
        loadedMib: memoryBytes(gateway.pid, 'resident') / 2 ** 20,
        ownMib: memoryBytes(gateway.pid, 'own') / 2 ** 20,
      };
    });
    log(`growth, round ${round + 1}, ${side}: ${JSON.stringify(measured)}`);
    return measured;
  });

  /** Two sides that the generator holds back are equal, whatever the store. */
  async function doubtOf(workload: Throughput): Promise<string | undefined> {
    const { callers } = stores.empty;
    const ceilingPerSecond = await generatorCeiling(
      { workload, callers, connections, warmupSeconds, seconds },
      answers[workload] as ConstantAnswer,
    );
    const roundsOf = (side: (typeof sides)[number]): Figures[] =>
      figures[side].map((figure) => ({
        requestsPerSecond: figure[`${workload}PerSecond`] as number,
        loopShare: figure[`${workload}LoopShare`] as number,
      }));
    return ratioDoubt({
      ours: roundsOf('full'),
      other: roundsOf('empty'),
      otherName: 'the empty store',
      ceilingPerSecond,
      atLeast: aim.bound,
    });
  }
  const bounds = { submit: await doubtOf('submit'), status: await doubtOf('status') };
  removeDirectory(stores.full.population.dataDir);
  removeDirectory(stores.empty.population.dataDir);
  const doubt = answerDoubt(reports);
  const row = (figure: string, unit: string, name: string, more: Partial<RowInput> = {}): Row =>
    toRow({
      bench: 'growth',
      figure,
      unit,
      ours: samplesOf(figures.full, name),
      other: samplesOf(figures.empty, name),
      otherName: 'empty store',
      doubt,
      ...more,
    });
  const size = `${full.requests} retained signals, ${full.users * keysPerUser} keys`;
  return [
    ...throughputs.map((workload) =>
      row(`${workload} throughput`, 'requests/s', `${workload}PerSecond`, {
        aim,
        doubt: doubt ?? bounds[workload],
        note: size,
      }),
    ),
    row('submit, event loop time', 'µs/request', 'submitLoopUs'),
    row('status, event loop time', 'µs/request', 'statusLoopUs'),
    row('start to ready', 'ms', 'startMs', {
      aim: startAim,
      note: 'of the process, from its spawn',
    }),
    row('start to ready after a kill under load', 'ms', 'restartMs', { aim: startAim, note: size }),
    row('RSS when ready', 'MiB', 'startMib'),
    row('RSS after the load', 'MiB', 'loadedMib', { note: 'with the pages of the mapped store' }),
    row('own memory after the load', 'MiB', 'ownMib', { note: 'RSS without the mapped store' }),
  ];
}

/** Kills a gateway while it accepts, and measures how long the next one takes to start on its data. */
async function startAfterKill(
  { product }: BenchOptions,
  population: Population,
  callers: readonly Caller[],
): Promise<number> {
  const copy = copyOf(population);
  const options = { product, population: copy, config: queueing };
  const killed = await startGateway(options);
  const ended = delay(killAfterMs).then(() => process.kill(killed.pid, 'SIGKILL'));
  const load = loadSide(killed, {
    workload: 'submit',
    callers,
    connections,
    warmupSeconds: 0,
    seconds: (2 * killAfterMs) / 1_000,
  });
  // The generator does not know of the kill, and gives up.
  await Promise.allSettled([load, ended]);
  await killed.stop();
  const begunAt = performance.now();
  const next = await startGateway(options);
  const startMs = performance.now() - begunAt;
  await next.stop();
  removeDirectory(copy.dataDir);
  return startMs;
}

async function store(options: BenchOptions, size: Size, loaded: number): Promise<Stored> {
  const { product } = options;
  const population = await populate({ product, users: size.users, keysPerUser });
  const requestIds = await retain({ product, population, requests: size.requests });
  const step = size.users / loaded;
  const callers = Array.from({ length: loaded }, (_, i) => Math.floor(i * step)).flatMap((user) =>
    (population.users[user]?.keys ?? []).map((key) => ({
      key,
      requestId: requestIds[user] as string,
    })),
  );
  return { population, callers };
}
