/**
 * Whether retention that is far behind removes records as fast as signals come, and how it slows accepted
 * signals then and in the normal state, in which it is hardly behind. In both stores more signals are due to be
 * removed than are accepted meanwhile, at an even rate; each signal has four records: request, execution,
 * signalId and Idempotency-Key. The same load runs on a store in which nothing is due.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { answerDoubt, loadSide } from '../load/generator-check.js';
import { latencyFigures, type LoadReport } from '../load/load.js';
import { processSeconds } from '../measure/processor-time.js';
import { scrapeValues } from '../measure/prometheus.js';
import { type Row, type RowInput, toRow } from '../measure/report.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { removeDirectory } from '../measure/workspace.js';
import { type Population, populate } from '../sides/population.js';
import { retain } from '../sides/retained.js';
import type { Bench, BenchOptions } from './bench.js';
import { connections, keysPerUser, submitUsers, withGateway } from './submit-comparison.js';

const bench = 'retention';
const recordsPerSignal = 4;
const pollMs = 200;
/** Signals that are due for each one that is accepted, so that they last. */
const dueShare = 2;
/** Whether signals are due, and whether the sweep is far behind. */
const stores = {
  far: { isDue: true, isBehind: true },
  hardly: { isDue: true },
  empty: { isDue: false },
} as const;
type StoreName = keyof typeof stores;

export const retention: Bench = {
  name: bench,
  summary: 'removal of what is due, and the acceptance of as many signals beside it',
  needs: [],
  run,
  ours: async (options) => {
    const population = await store(options, 'far');
    try {
      return (await measure(options, population)).figures;
    } finally {
      removeDirectory(population.dataDir);
    }
  },
};

/** Well below what two cores accept with a generator beside them. */
function signalsPerSecond({ isSmoke }: BenchOptions): number {
  return isSmoke ? 100 : 4_000;
}

async function run(options: BenchOptions): Promise<Row[]> {
  const { rounds, log } = options;
  const populations = {
    far: await store(options, 'far'),
    hardly: await store(options, 'hardly'),
    empty: await store(options, 'empty'),
  };
  const reports: LoadReport[] = [];
  const measured = await alternate(['far', 'hardly', 'empty'], rounds, async (side, round) => {
    const { figures, report } = await measure(options, populations[side]);
    reports.push(report);
    log(`${bench}, round ${round + 1}, ${side}: ${JSON.stringify(figures)}`);
    return figures;
  });
  for (const { dataDir } of Object.values(populations)) removeDirectory(dataDir);

  const rate = `${signalsPerSecond(options)} signals/s, open loop`;
  const row = (figure: string, unit: string, name: string, more: Partial<RowInput> = {}): Row =>
    toRow({
      bench,
      figure,
      unit,
      ours: samplesOf(measured.far, name),
      other: samplesOf(measured.empty, name),
      otherName: 'nothing due',
      doubt: answerDoubt(reports),
      note: rate,
      ...more,
    });
  const hardly = (name: string): Partial<RowInput> => ({ ours: samplesOf(measured.hardly, name) });
  return [
    row(`removal beside the acceptance of ${rate}`, 'records/s', 'removedPerSecond', {
      other: samplesOf(measured.far, 'acceptedPerSecond'),
      otherName: 'accepted',
      aim: { is: 'at least', of: 'ratio', bound: 1 },
    }),
    row('submit p50, retention hardly behind', 'ms', 'p50Ms', hardly('p50Ms')),
    row('submit p99, retention hardly behind', 'ms', 'p99Ms', hardly('p99Ms')),
    row('submit p50, retention far behind', 'ms', 'p50Ms'),
    row('submit p99, retention far behind', 'ms', 'p99Ms'),
    row('event loop time', '% of the time', 'loopPercent'),
    row('processor time', '% of a core', 'processorPercent'),
  ];
}

async function store(options: BenchOptions, name: StoreName): Promise<Population> {
  const { product, warmupSeconds, seconds } = options;
  const population = await populate({ product, users: submitUsers(options), keysPerUser });
  const accepted = Math.round((warmupSeconds + seconds) * signalsPerSecond(options));
  const requests = stores[name].isDue ? dueShare * accepted : submitUsers(options);
  await retain({ product, population, requests, ...stores[name] });
  return population;
}

async function measure(
  options: BenchOptions,
  population: Population,
): Promise<{ figures: Figures; report: LoadReport }> {
  const { warmupSeconds, seconds } = options;
  return withGateway(options, population, async (gateway) => {
    const cpuBefore = processSeconds(gateway.pid);
    const begunAt = performance.now();
    const loading = loadSide(gateway, {
      workload: 'submit',
      callers: population.keys.map((key) => ({ key })),
      connections,
      warmupSeconds,
      seconds,
      ratePerSecond: signalsPerSecond(options),
    });
    const counting = count(gateway, loading);
    const { report, loopShare } = await loading;
    const cpuSeconds = processSeconds(gateway.pid) - cpuBefore;
    const figures = {
      ...(await counting),
      ...latencyFigures(report),
      loopPercent: 100 * loopShare,
      processorPercent: (100_000 * cpuSeconds) / (performance.now() - begunAt),
    };
    return { figures, report };
  });
}

interface Counts {
  readonly at: number;
  readonly removed: number;
  readonly accepted: number;
}

/** From the first signal to the last one, or to the last record that was due. */
async function count(gateway: Side, loading: Promise<unknown>): Promise<Figures> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  loading.then(over, over);
  let before = await countsOf(gateway);
  let last = before;
  while (!isOver) {
    await delay(pollMs);
    const now = await countsOf(gateway);
    if (last.accepted === 0) before = last;
    if (now.removed > last.removed || now.removed === 0 || last.accepted === 0) last = now;
  }
  const perSecond = (name: 'removed' | 'accepted'): number =>
    (1000 * (last[name] - before[name])) / (last.at - before.at);
  return {
    removedPerSecond: perSecond('removed'),
    acceptedPerSecond: recordsPerSignal * perSecond('accepted'),
  };
}

async function countsOf(gateway: Side): Promise<Counts> {
  const url = gateway.info['opsUrl'] as string;
  const [removed, accepted] = await scrapeValues(url, [
    'retention_removed_records_total',
    'signals_accepted_total',
  ]);
  return { at: performance.now(), removed: removed as number, accepted: accepted as number };
}
