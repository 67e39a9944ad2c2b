/**
 * The processes that do a side's serving, and what they use: the side itself, or where it is only
 * the start of a server of several processes, those below it.
 */
import { readFileSync } from 'node:fs';
import { loopSeconds, processSeconds } from './processor-time.js';
import type { Side } from './side.js';

export interface Usage {
  /** On the monotonic clock. */
  readonly atMs: number;
  /** Processor seconds of all processes and threads together. */
  readonly cpuSeconds: number;
  /** Of the main thread of each process, where its event loop runs. */
  readonly loopSeconds: readonly number[];
}

export function serverPids(side: Side): number[] {
  const below = descendantsOf(side.pid);
  return below.length === 0 ? [side.pid] : below;
}

export function usageOf(pids: readonly number[]): Usage {
  return {
    atMs: performance.now(),
    cpuSeconds: pids.reduce((sum, pid) => sum + processSeconds(pid), 0),
    loopSeconds: pids.map(loopSeconds),
  };
}

/** The share of the wall time that the busiest event loop worked: near 1 it can do no more. */
export function busiestShare(before: Usage, after: Usage): number {
  const worked = after.loopSeconds.map((seconds, i) => seconds - (before.loopSeconds[i] ?? 0));
  return (Math.max(...worked) * 1000) / (after.atMs - before.atMs);
}

function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}
