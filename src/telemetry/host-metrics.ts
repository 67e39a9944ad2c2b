/**
 * What the gateway stands on and does not own: the file system of its data directory, the wall
 * clock, the heap that Node grants, the certificate. Read at the moment of a scrape, all of it from
 * memory or the kernel. Owns the two clocks' readings at the start, from which a step is told.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statfsSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../lib/clock.js';

export interface HostMetrics {
  /** What a program without privileges may still write, and what the file system holds in all. */
  readonly disk: () => { readonly freeBytes: number; readonly sizeBytes: number };
  /** Unix seconds as this machine sees them. */
  readonly wallClockSeconds: () => number;
  /**
   * How far the wall clock has been set since the start, in seconds; forwards is positive. Slewing
   * moves both clocks and does not show; a machine that slept shows as a step forwards.
   */
  readonly clockStepSeconds: () => number;
  readonly heapLimitBytes: () => number;
  /** End of the served certificate in Unix seconds; undefined without TLS. */
  readonly certificateExpirySeconds: number | undefined;
}

export interface HostMetricsOptions {
  readonly dataDir: string;
  /** The certificate chain as PEM, the gateway's own first; checked before. */
  readonly tlsCert: string | undefined;
  readonly clock: Clock;
}

export function createHostMetrics({ dataDir, tlsCert, clock }: HostMetricsOptions): HostMetrics {
  const offsetMs = (): number => clock.now() - clock.monotonic();
  const offsetAtStartMs = offsetMs();
  return {
    disk() {
      const { bavail, blocks, bsize } = statfsSync(dataDir);
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
    },
    wallClockSeconds: () => clock.now() / 1000,
    clockStepSeconds: () => (offsetMs() - offsetAtStartMs) / 1000,
    heapLimitBytes: () => getHeapStatistics().heap_size_limit,
    // The native server reads the file once, when it starts: what comes later is not served.
    certificateExpirySeconds: tlsCert === undefined ? undefined : expiryOf(tlsCert),
  };
}

function expiryOf(path: string): number {
  return Date.parse(new X509Certificate(readFileSync(path)).validTo) / 1000;
}
