/**
 * The comparison of status and refused: the gateway against the bare handler that answers with the
 * bytes that the gateway gave. Throughput first, closed loop; then latency, open loop, both sides at
 * the same rate, which is half of what the slower one can do.
 */
import { limits } from '../../src/limits.js';
import { answerDoubt, type Loaded, loadSide, ratioDoubt } from '../load/generator-check.js';
import type { Caller } from '../load/workload.js';
import { latencyFigures, latencyText, type LoadReport } from '../load/load.js';
import { type WorkloadName, workloads } from '../load/workloads.js';
import { type Row, toRow } from '../measure/report.js';
import { alternate, type Figures, samplesOf } from '../measure/rounds.js';
import type { Side } from '../measure/side.js';
import { summarize } from '../measure/statistics.js';
import { answerTo, startBareHandler } from '../sides/bare-handler.js';
import type { ConstantAnswer } from '../sides/constant.js';
import type { BenchOptions } from './bench.js';

export interface OpenGateway {
  readonly side: Side;
  readonly callers: readonly Caller[];
  readonly close: () => Promise<void>;
}

export interface Subject {
  readonly bench: string;
  /** Begins the names of the figures where a bench has several subjects. */
  readonly title?: string;
  readonly workload: WorkloadName;
  /** Least ratio of the throughputs. */
  readonly aim: number;
  /** Whether latency is of interest too, in turns of its own. */
  readonly hasLatency: boolean;
  readonly open: (options: BenchOptions) => Promise<OpenGateway>;
}

const connections = 64;
const latencyRateShare = 0.5;
/** Of which enough keys are made, so that no key's limit binds; a faster machine would be told so. */
const requestsPerSecondMax = 100_000;

/** Keys that the closed loop can use without any of them coming to its limit. */
export function callersNeeded({ warmupSeconds, seconds }: BenchOptions): number {
  const requests = Math.min(60, warmupSeconds + seconds) * requestsPerSecondMax;
  return Math.ceil(requests / limits.keyRequestsPerMinute.value);
}

export async function againstBareHandler(options: BenchOptions, subject: Subject): Promise<Row[]> {
  const { rounds, log } = options;
  const sides = ['ours', 'bare'] as const;
  const title = subject.title === undefined ? '' : `${subject.title} `;
  const name = `${subject.bench} ${title}`.trim();
  const reports: LoadReport[] = [];
  // Ours has the first turn, and with it what the bare handler needs to know.
  let known: { answer: ConstantAnswer; callers: readonly Caller[] } | undefined;

  async function turn(side: (typeof sides)[number], ratePerSecond?: number): Promise<Loaded> {
    const loaded = await loadedOn(side, ratePerSecond);
    reports.push(loaded.report);
    return loaded;
  }

  async function loadedOn(side: (typeof sides)[number], ratePerSecond?: number): Promise<Loaded> {
    if (side === 'bare' && known !== undefined) {
      const { answer, callers } = known;
      const bare = await startBareHandler(answer);
      try {
        return await load(bare, options, subject, callers, ratePerSecond);
      } finally {
        await bare.stop();
      }
    }
    const gateway = await subject.open(options);
    try {
      const { side: server, callers } = gateway;
      known ??= { callers, answer: await answerTo(server.url, firstRequest(subject, callers)) };
      return await load(server, options, subject, callers, ratePerSecond);
    } finally {
      await gateway.close();
    }
  }

  const throughput = await alternate(sides, rounds, async (side, round) => {
    const { report, loopShare } = await turn(side);
    log(`${name}, round ${round + 1}, ${side}: ${Math.round(report.answersPerSecond)}/s`);
    return { requestsPerSecond: report.answersPerSecond, loopShare };
  });
  const ours = samplesOf(throughput.ours, 'requestsPerSecond');
  const bare = samplesOf(throughput.bare, 'requestsPerSecond');
  const common = { bench: subject.bench, otherName: 'bare uWS' };
  const bound = ratioDoubt({
    ours: throughput.ours,
    other: throughput.bare,
    otherName: 'the bare handler',
    ceilingPerSecond: summarize(bare).median,
    atLeast: subject.aim,
  });
  const doubts = [answerDoubt(reports), bound].filter((text) => text !== undefined);
  const rows = [
    toRow({
      ...common,
      figure: `${title}throughput`,
      unit: 'requests/s',
      ours,
      other: bare,
      aim: { is: 'at least', of: 'ratio', bound: subject.aim },
      doubt: doubts.join('; ') || undefined,
      note: `${connections} connections, closed loop`,
    }),
  ];
  if (!subject.hasLatency) return rows;

  const rate = latencyRateShare * Math.min(summarize(ours).median, summarize(bare).median);
  const latency = await alternate(sides, rounds, async (side, round) => {
    const figures = latencyFigures((await turn(side, rate)).report);
    log(`${name}, round ${round + 1}, ${side}: ${latencyText(figures)}`);
    return figures;
  });
  for (const percentile of ['p50', 'p99'] as const) {
    rows.push(
      toRow({
        ...common,
        figure: `${title}${percentile}`,
        unit: 'ms',
        ours: samplesOf(latency.ours, `${percentile}Ms`),
        other: samplesOf(latency.bare, `${percentile}Ms`),
        doubt: answerDoubt(reports),
        note: `open loop at ${Math.round(rate)} requests/s for both`,
      }),
    );
  }
  return rows;
}

/** Throughput of the gateway alone. */
export async function oursAlone(options: BenchOptions, subject: Subject): Promise<Figures> {
  const gateway = await subject.open(options);
  try {
    const { report } = await load(gateway.side, options, subject, gateway.callers);
    const doubt = answerDoubt([report]);
    if (doubt !== undefined) throw new Error(`${subject.bench}: ${doubt}`);
    return { requestsPerSecond: report.answersPerSecond };
  } finally {
    await gateway.close();
  }
}

function load(
  side: Side,
  { warmupSeconds, seconds }: BenchOptions,
  { workload }: Subject,
  callers: readonly Caller[],
  ratePerSecond?: number,
): Promise<Loaded> {
  const rate = ratePerSecond === undefined ? {} : { ratePerSecond };
  return loadSide(side, { workload, callers, connections, warmupSeconds, seconds, ...rate });
}

function firstRequest({ workload }: Subject, callers: readonly Caller[]): Uint8Array {
  return workloads[workload].source(callers, 'answered').next(0);
}
