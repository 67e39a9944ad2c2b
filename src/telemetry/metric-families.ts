/**
 * Defines every metric of the gateway: name, type, help text, and the function that reads its samples at a
 * scrape. Labels have only values of fixed sets, so that requests cannot increase their cardinality.
 */
import type { CounterSet, Histogram } from '../lib/instruments.js';
import type { Instruments } from './instruments.js';
import type { HostMetrics } from './host-metrics.js';

/** Values that are read at the scrape. */
export interface Gauges {
  readonly connectedPlugins: () => number;
  readonly hashPoolQueue: () => number;
  readonly openExecutions: () => number;
  readonly storeBytes: () => number;
  readonly indexLagMs: () => number;
  readonly indexWaitingBytes: () => number;
  readonly openStreams: () => number;
  readonly hashPoolQueueMax: () => number;
  readonly isHalted: () => boolean;
  readonly isPublicApiEnabled: () => boolean;
  /** Whether `/readyz` responds with 200. */
  readonly isReady: () => boolean;
  /** Unix milliseconds; undefined before the first commit. */
  readonly committedAt: () => number | undefined;
  readonly commitAgeMs: () => number;
  readonly retentionLagMs: () => number;
  readonly retentionRemovals: () => number;
  readonly version: string;
  readonly hostMetrics: HostMetrics;
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  /** Suffix of the family's name: `_bucket`, `_sum`, `_count`; default: none. */
  readonly suffix?: string;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  readonly read: (instruments: Instruments, gauges: Gauges) => Sample[];
}

// oxfmt-ignore
export const families: readonly Family[] = [
  { name: 'http_requests_total', type: 'counter', help: 'Answered requests, by operation and status; an event stream counts when it opens. Status "aborted" means that the client disconnected before the response. What the HTTP parser itself refuses is not counted.', read: requestSamples },
  { name: 'http_request_duration_seconds', type: 'histogram', help: 'Time from the head of a request until its response is written, its event stream opened, or its client has left.', read: requestLatencySamples },
  { name: 'accept_duration_seconds', type: 'histogram', help: 'Time from the body of a signal, once it has arrived, to its 202: what a slow client takes is not in it.', read: (i) => histogramSamples(i.acceptLatency) },
  { name: 'commit_duration_seconds', type: 'histogram', help: 'Time from the first write of a commit until it is flushed to disk.', read: (i) => histogramSamples(i.commitLatency) },
  { name: 'log_flush_duration_seconds', type: 'histogram', help: 'Duration of a write of the log, which makes a group of commits durable.', read: (i) => histogramSamples(i.flushLatency) },
  { name: 'dispatch_duration_seconds', type: 'histogram', help: 'Time from the acceptance of a signal, or from the last start of the gateway if that is later, until its frame is sent to the plugin.', read: (i) => histogramSamples(i.dispatchLatency) },
  { name: 'confirm_duration_seconds', type: 'histogram', help: 'Time from the dispatch of an execution to the first report of the plugin.', read: (i) => histogramSamples(i.confirmLatency) },
  { name: 'refusals_total', type: 'counter', help: 'Refused requests, by the code of the error.', read: (i) => countedSamples('code', i.refusals) },
  { name: 'connections_refused_total', type: 'counter', help: 'Connections to the API port that were closed at once, because the limit of open files has no room for more.', read: (i) => [i.connectionsRefused] },
  { name: 'signals_accepted_total', type: 'counter', help: 'Accepted signals: durable, and answered with a 202 unless the commit took too long for that.', read: (i) => [i.signalsAccepted] },
  { name: 'executions_total', type: 'counter', help: 'Status changes of executions, by new status.', read: (i) => countedSamples('status', i.executionsByStatus) },
  { name: 'orders_total', type: 'counter', help: 'Status changes of orders, by platform and new status.', read: orderSamples },
  { name: 'executions_denied_total', type: 'counter', help: 'Executions that never left the gateway, by reason.', read: (i) => countedSamples('reason', i.deniedByReason) },
  { name: 'submits_sent_total', type: 'counter', help: 'Submit frames sent to plugins, including redeliveries.', read: (i) => [i.submitsSent] },
  { name: 'plugin_frames_rejected_total', type: 'counter', help: 'Rejected frames of plugins.', read: (i) => [i.framesRejected] },
  { name: 'plugin_frames_repeated_total', type: 'counter', help: 'Ignored frames of plugins whose seq is not above the lastSeq of the welcome, such as those of a plugin that starts at 1 again.', read: (i) => [i.framesRepeated] },
  { name: 'reports_ignored_total', type: 'counter', help: 'Ignored reports of plugins, which would move an execution or a cancel backward, contain nothing new, or name an execution that is not open.', read: (i) => [i.reportsIgnored] },
  { name: 'fills_duplicate_total', type: 'counter', help: 'Reported fills that were known, by fillId.', read: (i) => [i.fillsDuplicate] },
  { name: 'events_published_total', type: 'counter', help: 'Published terminal events.', read: (i) => [i.eventsPublished] },
  { name: 'commits_failed_total', type: 'counter', help: 'Failed commits, and writes refused while the disk is too full or data.mdb too far behind; the gateway tries one each second until it succeeds.', read: (i) => [i.commitsFailed] },
  { name: 'connected_plugins', type: 'gauge', help: 'Connected terminal plugins, after their hello.', read: (_, g) => [{ value: g.connectedPlugins() }] },
  { name: 'hash_pool_queue', type: 'gauge', help: 'Passwords that wait for a thread of the hash pool.', read: (_, g) => [{ value: g.hashPoolQueue() }] },
  { name: 'open_executions', type: 'gauge', help: 'Executions that are not final or have a cancel under way, and unknown ones that are sent again if their terminal reconnects.', read: (_, g) => [{ value: g.openExecutions() }] },
  { name: 'store_size_bytes', type: 'gauge', help: 'Size of data.mdb and of the commits that are not in it yet; the files of the log are not included.', read: (_, g) => [{ value: g.storeBytes() }] },
  { name: 'index_lag_seconds', type: 'gauge', help: 'Age of the oldest commit that is not in data.mdb yet; 0 if there is none. The log keeps these commits.', read: (_, g) => [{ value: g.indexLagMs() / 1000 }] },
  { name: 'index_waiting_bytes', type: 'gauge', help: 'Memory of the commits that are not in data.mdb yet; when it is full, commits wait.', read: (_, g) => [{ value: g.indexWaitingBytes() }] },
  { name: 'index_fills_failed_total', type: 'counter', help: 'Failed transactions that bring commits from the log into data.mdb; each is tried again.', read: (i) => [i.indexFillsFailed] },
  { name: 'internal_errors_total', type: 'counter', help: 'Unexpected errors; each has a line in the log.', read: (i) => [i.internalErrors] },
  { name: 'hash_pool_queue_max', type: 'gauge', help: 'Limit of the hash pool queue; a login above it gets a 503.', read: (_, g) => [{ value: g.hashPoolQueueMax() }] },
  { name: 'ready', type: 'gauge', help: '1 when /readyz responds with 200, otherwise 0.', read: (_, g) => [{ value: g.isReady() ? 1 : 0 }] },
  { name: 'trading_halted', type: 'gauge', help: '1 while trading is halted: signals are refused, and no order is sent to a terminal.', read: (_, g) => [{ value: g.isHalted() ? 1 : 0 }] },
  { name: 'public_api_disabled', type: 'gauge', help: '1 while the Public API is disabled: /api/v1/* answers 503.', read: (_, g) => [{ value: g.isPublicApiEnabled() ? 0 : 1 }] },
  { name: 'last_commit_timestamp_seconds', type: 'gauge', help: 'Unix time of the last durable commit.', read: (_, g) => secondsOf(g.committedAt()) },
  { name: 'commit_age_seconds', type: 'gauge', help: 'Age of the oldest commit that is under way; 0 if there is none.', read: (_, g) => [{ value: g.commitAgeMs() / 1000 }] },
  { name: 'retention_lag_seconds', type: 'gauge', help: 'Time since the start of the last complete sweep, which removed all records that were due then. Restarts do not reset it. A few minutes are normal; the sweep runs faster as it grows.', read: (_, g) => [{ value: g.retentionLagMs() / 1000 }] },
  { name: 'retention_removed_records_total', type: 'counter', help: 'Records that retention has removed.', read: (_, g) => [{ value: g.retentionRemovals() }] },
  { name: 'build_info', type: 'gauge', help: 'Always 1; the version is in the label.', read: (_, g) => [{ labels: { version: g.version }, value: 1 }] },
  { name: 'disk_free_bytes', type: 'gauge', help: 'Space available on the file system of the data directory.', read: (_, g) => [{ value: g.hostMetrics.disk().freeBytes }] },
  { name: 'disk_size_bytes', type: 'gauge', help: 'Size of the file system of the data directory.', read: (_, g) => [{ value: g.hostMetrics.disk().sizeBytes }] },
  { name: 'wall_clock_seconds', type: 'gauge', help: 'Unix time of this machine.', read: (_, g) => [{ value: g.hostMetrics.wallClockSeconds() }] },
  { name: 'clock_step_seconds', type: 'gauge', help: 'Net step of the wall clock since the start; forwards is positive.', read: (_, g) => [{ value: g.hostMetrics.clockStepSeconds() }] },
  { name: 'nodejs_heap_size_limit_bytes', type: 'gauge', help: 'Heap limit of Node; a process that exceeds it crashes.', read: (_, g) => [{ value: g.hostMetrics.heapLimitBytes() }] },
  { name: 'process_open_fds', type: 'gauge', help: 'Open file descriptors of the process: each connection is one.', read: (_, g) => valueIfKnown(g.hostMetrics.openFiles()) },
  { name: 'tls_certificate_expiry_timestamp_seconds', type: 'gauge', help: 'Unix time at which the served certificate expires; absent without TLS.', read: (_, g) => valueIfKnown(g.hostMetrics.certificateExpirySeconds) },
  { name: 'open_streams', type: 'gauge', help: 'Open event streams.', read: (_, g) => [{ value: g.openStreams() }] },
  { name: 'plugin_upgrades_refused_total', type: 'counter', help: 'Refused connections of plugins, by reason; "invalid_session": the session has expired or was revoked, and the terminal must log in again.', read: (i) => countedSamples('reason', i.upgradesRefused) },
  { name: 'plugin_connections_closed_total', type: 'counter', help: 'Closed plugin connections, by close reason; "terminal_left": closed by the plugin or the network.', read: (i) => countedSamples('reason', i.connectionsClosed) },
  { name: 'streams_closed_total', type: 'counter', help: 'Closed event streams, by close reason; "client_left": closed by the client or the network, "not_allowed": the key, user, plan or API no longer allows the stream.', read: (i) => countedSamples('reason', i.streamsClosed) },
];

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

function countedSamples<Name extends string>(label: string, set: CounterSet<Name>): Sample[] {
  return (Object.keys(set.counters) as Name[]).map((name) => ({
    labels: { [label]: name },
    value: set.counters[name].value,
  }));
}

function orderSamples({ ordersByPlatform }: Instruments): Sample[] {
  return [...ordersByPlatform.rows].flatMap(([platform, counters]) =>
    countedSamples('status', counters).map(({ labels, value }) => ({
      labels: { platform, ...labels },
      value,
    })),
  );
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

function secondsOf(unixMs: number | undefined): Sample[] {
  return valueIfKnown(unixMs === undefined ? undefined : unixMs / 1000);
}

/** No sample for an unknown value: a 0 would be a measurement. */
function valueIfKnown(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ value }];
}
