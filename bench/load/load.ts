/**
 * What a load generator is told and what it tells; and how it is run. The generator is a process of
 * its own, so that neither it nor the server waits for the other's event loop.
 */
import { fileURLToPath } from 'node:url';
import { startSide } from '../measure/side.js';
import { type HistogramJson, LatencyHistogram } from '../measure/statistics.js';
import type { Grant } from './grants.js';
import type { Caller } from './workload.js';
import type { WorkloadName } from './workloads.js';

export interface LoadSpec {
  readonly url: string;
  readonly workload: WorkloadName;
  readonly callers: readonly Caller[];
  readonly connections: number;
  /**
   * Requests a second, sent at even intervals whether or not answers come (open loop), and measured
   * from the moment when each was meant to be sent. Without it every connection sends its next
   * request when it has the answer to the last one (closed loop).
   */
  readonly ratePerSecond?: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** Open loop: whether the report lists each caller's grants. */
  readonly listsGrants?: boolean;
  /** Process whose event loop is watched. */
  readonly serverPid?: number;
}

export interface LoadReport {
  /** Answers to requests of the measured time, whatever their status. */
  readonly answers: number;
  /** Answers per second of the measured time. */
  readonly answersPerSecond: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Answers whose status is not one that the workload is for. */
  readonly unexpected: number;
  /** Requests whose connection broke or that got no answer within the time to drain. */
  readonly unanswered: number;
  /** From the intended moment (open loop) or from the write (closed loop) to the last byte. */
  readonly latency: LatencyHistogram;
  /** Open loop: how late requests were sent; unless no connection was free, the generator itself was late. */
  readonly lateness: LatencyHistogram;
  readonly seconds: number;
  /** Processor time of the generator by the wall time: near 1 it can do no more. */
  readonly busyShare: number;
  /** Processor time of the event loop of the server that is watched, in the measured time. */
  readonly serverLoopSeconds?: number;
  /** For each caller its requests that had an expected answer, if the spec asks for them. */
  readonly grants?: readonly (readonly Grant[])[];
}

export type LoadReportJson = Omit<LoadReport, 'latency' | 'lateness'> & {
  readonly latency: HistogramJson;
  readonly lateness: HistogramJson;
};

const program = fileURLToPath(new URL('./http-load.js', import.meta.url));

export async function runLoad(spec: LoadSpec): Promise<LoadReport> {
  const generator = await startSide({ name: `load "${spec.workload}"`, program });
  try {
    const report = (await generator.ask(spec)) as unknown as LoadReportJson;
    return {
      ...report,
      latency: LatencyHistogram.fromJSON(report.latency),
      lateness: LatencyHistogram.fromJSON(report.lateness),
    };
  } finally {
    await generator.stop();
  }
}

export function latencyFigures({ latency }: LoadReport): { p50Ms: number; p99Ms: number } {
  return { p50Ms: latency.percentile(50), p99Ms: latency.percentile(99) };
}

export function latencyText({ p50Ms, p99Ms }: ReturnType<typeof latencyFigures>): string {
  return `p50 ${p50Ms.toFixed(3)} ms, p99 ${p99Ms.toFixed(3)} ms`;
}
