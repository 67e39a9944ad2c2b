/**
 * The limit of 1200 requests a minute and key, from both sides. First many keys, each right at the
 * limit: none may be refused, and nobody may wait longer than ten flushes of the disk. Then keys that
 * send 1300 a minute: each is granted exactly 1200 in every minute.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { minuteMs } from '../../src/lib/durations.js';
import { limits } from '../../src/limits.js';
import { figuresOf } from '../../src/stats/figures.js';
import { loadSide } from '../load/generator-check.js';
import { excesses, grantsByWindow } from '../load/grants.js';
import type { LoadReport } from '../load/load.js';
import { scrape } from '../measure/prometheus.js';
import { type Row, toRow } from '../measure/report.js';
import type { OpenGateway } from './bare-comparison.js';
import type { Bench, BenchOptions } from './bench.js';
import { keysPerUser, openExecutedGateway } from './executed-gateway.js';

interface Scale {
  readonly keys: number;
  /**
   * With the warm-up a minute of load at the limit, and no more: then no two requests of a key are 60 s apart. The
   * generator is a new process, whose first requests are late.
   */
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Keys over the limit at once, each of them a run. */
  readonly greedyKeys: number;
  readonly greedyWindows: number;
  /** Requests that a key may send in a minute, and those that a greedy key sends. */
  readonly limit: number;
  readonly greedyRequests: number;
  /** The greedy ones' minute. */
  readonly windowSeconds: number;
}

const full: Scale = {
  keys: 1_000,
  seconds: 58,
  warmupSeconds: 2,
  greedyKeys: 10,
  greedyWindows: 2,
  limit: limits.keyRequestsPerMinute.value,
  greedyRequests: 1_300,
  windowSeconds: 60,
};
/** The limit's minute stays a minute, so a smoke run looks at one window, which is shorter. */
const tiny: Scale = {
  ...full,
  keys: 20,
  seconds: 1,
  warmupSeconds: 0,
  greedyKeys: 2,
  greedyWindows: 1,
  windowSeconds: 1,
};

const keyRequestsPerSecond = 20;
/** Each key's bot has a connection of its own; a few bots share at least so many, so that none waits. */
const connectionsMin = 64;
const warmKeys = 250;
/** Most median flushes of the disk that a request may take, at p99. */
const flushesMax = 10;
/** Shares of the keys that a closed loop could serve, tried in order until no request is refused. */
const triedShares = [0.95, 0.85, 0.75, 0.65, 0.55] as const;
/** Share of the highest rate without a refusal: nearer to it every server makes requests wait. */
const latencyShare = 0.75;

export const keyLimit: Bench = {
  name: 'key-limit',
  summary: 'many keys at exactly 1200 requests a minute; and keys that send 1300',
  needs: [],
  async run(options) {
    const scale = options.isSmoke ? tiny : full;
    const planned = await atTheLimit(options, scale, scale.keys);
    const rows = [...planned.rows];
    if (!planned.isMet) rows.push(...(await belowTheLimit(options, scale, planned)));
    return [...rows, ...(await overTheLimit(options, scale))];
  },
};

/** The highest rate that this machine serves without a refusal, and how long requests wait at a part of it. */
async function belowTheLimit(
  options: BenchOptions,
  scale: Scale,
  planned: AtTheLimit,
): Promise<Row[]> {
  const rows: Row[] = [];
  let highest = planned;
  for (const share of triedShares) {
    if (highest.failed === 0) break;
    const keys = Math.max(1, Math.min(scale.keys, Math.floor(planned.closedLoopKeys * share)));
    highest = await atTheLimit(options, scale, keys);
    if (highest.failed === 0 || share === triedShares.at(-1)) rows.push(...highest.rows);
  }
  const fewer = Math.max(1, Math.floor(highest.keys * latencyShare));
  return [...rows, ...(await atTheLimit(options, scale, fewer)).rows];
}

interface AtTheLimit {
  readonly keys: number;
  readonly rows: Row[];
  /** Requests that were refused or had no answer. */
  readonly failed: number;
  /** Whether no request failed, and the p99 is within its aim. */
  readonly isMet: boolean;
  /** Number of keys that a closed loop's throughput would serve. */
  readonly closedLoopKeys: number;
}

async function atTheLimit(
  options: BenchOptions,
  { seconds, warmupSeconds, keys: allKeys }: Scale,
  keys: number,
): Promise<AtTheLimit> {
  const spare = options.isSmoke ? keysPerUser : warmKeys;
  return withGateway(options, keys + spare, async ({ side, callers }) => {
    const opsUrl = side.info['opsUrl'] as string;
    const warm = await loadSide(side, {
      workload: 'mixed',
      callers: callers.slice(keys),
      connections: connectionsMin,
      warmupSeconds: options.warmupSeconds,
      seconds: options.seconds,
    });
    const closedLoopKeys = Math.floor(warm.report.answersPerSecond / keyRequestsPerSecond);

    const before = await scrape(opsUrl);
    const { report } = await loadSide(side, {
      workload: 'mixed',
      callers: callers.slice(0, keys),
      connections: Math.max(keys, connectionsMin),
      warmupSeconds,
      seconds,
      ratePerSecond: keys * keyRequestsPerSecond,
    });
    // The metrics' text is kept for a second, so the one after it is read.
    await delay(1_100);
    const { commit } = figuresOf(before, await scrape(opsUrl)).latencySeconds;
    const flushMs = (commit.p50 ?? NaN) * 1000;
    options.log(`key-limit, ${keys} keys: ${Math.round(report.answersPerSecond)}/s reached`);
    const failed = report.unexpected + report.unanswered;
    const isMet = failed === 0 && report.latency.percentile(99) <= flushesMax * flushMs;
    const rows = limitRows(keys, report, flushMs, keys === allKeys);
    return { keys, rows, failed, isMet, closedLoopKeys };
  });
}

function limitRows(keys: number, report: LoadReport, flushMs: number, isPlanned: boolean): Row[] {
  const { byStatus, unexpected, unanswered, answersPerSecond, latency, lateness } = report;
  const offered = keys * keyRequestsPerSecond;
  const title = `${keys} keys at 20/s each`;
  const scope = isPlanned ? '' : 'fewer keys, since this machine does not serve them all in time; ';
  return [
    toRow({
      bench: 'key-limit',
      figure: `${title}: refused or failed`,
      unit: 'requests',
      ours: [unexpected + unanswered],
      aim: { is: 'at most', of: 'value', bound: 0 },
      note: `${scope}answers by status ${JSON.stringify(byStatus)}, ${unanswered} without an answer`,
    }),
    toRow({
      bench: 'key-limit',
      figure: `${title}: answered`,
      unit: 'requests/s',
      ours: [answersPerSecond],
      other: [offered],
      otherName: 'offered',
    }),
    toRow({
      bench: 'key-limit',
      figure: `${title}: p99`,
      unit: 'ms',
      ours: [latency.percentile(99)],
      other: [flushMs],
      otherName: 'median flush',
      aim: { is: 'at most', of: 'ratio', bound: flushesMax },
      note:
        `p50 ${latency.percentile(50).toFixed(2)} ms; half of the requests submit, half read; ` +
        `the generator sent its requests late by ${lateness.percentile(99).toFixed(2)} ms at p99`,
    }),
  ];
}

async function overTheLimit(options: BenchOptions, scale: Scale): Promise<Row[]> {
  const { greedyKeys, greedyWindows, greedyRequests, limit, windowSeconds } = scale;
  const grants = await withGateway(options, greedyKeys, async ({ side, callers }) => {
    const { report } = await loadSide(side, {
      workload: 'status',
      callers: callers.slice(0, greedyKeys),
      connections: 4 * greedyKeys,
      warmupSeconds: 0,
      seconds: greedyWindows * windowSeconds,
      ratePerSecond: (greedyKeys * greedyRequests) / windowSeconds,
      listsGrants: true,
    });
    return report.grants ?? [];
  });
  const windowMs = windowSeconds * 1000;
  const counts = grants.flatMap((list) => grantsByWindow(list, windowMs, greedyWindows));
  const runs = `${greedyKeys} keys at once, ${greedyWindows} × ${windowSeconds} s each`;
  return [
    toRow({
      bench: 'key-limit',
      figure: `granted of ${greedyRequests} in every ${windowSeconds} s`,
      unit: 'requests',
      ours: counts,
      aim: { is: 'exactly', of: 'value', bound: limit },
      note: runs,
    }),
    toRow({
      bench: 'key-limit',
      figure: `more than ${limit} in 60 s, wherever they begin`,
      unit: 'times',
      ours: grants.map((list) => excesses(list, minuteMs, limit)),
      aim: { is: 'at most', of: 'value', bound: 0 },
      note: runs,
    }),
  ];
}

async function withGateway<T>(
  { product }: BenchOptions,
  keys: number,
  work: (gateway: OpenGateway) => Promise<T>,
): Promise<T> {
  const gateway = await openExecutedGateway(product, keys);
  try {
    return await work(gateway);
  } finally {
    await gateway.close();
  }
}
