/**
 * Exposes the instruments to Prometheus; the only file that uses prom-client. Every family reads its samples
 * at the scrape. A scrape blocks the event loop, so its text is cached for one second. Owns that cache and
 * the event-loop monitor, for the life of the process.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Clock } from '../lib/clock.js';
import type { Instruments } from './instruments.js';
import { families, type Family, type Gauges, type Sample } from './metric-families.js';

export interface Metrics {
  readonly contentType: string;
  /** The text format, at most `scrapeLifetimeMs` old. */
  scrape(): Promise<string>;
}

const prefix = 'signalbox_';
const scrapeLifetimeMs = 1_000;

export function createMetrics(instruments: Instruments, gauges: Gauges, clock: Clock): Metrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  for (const family of families) {
    register(registry, family, () => family.read(instruments, gauges));
  }
  register(registry, eventLoopFamily, createEventLoopSamples(clock));

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

/** prom-client's registry calls only `get` of a metric, so a plain object can be one. */
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

const eventLoopFamily = {
  name: 'event_loop_delay_seconds',
  type: 'summary',
  help: 'Delay of the event loop in at least the last 30 s; quantile 1 is the longest delay.',
} as const;
const quantiles = [0.5, 0.99, 1];
const monitorResolutionMs = 10;
const monitorPeriodMs = 30_000;

/**
 * Subtracts the monitor's own interval, because it measures from tick to tick. Resets by time, not by scrape,
 * and includes the previous period, so that a second scraper does not hide a peak from the first.
 */
function createEventLoopSamples(clock: Clock): () => Sample[] {
  const monitor: IntervalHistogram = monitorEventLoopDelay({ resolution: monitorResolutionMs });
  monitor.enable();
  let begunAt = clock.monotonic();
  let before = quantiles.map(() => 0);
  return () => {
    const delays = quantiles.map((quantile) => {
      const tickSeconds = monitor.count === 0 ? 0 : monitor.percentile(quantile * 100) / 1e9;
      return Math.max(0, tickSeconds - monitorResolutionMs / 1000);
    });
    const samples = quantiles.map((quantile, index) => ({
      labels: { quantile: `${quantile}` },
      value: Math.max(delays[index] as number, before[index] as number),
    }));
    if (clock.monotonic() - begunAt >= monitorPeriodMs) {
      begunAt = clock.monotonic();
      before = delays;
      monitor.reset();
    }
    return samples;
  };
}

/**
 * Of prom-client's: the lag is NaN without a tick, the open files are listed one by one, to be counted, and the
 * totals of what is active are gauges with the name of a counter, and sums of the series beside them.
 */
const unused = [
  'nodejs_eventloop_lag',
  'process_open_fds',
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
].map((name) => prefix + name);

/** Adds prom-client's process metrics, without the unused ones. */
function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix });
  for (const { name } of registry.getMetricsAsArray()) {
    if (unused.some((start) => name.startsWith(start))) registry.removeSingleMetric(name);
  }
}
