/**
 * The instruments as Prometheus sees them; the only file that knows prom-client. Nothing is counted
 * here: every family reads its numbers when it is scraped. No label can take a value that comes from
 * outside. A scrape is one synchronous block, so its text is kept for a second: whoever asks faster
 * gets the same text and cannot hold the loop. Owns that text and the event-loop monitor.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { type Clock, systemClock } from '../lib/clock.js';
import type { Histogram } from '../lib/instruments.js';
import type { Instruments } from './instruments.js';

export interface Metrics {
  readonly contentType: string;
  /** The text format, at most `scrapeLifetimeMs` old. */
  scrape(): Promise<string>;
}

/** What is asked for at the moment of the scrape. */
export interface Gauges {
  readonly connectedPlugins: () => number;
  readonly hashPoolQueue: () => number;
  readonly openExecutions: () => number;
  readonly storeBytes: () => number;
  readonly openStreams: () => number;
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  /** Ending of the family's name: `_bucket`, `_sum`, `_count`; none by default. */
  readonly suffix?: string;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly read: (instruments: Instruments, gauges: Gauges) => Sample[];
}

const prefix = 'signalbox_';
const scrapeLifetimeMs = 1_000;

// prettier-ignore
const families: readonly Family[] = [
  { name: 'http_requests_total', type: 'counter', help: 'Requests ended, by operation and status; status "aborted" means that the client left first.', read: requestSamples },
  { name: 'http_request_duration_seconds', type: 'histogram', help: 'From the head of a request to the end of its answer.', read: requestLatencySamples },
  { name: 'accept_duration_seconds', type: 'histogram', help: 'From the head of a signal to its 202.', read: (i) => histogramSamples(i.acceptLatency) },
  { name: 'commit_duration_seconds', type: 'histogram', help: 'From the first write of a commit until it is flushed to disk.', read: (i) => histogramSamples(i.commitLatency) },
  { name: 'dispatch_duration_seconds', type: 'histogram', help: 'From the acceptance of a signal to its frame on the socket of a plugin.', read: (i) => histogramSamples(i.dispatchLatency) },
  { name: 'confirm_duration_seconds', type: 'histogram', help: 'From dispatch to the first report of the plugin.', read: (i) => histogramSamples(i.confirmLatency) },
  { name: 'signals_accepted_total', type: 'counter', help: 'Signals that are on disk and were answered with a 202.', read: (i) => [i.signalsAccepted] },
  { name: 'executions_total', type: 'counter', help: 'Executions that came into a status.', read: statusSamples },
  { name: 'submits_sent_total', type: 'counter', help: 'Submit frames written to plugins, repetitions included.', read: (i) => [i.submitsSent] },
  { name: 'plugin_frames_rejected_total', type: 'counter', help: 'Frames of plugins that broke the protocol.', read: (i) => [i.framesRejected] },
  { name: 'reports_ignored_total', type: 'counter', help: 'Reports of plugins that would have moved an execution backwards.', read: (i) => [i.reportsIgnored] },
  { name: 'fills_duplicate_total', type: 'counter', help: 'Fills that were already known by their fillId.', read: (i) => [i.fillsDuplicate] },
  { name: 'events_published_total', type: 'counter', help: 'Terminal events put into the replay memory.', read: (i) => [i.eventsPublished] },
  { name: 'commits_failed_total', type: 'counter', help: 'Commits that failed or whose flush did.', read: (i) => [i.commitsFailed] },
  { name: 'connected_plugins', type: 'gauge', help: 'Terminal plugins that are connected and have said hello.', read: (_, g) => [{ value: g.connectedPlugins() }] },
  { name: 'hash_pool_queue', type: 'gauge', help: 'Passwords that wait for a thread of the hash pool.', read: (_, g) => [{ value: g.hashPoolQueue() }] },
  { name: 'open_executions', type: 'gauge', help: 'Executions that are not final.', read: (_, g) => [{ value: g.openExecutions() }] },
  { name: 'store_size_bytes', type: 'gauge', help: 'Size of the store on disk.', read: (_, g) => [{ value: g.storeBytes() }] },
  { name: 'open_streams', type: 'gauge', help: 'Event streams that are open.', read: (_, g) => [{ value: g.openStreams() }] },
];

export function createMetrics(
  instruments: Instruments,
  gauges: Gauges,
  clock: Clock = systemClock,
): Metrics {
  const registry = new Registry();
  for (const family of families) {
    register(registry, family, () => family.read(instruments, gauges));
  }
  register(registry, eventLoopFamily, createEventLoopSamples());
  addProcessMetrics(registry);

  let scrapedAt = -Infinity;
  let text = Promise.resolve('');
  return {
    contentType: registry.contentType,
    scrape() {
      if (clock.monotonic() - scrapedAt >= scrapeLifetimeMs) {
        scrapedAt = clock.monotonic();
        text = registry.metrics();
      }
      return text;
    },
  };
}

/** A registry asks each metric for its values and no more, so an object that answers is one. */
function register(
  registry: Registry,
  { name, help, type }: Omit<Family, 'read'>,
  read: () => readonly Sample[],
): void {
  const fullName = prefix + name;
  const metric = {
    name: fullName,
    get: () => ({
      name: fullName,
      help,
      type,
      values: read().map(({ suffix = '', labels = {}, value }) => ({
        metricName: fullName + suffix,
        labels,
        value,
      })),
    }),
  };
  registry.registerMetric(metric as unknown as Metric);
}

function requestSamples({ requests }: Instruments): Sample[] {
  const samples: Sample[] = [];
  requests.forEach((operation, status, value) => {
    samples.push({ labels: { operation, status: status === 0 ? 'aborted' : `${status}` }, value });
  });
  return samples;
}

function requestLatencySamples({ requests, requestLatency }: Instruments): Sample[] {
  return requestLatency.flatMap((histogram, index) =>
    histogramSamples(histogram, { operation: requests.operations[index] as string }),
  );
}

function statusSamples({ executionsByStatus }: Instruments): Sample[] {
  return Object.entries(executionsByStatus.counters).map(([status, { value }]) => ({
    labels: { status },
    value,
  }));
}

function histogramSamples(histogram: Histogram, labels: Record<string, string> = {}): Sample[] {
  let cumulated = 0;
  const buckets = [...histogram.bounds.map(String), '+Inf'].map((le, index): Sample => {
    cumulated += histogram.counts[index] as number;
    return { suffix: '_bucket', labels: { ...labels, le }, value: cumulated };
  });
  return [
    ...buckets,
    { suffix: '_sum', labels, value: histogram.sum },
    { suffix: '_count', labels, value: histogram.count },
  ];
}

const eventLoopFamily = {
  name: 'event_loop_delay_seconds',
  type: 'gauge',
  help: 'How late the event loop was since the last scrape; quantile 1 is the longest delay.',
} as const;
const quantiles = [0.5, 0.99, 1];
const monitorResolutionMs = 10;

/** The monitor measures from tick to tick, so its own interval is taken off. */
function createEventLoopSamples(): () => Sample[] {
  const monitor: IntervalHistogram = monitorEventLoopDelay({ resolution: monitorResolutionMs });
  monitor.enable();
  return () => {
    const samples = quantiles.map((quantile) => {
      const tickSeconds = monitor.count === 0 ? 0 : monitor.percentile(quantile * 100) / 1e9;
      const value = Math.max(0, tickSeconds - monitorResolutionMs / 1000);
      return { labels: { quantile: `${quantile}` }, value };
    });
    monitor.reset();
    return samples;
  };
}

/** The library's process metrics, without its event-loop lag: that one is NaN when nothing ticked. */
function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith(`${prefix}nodejs_eventloop_lag`)) registry.removeSingleMetric(name);
  }
}
