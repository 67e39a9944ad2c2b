import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setImmediate, setTimeout } from 'node:timers/promises';
import t from 'tap';
import { streamEnds } from '../../src/events/event-streams.js';
import { connectionEnds, upgradeRefusals } from '../../src/plugins/protocol.js';
import { routes } from '../../src/routes.js';
import { errors } from '../../src/errors.js';
import { reasonCodes } from '../../src/model/reason-codes.js';
import { executionStates } from '../../src/model/execution.js';
import { createInstruments, type Instruments } from '../../src/telemetry/instruments.js';
import type { Gauges } from '../../src/telemetry/metric-families.js';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.js';
import { SimulatedClock } from '../support/simulated-clock.js';

interface Sample {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly value: number;
}

const gauges: Gauges = {
  connectedPlugins: () => 2,
  hashPoolQueue: () => 3,
  openExecutions: () => 4,
  storeBytes: () => 36_864,
  indexLagMs: () => 120,
  indexWaitingBytes: () => 4_096,
  openStreams: () => 5,
  hashPoolQueueMax: () => 64,
  isHalted: () => true,
  isPublicApiEnabled: () => false,
  isReady: () => true,
  committedAt: () => 1_750_000_000_500,
  commitAgeMs: () => 2_500,
  retentionLagMs: () => 61_500,
  retentionRemovals: () => 16_000,
  version: '1.2.3',
  hostMetrics: {
    disk: () => ({ freeBytes: 40_000, sizeBytes: 100_000 }),
    wallClockSeconds: () => 1_750_000_001,
    clockStepSeconds: () => -3.5,
    heapLimitBytes: () => 2_000_000,
    openFiles: () => 40,
    certificateExpirySeconds: 1_800_000_000,
  },
};

function made(change: Partial<Gauges> = {}): {
  instruments: Instruments;
  metrics: Metrics;
  clock: SimulatedClock;
} {
  const clock = new SimulatedClock();
  const instruments = createInstruments(routes);
  return {
    instruments,
    clock,
    metrics: createMetrics(instruments, { ...gauges, ...change }, clock),
  };
}

/** Reads the Prometheus text format to the letter; throws on a line that it does not allow. */
function parse(text: string): {
  samples: Sample[];
  types: Map<string, string>;
  helps: Set<string>;
} {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const helps = new Set<string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S.*$/.exec(line);
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line);
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)$/.exec(
      line,
    );
    if (help?.[1] !== undefined) helps.add(help[1]);
    else if (type?.[1] !== undefined && type[2] !== undefined) types.set(type[1], type[2]);
    else if (sample?.[1] !== undefined) {
      const pairs = [...(sample[2] ?? '').matchAll(/([a-z_]+)="([^"\\]*)"(?:,|$)/g)];
      const isWhole = pairs.map(([pair]) => pair).join('') === (sample[2] ?? '');
      if (!isWhole) throw new Error(`not the text format: ${line}`);
      const labels = Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
      samples.push({ name: sample[1], labels, value: Number(sample[3]) });
    } else throw new Error(`not the text format: ${line}`);
  }
  return { samples, types, helps };
}

async function valueOf(
  metrics: Metrics,
  name: string,
  labels: Record<string, string> = {},
): Promise<number | undefined> {
  const { samples } = parse(await metrics.scrape());
  const wanted = JSON.stringify(labels);
  return samples.find((s) => s.name === name && JSON.stringify(s.labels) === wanted)?.value;
}

t.test('the exposition parses; every family has help, type, prefix and base units', async (t) => {
  const { instruments, metrics } = made();
  instruments.requestEnded(0, 200, 0.01);
  const { samples, types, helps } = parse(await metrics.scrape());
  t.ok(samples.length > 100);
  t.same([...helps].sort(), [...types.keys()].sort());
  for (const name of types.keys()) {
    t.match(name, /^signalbox_/);
    t.notMatch(name, /_(ms|milliseconds|microseconds|kb|mb|kilobytes)(_|$)/);
  }
  for (const { name } of samples) {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    t.ok(
      types.has(name) || types.get(family) === 'histogram' || types.get(family) === 'summary',
      name,
    );
  }
  const identities = samples.map(({ name, labels }) => JSON.stringify([name, labels]));
  t.equal(new Set(identities).size, identities.length, 'no series twice');
  t.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});

t.test('a name ends in _total for counters only, and only summaries have quantiles', async (t) => {
  const { samples, types } = parse(await made().metrics.scrape());
  for (const [name, type] of types) t.equal(name.endsWith('_total'), type === 'counter', name);
  for (const { name, labels } of samples) {
    if (labels['quantile'] !== undefined) t.equal(types.get(name), 'summary', name);
  }
});

t.test('no label takes a value from outside', async (t) => {
  const { instruments, metrics } = made();
  instruments.ordersByPlatform.add('terminal_a', 'queued');
  const statuses = [200, 202, 400, 404, 429, 500, 503, 0];
  for (let index = -1; index < routes.length; index++) {
    for (const status of statuses) instruments.requestEnded(index, status, 0.01);
  }
  const operations: string[] = [...routes.map(({ operation }) => operation), 'none'];
  const labelNames = new Set<string>();
  const refusals = Object.keys(upgradeRefusals);
  const reasons: string[] = [...connectionEnds, ...refusals, ...streamEnds, ...reasonCodes];
  const codes = Object.keys(errors);
  for (const { name, labels } of parse(await metrics.scrape()).samples) {
    if (name.startsWith('signalbox_nodejs_')) continue;
    for (const [label, value] of Object.entries(labels)) {
      labelNames.add(label);
      if (label === 'operation') t.ok(operations.includes(value), value);
      if (label === 'reason') t.ok(reasons.includes(value), value);
      if (label === 'code') t.ok(codes.includes(value), value);
    }
  }
  t.same([...labelNames].sort(), [
    'code',
    'le',
    'operation',
    'platform',
    'quantile',
    'reason',
    'status',
    'version',
  ]);
});

t.test('requests are counted by operation and status, with none for no route', async (t) => {
  const { instruments, metrics, clock } = made();
  const name = 'signalbox_http_requests_total';
  const last = routes.length - 1;
  instruments.requestEnded(0, 200, 0.01);
  instruments.requestEnded(0, 200, 0.01);
  instruments.requestEnded(0, 401, 0.01);
  instruments.requestEnded(last, 0, 0.01);
  instruments.requestEnded(-1, 404, 0.01);
  const operation = routes[0].operation;
  t.equal(await valueOf(metrics, name, { operation, status: '200' }), 2);
  t.equal(await valueOf(metrics, name, { operation, status: '401' }), 1);
  t.equal(
    await valueOf(metrics, name, { operation: routes[last]?.operation ?? '', status: 'aborted' }),
    1,
  );
  t.equal(await valueOf(metrics, name, { operation: 'none', status: '404' }), 1);
  const durations = 'signalbox_http_request_duration_seconds_count';
  t.equal(await valueOf(metrics, durations, { operation }), 3);
  t.equal(await valueOf(metrics, durations, { operation: 'none' }), 1);
  clock.advance(1_000);
  t.equal(await valueOf(metrics, name, { operation, status: '200' }), 2, 'reading counts nothing');
});

t.test('a histogram cumulates its buckets up to its count', async (t) => {
  const { instruments, metrics } = made();
  for (const seconds of [0.0001, 0.0004, 0.0004, 2, 100])
    instruments.acceptLatency.observe(seconds);
  const bucket = (le: string): Promise<number | undefined> =>
    valueOf(metrics, 'signalbox_accept_duration_seconds_bucket', { le });
  t.equal(await bucket('0.0001'), 1);
  t.equal(await bucket('0.00025'), 1);
  t.equal(await bucket('0.0005'), 3);
  t.equal(await bucket('2.5'), 4);
  t.equal(await bucket('60'), 4);
  t.equal(await bucket('+Inf'), 5);
  t.equal(await valueOf(metrics, 'signalbox_accept_duration_seconds_count'), 5);
  t.equal(await valueOf(metrics, 'signalbox_accept_duration_seconds_sum'), 102.0009);
});

t.test('each instrument and each gauge is shown under its own name', async (t) => {
  const { instruments, metrics } = made();
  const counters = {
    connectionsRefused: 'signalbox_connections_refused_total',
    signalsAccepted: 'signalbox_signals_accepted_total',
    framesRejected: 'signalbox_plugin_frames_rejected_total',
    framesRepeated: 'signalbox_plugin_frames_repeated_total',
    reportsIgnored: 'signalbox_reports_ignored_total',
    fillsDuplicate: 'signalbox_fills_duplicate_total',
    submitsSent: 'signalbox_submits_sent_total',
    eventsPublished: 'signalbox_events_published_total',
    commitsFailed: 'signalbox_commits_failed_total',
    indexFillsFailed: 'signalbox_index_fills_failed_total',
    internalErrors: 'signalbox_internal_errors_total',
  } as const;
  const names = Object.keys(counters) as (keyof typeof counters)[];
  names.forEach((name, index) => instruments[name].add(index + 1));
  const latencies = {
    acceptLatency: 'accept',
    commitLatency: 'commit',
    flushLatency: 'log_flush',
    dispatchLatency: 'dispatch',
    confirmLatency: 'confirm',
  } as const;
  const latencyNames = Object.keys(latencies) as (keyof typeof latencies)[];
  latencyNames.forEach((name, index) => instruments[name].observe(index + 1));
  for (const [index, name] of names.entries()) {
    t.equal(await valueOf(metrics, counters[name]), index + 1, name);
  }
  for (const [index, name] of latencyNames.entries()) {
    const family = `signalbox_${latencies[name]}_duration_seconds`;
    t.equal(await valueOf(metrics, `${family}_sum`), index + 1, name);
  }
  t.equal(await valueOf(metrics, 'signalbox_connected_plugins'), 2);
  t.equal(await valueOf(metrics, 'signalbox_hash_pool_queue'), 3);
  t.equal(await valueOf(metrics, 'signalbox_open_executions'), 4);
  t.equal(await valueOf(metrics, 'signalbox_store_size_bytes'), 36_864);
  t.equal(await valueOf(metrics, 'signalbox_index_lag_seconds'), 0.12);
  t.equal(await valueOf(metrics, 'signalbox_index_waiting_bytes'), 4_096);
  t.equal(await valueOf(metrics, 'signalbox_open_streams'), 5);
  t.equal(await valueOf(metrics, 'signalbox_hash_pool_queue_max'), 64);
  t.equal(await valueOf(metrics, 'signalbox_ready'), 1);
  t.equal(await valueOf(metrics, 'signalbox_trading_halted'), 1);
  t.equal(await valueOf(metrics, 'signalbox_public_api_disabled'), 1);
  t.equal(await valueOf(metrics, 'signalbox_commit_age_seconds'), 2.5);
  t.equal(await valueOf(metrics, 'signalbox_retention_lag_seconds'), 61.5);
  t.equal(await valueOf(metrics, 'signalbox_retention_removed_records_total'), 16_000);
  t.equal(await valueOf(metrics, 'signalbox_last_commit_timestamp_seconds'), 1_750_000_000.5);
  t.equal(await valueOf(metrics, 'signalbox_build_info', { version: '1.2.3' }), 1);
  t.equal(await valueOf(metrics, 'signalbox_disk_free_bytes'), 40_000);
  t.equal(await valueOf(metrics, 'signalbox_disk_size_bytes'), 100_000);
  t.equal(await valueOf(metrics, 'signalbox_wall_clock_seconds'), 1_750_000_001);
  t.equal(await valueOf(metrics, 'signalbox_clock_step_seconds'), -3.5);
  t.equal(await valueOf(metrics, 'signalbox_nodejs_heap_size_limit_bytes'), 2_000_000);
  t.equal(await valueOf(metrics, 'signalbox_process_open_fds'), 40);
  const expiry = 'signalbox_tls_certificate_expiry_timestamp_seconds';
  t.equal(await valueOf(metrics, expiry), 1_800_000_000);
});

t.test(
  'what there is not has a family, and no series that could be taken for a value',
  async (t) => {
    const { metrics } = made({
      isReady: () => false,
      committedAt: () => undefined,
      hostMetrics: { ...gauges.hostMetrics, certificateExpirySeconds: undefined },
    });
    const { types } = parse(await metrics.scrape());
    for (const name of [
      'last_commit_timestamp_seconds',
      'tls_certificate_expiry_timestamp_seconds',
    ]) {
      t.equal(types.get(`signalbox_${name}`), 'gauge');
      t.equal(await valueOf(metrics, `signalbox_${name}`), undefined);
    }
    t.equal(await valueOf(metrics, 'signalbox_ready'), 0);
  },
);

t.test('a scrape does not list the open files, of which each connection is one', async (t) => {
  const { metrics } = made();
  const { readdirSync } = fs;
  const listed: string[] = [];
  fs.readdirSync = ((path: string, ...options: []) => {
    listed.push(path);
    return readdirSync(path, ...options);
  }) as typeof readdirSync;
  syncBuiltinESMExports();
  t.teardown(() => {
    fs.readdirSync = readdirSync;
    syncBuiltinESMExports();
  });
  await metrics.scrape();
  t.same(listed, []);
});

t.test('every execution status is a series from the start', async (t) => {
  const { instruments, metrics } = made();
  instruments.executionsByStatus.add('filled');
  for (const status of Object.keys(executionStates)) {
    const count = await valueOf(metrics, 'signalbox_executions_total', { status });
    t.equal(count, status === 'filled' ? 1 : 0, status);
  }
});

t.test('a scrape within a second of the last gets its text again', async (t) => {
  const { instruments, metrics, clock } = made();
  const name = 'signalbox_signals_accepted_total';
  t.equal(await valueOf(metrics, name), 0);
  instruments.signalsAccepted.add();
  clock.advance(999);
  t.equal(await valueOf(metrics, name), 0);
  clock.advance(1);
  t.equal(await valueOf(metrics, name), 1);
});

/**
 * Waits for a tick of the monitor, which ticks every 10 ms. One timer does not suffice: after a pause, Node
 * calls all its due timers before libuv comes to the monitor's. A timer of a later turn comes after it.
 */
async function tickOfTheMonitor(): Promise<void> {
  await setTimeout(20);
  await setImmediate();
  await setTimeout(1);
}

t.test('no scrape takes a delay of the event loop away from the next within 30 s', async (t) => {
  const { metrics, clock } = made();
  const longest = { quantile: '1' };
  const name = 'signalbox_event_loop_delay_seconds';
  await tickOfTheMonitor();
  const end = performance.now() + 400;
  while (performance.now() < end);
  await tickOfTheMonitor();
  const held = await valueOf(metrics, name, longest);
  t.ok(held !== undefined && held > 0.3, `${held} s`);
  for (const ms of [1_000, 29_000, 29_000]) {
    clock.advance(ms);
    const still = await valueOf(metrics, name, longest);
    t.ok(still !== undefined && still >= (held ?? 0), `${still} s`);
  }
  clock.advance(30_000);
  await metrics.scrape();
  clock.advance(30_000);
  const after = await valueOf(metrics, name, longest);
  t.ok(after !== undefined && after < (held ?? 0), `${after} s`);
});
