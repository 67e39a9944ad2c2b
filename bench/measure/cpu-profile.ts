/** A CPU profile as V8 writes it (`--cpu-prof`), and what a reader asks of it first. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** For each sample the node that was running. */
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

export interface ProfileLine {
  /** Part of the busy time, 0 to 1. */
  readonly share: number;
  /** `function directory/file.js:line`. */
  readonly place: string;
}

export interface ProfileSummary {
  /** Part of the whole time in which the thread was not idle. */
  readonly busyShare: number;
  /** Largest first. */
  readonly self: readonly ProfileLine[];
  /** A function counts once a sample, however deep it recurs. */
  readonly inclusive: readonly ProfileLine[];
}

const idle = '(idle)';

export function summarizeProfile({ nodes, samples, timeDeltas }: CpuProfile): ProfileSummary {
  const places = new Map(nodes.map((node) => [node.id, placeOf(node)]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const self = new Map<string, number>();
  const inclusive = new Map<string, number>();
  const add = (times: Map<string, number>, place: string, time: number): void => {
    times.set(place, (times.get(place) ?? 0) + time);
  };
  let total = 0;
  let busy = 0;
  samples.forEach((sample, index) => {
    const time = timeDeltas[index] ?? 0;
    const place = places.get(sample) ?? '';
    total += time;
    if (place === idle) return;
    busy += time;
    add(self, place, time);
    const seen = new Set<string>();
    for (let at: number | undefined = sample; at !== undefined; at = parents.get(at)) {
      seen.add(places.get(at) ?? '');
    }
    for (const each of seen) add(inclusive, each, time);
  });
  const lines = (times: Map<string, number>): ProfileLine[] =>
    [...times]
      .map(([place, time]) => ({ place, share: time / busy }))
      .sort((a, b) => b.share - a.share);
  return { busyShare: busy / total, self: lines(self), inclusive: lines(inclusive) };
}

/** A time without a break in which certain functions ran, or functions that they called. */
export interface Stretch {
  readonly clockMs: number;
  /** Without the time in which the thread waited for a processor. */
  readonly processorMs: number;
}

/** Most intervals that count as processor time: the rest is a wait for it, since a running thread is sampled. */
const lateIntervals = 2;

/**
 * Every stretch in the functions of these files, shortest last.
 * @param files the ends of their addresses, such as `store/overlay.js`.
 * @param intervalUs between two samples, as the profile was taken.
 */
export function stretchesIn(
  { nodes, samples, timeDeltas }: CpuProfile,
  files: readonly string[],
  intervalUs: number,
): Stretch[] {
  const children = new Map(nodes.map((node) => [node.id, node.children ?? []]));
  const inside = new Set<number>();
  const enter = (id: number): void => {
    inside.add(id);
    children.get(id)?.forEach(enter);
  };
  for (const { id, callFrame } of nodes) {
    if (files.some((file) => callFrame.url.endsWith(`/${file}`))) enter(id);
  }
  const stretches: Stretch[] = [];
  samples.forEach((sample, index) => {
    if (!inside.has(sample)) return;
    const goesOn = index > 0 && inside.has(samples[index - 1] as number);
    const before = (goesOn && stretches.pop()) || { clockMs: 0, processorMs: 0 };
    // A sample stands for the time until the next one.
    const us = timeDeltas[index + 1] ?? 0;
    stretches.push({
      clockMs: before.clockMs + us / 1000,
      processorMs: before.processorMs + Math.min(us, lateIntervals * intervalUs) / 1000,
    });
  });
  return stretches.sort((a, b) => b.clockMs - a.clockMs);
}

function placeOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  return `${name} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`;
}
