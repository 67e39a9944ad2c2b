/**
 * How far the index is behind the log while signals are accepted as fast as they can be, and what filling it
 * takes of the main thread: the longest turn, and the time for each signal. The lag is read once a second from the
 * metrics, the turns from a CPU profile of a gateway of their own, since profiling slows it down.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { answerDoubt, loadSide } from '../load/generator-check.js';
import type { LoadReport } from '../load/load.js';
import { stretchesIn } from '../measure/cpu-profile.js';
import { profiled, samplingMicroseconds } from '../measure/profiled.js';
import { scrapeValues } from '../measure/prometheus.js';
import { type Row, type RowInput, toRow } from '../measure/report.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { summarize } from '../measure/statistics.js';
import { removeDirectory } from '../measure/workspace.js';
import type { Population } from '../sides/population.js';
import type { Bench, BenchOptions } from './bench.js';
import { submitPopulation, submitSpec, withGateway } from './submit-comparison.js';

const bench = 'index-lag';
const lagMsMax = 200;
const turnMsMax = 2;
/** The gateway keeps the text of its metrics for so long: a reading between would be the last one again. */
const scrapeLifetimeMs = 1_000;
/** What the main thread does for the index. */
const files = ['store/index-filler.js', 'store/index-thread.js'];

export const indexLag: Bench = {
  name: bench,
  summary: 'how far the index is behind the log, and the longest turn that filling it takes',
  needs: [],
  run,
};

async function run(options: BenchOptions): Promise<Row[]> {
  const { rounds, log } = options;
  const population = await submitPopulation(options);
  const reports: LoadReport[] = [];
  const measure = { lag: lagOf, turns: turnsOf };
  const { lag, turns } = await alternate(['lag', 'turns'], rounds, async (side, round) => {
    const figures = await measure[side](options, population, reports);
    log(`${bench}, round ${round + 1}, ${side}: ${JSON.stringify(figures)}`);
    return figures;
  });
  removeDirectory(population.dataDir);

  const perSecond = samplesOf(lag, 'perSecond').map(Math.round).join(', ');
  const row = (figure: string, unit: string, ours: readonly number[], bound?: number): Row => {
    const aim: RowInput['aim'] =
      bound === undefined ? undefined : { is: 'at most', of: 'value', bound };
    const doubt = answerDoubt(reports);
    const note = `${perSecond} signals/s, closed loop`;
    return toRow({ bench, figure, unit, ours, note, doubt, ...(aim && { aim }) });
  };
  return [
    row('behind the log, median', 'ms', samplesOf(lag, 'medianMs')),
    row('behind the log, longest', 'ms', samplesOf(lag, 'longestMs'), lagMsMax),
    row('longest turn, processor time', 'ms', samplesOf(turns, 'longestMs'), turnMsMax),
    row('longest turn, by the clock', 'ms', samplesOf(turns, 'longestClockMs')),
    row('main thread', 'µs/signal', samplesOf(turns, 'signalUs')),
  ];
}

async function lagOf(
  options: BenchOptions,
  population: Population,
  reports: LoadReport[],
): Promise<Figures> {
  return withGateway(options, population, async (gateway) => {
    const loading = loadSide(gateway, submitSpec(options, population));
    const { median, max } = summarize(await lagsDuring(gateway, loading));
    const { report } = await loading;
    reports.push(report);
    return { medianMs: median, longestMs: max, perSecond: report.answersPerSecond };
  });
}

async function lagsDuring(gateway: Side, loading: Promise<unknown>): Promise<number[]> {
  const url = gateway.info['opsUrl'] as string;
  const lags: number[] = [];
  const over = loading.then(
    () => true,
    () => true,
  );
  for (;;) {
    const isOver = await Promise.race([over, delay(scrapeLifetimeMs, false)]);
    if (isOver && lags.length > 0) return lags;
    const [seconds] = await scrapeValues(url, ['index_lag_seconds']);
    lags.push(1000 * (seconds as number));
  }
}

async function turnsOf(
  options: BenchOptions,
  population: Population,
  reports: LoadReport[],
): Promise<Figures> {
  const { product, read } = profiled(options.product);
  const spec = submitSpec(options, population);
  const signals = await withGateway({ product }, population, async (gateway) => {
    const { report } = await loadSide(gateway, spec);
    reports.push(report);
    return report.answersPerSecond * (spec.warmupSeconds + spec.seconds);
  });
  const stretches = stretchesIn(read(), files, samplingMicroseconds);
  const clockMs = stretches.map((stretch) => stretch.clockMs);
  const processorMs = stretches.map((stretch) => stretch.processorMs);
  return {
    longestMs: Math.max(...processorMs),
    longestClockMs: Math.max(...clockMs),
    signalUs: (1000 * processorMs.reduce((sum, ms) => sum + ms, 0)) / signals,
  };
}
