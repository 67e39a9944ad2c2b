/**
 * Computes the figures of `signalbox stats` from two scrapes: rates and quantiles of the interval between them.
 * Unknown values are null, including quantiles without observations.
 */
import { type Sample, type Scrape, sumOf } from './scrape.js';

export interface Quantiles {
  readonly p50: number | null;
  readonly p99: number | null;
}

export interface Figures {
  /** Unix milliseconds on the gateway's clock. */
  readonly at: number;
  readonly intervalSeconds: number;
  readonly version: string | null;
  readonly ready: boolean | null;
  readonly halted: boolean | null;
  readonly publicApiDisabled: boolean | null;
  readonly uptimeSeconds: number | null;
  /** Responses per second, by class of status; 4xx excludes 429. */
  readonly answers: Readonly<Record<AnswerClass, number>>;
  readonly signalsPerSecond: number | null;
  readonly signalsAccepted: number | null;
  /** Status changes of executions per second, by new status; zero rates are left out. */
  readonly executionsPerSecond: Readonly<Record<string, number>>;
  readonly latencySeconds: Readonly<Record<Latency, Quantiles>>;
  readonly openExecutions: number | null;
  readonly connectedPlugins: number | null;
  readonly openStreams: number | null;
  readonly hashPoolQueue: number | null;
  readonly cpuPercent: number | null;
  readonly residentBytes: number | null;
  /** Longest delay of the event loop in at least the last 30 s. */
  readonly eventLoopDelaySeconds: number | null;
  readonly storeBytes: number | null;
  readonly diskFreeBytes: number | null;
  readonly commitsFailed: number | null;
  readonly internalErrors: number | null;
}

export const answerClasses = ['2xx', '4xx', '429', '5xx', 'aborted'] as const;
type AnswerClass = (typeof answerClasses)[number];
/** The histograms `<name>_duration_seconds`. */
export const latencies = ['accept', 'commit', 'dispatch', 'confirm'] as const;
type Latency = (typeof latencies)[number];

export function figuresOf(before: Scrape, after: Scrape): Figures {
  const at = sumOf(after, 'wall_clock_seconds') ?? NaN;
  const intervalSeconds = at - (sumOf(before, 'wall_clock_seconds') ?? NaN);
  const gauge = (name: string): number | null => sumOf(after, name) ?? null;
  const flag = (name: string): boolean | null => {
    const value = gauge(name);
    return value === null ? null : value === 1;
  };
  const startOf = (scrape: Scrape) => sumOf(scrape, 'process_start_time_seconds');
  // A gateway that was started anew may have counted more than the one before it.
  const isSameProcess = startOf(before) === startOf(after);
  /** Null after a clock step or a restart of the gateway between the two scrapes. */
  const rate = (name: string, isWanted?: (labels: Sample['labels']) => boolean): number | null => {
    const now = sumOf(after, name, isWanted);
    const grown = (now ?? NaN) - (sumOf(before, name, isWanted) ?? 0);
    return isSameProcess && grown >= 0 && intervalSeconds > 0 ? grown / intervalSeconds : null;
  };
  const startedAt = gauge('process_start_time_seconds');
  const cpu = rate('process_cpu_seconds_total');
  return {
    at: at * 1000,
    intervalSeconds,
    version: after.get('build_info')?.[0]?.labels['version'] ?? null,
    ready: flag('ready'),
    halted: flag('trading_halted'),
    publicApiDisabled: flag('public_api_disabled'),
    uptimeSeconds: startedAt === null ? null : at - startedAt,
    answers: record(
      answerClasses,
      (wanted) =>
        rate('http_requests_total', (labels) => classOf(labels['status']) === wanted) ?? 0,
    ),
    signalsPerSecond: rate('signals_accepted_total'),
    signalsAccepted: gauge('signals_accepted_total'),
    executionsPerSecond: Object.fromEntries(
      (after.get('executions_total') ?? [])
        .map(({ labels: { status = '' } }): [string, number] => [
          status,
          rate('executions_total', (labels) => labels['status'] === status) ?? 0,
        ])
        .filter(([, perSecond]) => perSecond > 0),
    ),
    latencySeconds: record(latencies, (name) =>
      quantilesOf(isSameProcess ? before : new Map(), after, name),
    ),
    openExecutions: gauge('open_executions'),
    connectedPlugins: gauge('connected_plugins'),
    openStreams: gauge('open_streams'),
    hashPoolQueue: gauge('hash_pool_queue'),
    cpuPercent: cpu === null ? null : cpu * 100,
    residentBytes: gauge('process_resident_memory_bytes'),
    eventLoopDelaySeconds:
      sumOf(after, 'event_loop_delay_seconds', ({ quantile }) => quantile === '1') ?? null,
    storeBytes: gauge('store_size_bytes'),
    diskFreeBytes: gauge('disk_free_bytes'),
    commitsFailed: gauge('commits_failed_total'),
    internalErrors: gauge('internal_errors_total'),
  };
}

function classOf(status = ''): AnswerClass | undefined {
  if (status === '429' || status === 'aborted') return status;
  return answerClasses.find((each) => each === `${status.charAt(0)}xx`);
}

function quantilesOf(before: Scrape, after: Scrape, name: Latency): Quantiles {
  const bucket = `${name}_duration_seconds_bucket`;
  const buckets = (after.get(bucket) ?? []).map(({ labels: { le = '' }, value }) => ({
    bound: le === '+Inf' ? Infinity : Number(le),
    count: value - (sumOf(before, bucket, (labels) => labels['le'] === le) ?? 0),
  }));
  return { p50: quantile(buckets, 0.5), p99: quantile(buckets, 0.99) };
}

/**
 * Interpolates linearly within a bucket, like Prometheus; above the last bound, returns that bound.
 * @param buckets cumulative counts, bounds ascending.
 */
export function quantile(
  buckets: readonly { readonly bound: number; readonly count: number }[],
  part: number,
): number | null {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  const rank = part * total;
  const place = buckets.findIndex(({ count }) => count >= rank);
  const { bound, count } = buckets[place] as { bound: number; count: number };
  const { bound: low, count: below } = buckets[place - 1] ?? { bound: 0, count: 0 };
  if (bound === Infinity) return low;
  return low + (bound - low) * ((rank - below) / (count - below));
}

function record<K extends string, V>(keys: readonly K[], valueOf: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, valueOf(key)])) as Record<K, V>;
}
