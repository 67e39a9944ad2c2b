/**
 * Every metric of the gateway's own as a row: its name, its meaning, and where its numbers are read
 * when Prometheus asks. No label can take a value that comes from outside.
 */
import type { CounterSet, Histogram } from '../lib/instruments.js';
import type { Instruments } from './instruments.js';
import type { HostMetrics } from './host-metrics.js';

/** What is asked for at the moment of the scrape. */
export interface Gauges {
  readonly connectedPlugins: () => number;
  readonly hashPoolQueue: () => number;
  readonly openExecutions: () => number;
  readonly storeBytes: () => number;
  readonly openStreams: () => number;
  readonly hashPoolQueueMax: () => number;
  /** Whether `/readyz` says so. */
  readonly isReady: () => boolean;
  /** Unix milliseconds; undefined before the first commit. */
  readonly committedAt: () => number | undefined;
  readonly version: string;
  readonly hostMetrics: HostMetrics;
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  /** Ending of the family's name: `_bucket`, `_sum`, `_count`; none by default. */
  readonly suffix?: string;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly read: (instruments: Instruments, gauges: Gauges) => Sample[];
}

// prettier-ignore
export const families: readonly Family[] = [
  { name: 'http_requests_total', type: 'counter', help: 'Requests ended, by operation and status; status "aborted" means that the client left first.', read: requestSamples },
  { name: 'http_request_duration_seconds', type: 'histogram', help: 'From the head of a request to the end of its answer.', read: requestLatencySamples },
  { name: 'accept_duration_seconds', type: 'histogram', help: 'From the head of a signal to its 202.', read: (i) => histogramSamples(i.acceptLatency) },
  { name: 'commit_duration_seconds', type: 'histogram', help: 'From the first write of a commit until it is flushed to disk.', read: (i) => histogramSamples(i.commitLatency) },
  { name: 'dispatch_duration_seconds', type: 'histogram', help: 'From the acceptance of a signal to its frame on the socket of a plugin.', read: (i) => histogramSamples(i.dispatchLatency) },
  { name: 'confirm_duration_seconds', type: 'histogram', help: 'From dispatch to the first report of the plugin.', read: (i) => histogramSamples(i.confirmLatency) },
  { name: 'signals_accepted_total', type: 'counter', help: 'Signals that are on disk and were answered with a 202.', read: (i) => [i.signalsAccepted] },
  { name: 'executions_total', type: 'counter', help: 'Executions that came into a status.', read: (i) => countedSamples('status', i.executionsByStatus) },
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
  { name: 'internal_errors_total', type: 'counter', help: 'Errors that nobody expected; each has a line in the log.', read: (i) => [i.internalErrors] },
  { name: 'hash_pool_queue_max', type: 'gauge', help: 'Passwords that may wait; a login beyond them gets a 503.', read: (_, g) => [{ value: g.hashPoolQueueMax() }] },
  { name: 'ready', type: 'gauge', help: '1 when /readyz says 200, otherwise 0.', read: (_, g) => [{ value: g.isReady() ? 1 : 0 }] },
  { name: 'last_commit_timestamp_seconds', type: 'gauge', help: 'Unix time of the last commit that reached the disk.', read: (_, g) => secondsOf(g.committedAt()) },
  { name: 'build_info', type: 'gauge', help: 'Always 1; the version is in the label.', read: (_, g) => [{ labels: { version: g.version }, value: 1 }] },
  { name: 'disk_free_bytes', type: 'gauge', help: 'What can still be written on the file system of the data directory.', read: (_, g) => [{ value: g.hostMetrics.disk().freeBytes }] },
  { name: 'disk_size_bytes', type: 'gauge', help: 'Size of the file system of the data directory.', read: (_, g) => [{ value: g.hostMetrics.disk().sizeBytes }] },
  { name: 'wall_clock_seconds', type: 'gauge', help: 'Unix time as this machine sees it.', read: (_, g) => [{ value: g.hostMetrics.wallClockSeconds() }] },
  { name: 'clock_step_seconds', type: 'gauge', help: 'How far the wall clock has been set since the start; forwards is positive.', read: (_, g) => [{ value: g.hostMetrics.clockStepSeconds() }] },
  { name: 'nodejs_heap_size_limit_bytes', type: 'gauge', help: 'Heap that Node grants; a process that needs more is ended.', read: (_, g) => [{ value: g.hostMetrics.heapLimitBytes() }] },
  { name: 'tls_certificate_expiry_timestamp_seconds', type: 'gauge', help: 'Unix time at which the served certificate ends; absent without TLS.', read: (_, g) => valueIfKnown(g.hostMetrics.certificateExpirySeconds) },
  { name: 'open_streams', type: 'gauge', help: 'Event streams that are open.', read: (_, g) => [{ value: g.openStreams() }] },
  { name: 'plugin_connections_closed_total', type: 'counter', help: 'Connections of plugins that ended, by the reason of their close code; "terminal_left": the plugin or the network ended it.', read: (i) => countedSamples('reason', i.connectionsClosed) },
  { name: 'streams_closed_total', type: 'counter', help: 'Event streams that ended; "client_left": the reader or the network ended it, "not_allowed": key, user, plan or API no longer allow it.', read: (i) => countedSamples('reason', i.streamsClosed) },
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

/** A family without a series says that there is no such thing; a 0 would be an answer. */
function valueIfKnown(value: number | undefined): Sample[] {
  return value === undefined ? [] : [{ value }];
}
