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

function placeOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  return `${name} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`;
}
