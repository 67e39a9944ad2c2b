/** Parses one scrape of the ops port: the subset of the Prometheus text format that the gateway writes. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** By metric name, without the prefix `signalbox_`. */
export type Scrape = ReadonlyMap<string, readonly Sample[]>;

const line = /^signalbox_(\w+)(?:\{(.*)\})? (\S+)$/;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseScrape(text: string): Scrape {
  const samples = new Map<string, Sample[]>();
  for (const each of text.split('\n')) {
    const [, name, labels = '', value] = line.exec(each) ?? [];
    if (name === undefined) continue;
    const family = samples.get(name) ?? [];
    samples.set(name, family);
    family.push({
      labels: Object.fromEntries(
        [...labels.matchAll(label)].map(([, key, text]) => [key as string, text as string]),
      ),
      value: Number(value),
    });
  }
  return samples;
}

/** @returns the sum of the metric's samples with wanted labels; undefined if there are none. */
export function sumOf(
  scrape: Scrape,
  name: string,
  isWanted: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const wanted = (scrape.get(name) ?? []).filter(({ labels }) => isWanted(labels));
  if (wanted.length === 0) return undefined;
  return wanted.reduce((sum, { value }) => sum + value, 0);
}
