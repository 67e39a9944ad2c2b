/**
 * Reads metrics of the host at each scrape: disk space of the data directory, wall clock, heap limit, open files, TLS
 * certificate. Holds the offset of the two clocks at the start, to detect clock steps.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../lib/clock.js';
import { countOpenFiles } from '../lib/file-limit.js';
import { type DiskSpace, diskSpaceOf } from '../store/disk-reserve.js';

export interface HostMetrics {
  /** Of the file system that the data directory is on. */
  readonly disk: () => DiskSpace;
  /** Unix time of this machine in seconds. */
  readonly wallClockSeconds: () => number;
  /**
   * Net step of the wall clock since the start, in seconds; forwards is positive. Slewing does not count,
   * because it changes both clocks; a suspend counts as a step forwards.
   */
  readonly clockStepSeconds: () => number;
  readonly heapLimitBytes: () => number;
  /** Of this process; undefined where the system does not tell. */
  readonly openFiles: () => number | undefined;
  /** Expiry of the served certificate in Unix seconds; undefined without TLS. */
  readonly certificateExpirySeconds: number | undefined;
}

export interface HostMetricsOptions {
  readonly dataDir: string;
  /** Path of the certificate chain as PEM, the gateway's own first; already validated. */
  readonly tlsCert: string | undefined;
  readonly clock: Clock;
}

export function createHostMetrics({ dataDir, tlsCert, clock }: HostMetricsOptions): HostMetrics {
  const offsetMs = (): number => clock.now() - clock.monotonic();
  const offsetAtStartMs = offsetMs();
  return {
    disk: () => diskSpaceOf(dataDir),
    wallClockSeconds: () => clock.now() / 1000,
    clockStepSeconds: () => (offsetMs() - offsetAtStartMs) / 1000,
    heapLimitBytes: () => getHeapStatistics().heap_size_limit,
    openFiles: countOpenFiles,
    // Read once, like the native server does: a renewed file is not served before a restart.
    certificateExpirySeconds: tlsCert === undefined ? undefined : expiryOf(tlsCert),
  };
}

function expiryOf(path: string): number {
  return Date.parse(new X509Certificate(readFileSync(path)).validTo) / 1000;
}
